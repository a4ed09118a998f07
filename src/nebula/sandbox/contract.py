"""What goes into a layer and what comes out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.files.descriptors import ClosedByBlock
from nebula.sandbox.secrets import SecretFinder
from nebula.value import field, value

if TYPE_CHECKING:
    from nebula.sandbox.layer import Layer

MIB = 2**20


@value
class Limits:
    timeout_s: float = 600.0
    memory_bytes: int = 4096 * MIB
    processes: int = 512
    output_bytes: int = MIB
    """Of output kept, half from each end; more is read and dropped."""
    layer_bytes: int = 2048 * MIB
    """Everything the command writes, its `/tmp` and home included."""


@value
class Command:
    root: str
    """The project; the command finds it under its real path."""
    line: str
    limits: Limits = Limits()
    network: bool = False
    """Shares the machine's network, loopback included."""
    hosts: tuple[str, ...] = ()
    """Without that: reaches these through a proxy on its own loopback, and no others. See `proxy.is_listed`."""
    read_only: tuple[str, ...] = ()
    """Directories and files outside the project that the command may read."""
    caches: tuple[str, ...] = ()
    """Directories in what may be read into which the command may write as well; what it writes is thrown away."""
    settings: tuple[tuple[str, str], ...] = ()
    """Path and text of files that are made for it in its home."""
    skills: tuple[str, ...] = ()
    """Folders that the command may read, though they may lie in what is otherwise covered or hidden."""
    covered: tuple[str, ...] = ()
    """Files and directories outside the project that read as empty, though they lie in what may be read."""
    hidden: tuple[str, ...] = (".nebula",)
    """Relative paths that are not there for the command; nothing it makes under them is proposed."""
    secrets: SecretFinder = field(default_factory=lambda: SecretFinder(lambda _: False))
    """Finds the files (or folders) that are empty for the command; keep one for a session, it remembers."""
    disk: str | None = None
    """Where a tmpfs cannot hold the upper side: nebula's home, in which it lies on disk instead."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables that it gets beside the usual few."""
    stdin: str = ""
    """What it reads on its standard input."""
    git_user: tuple[str, str] = ("", "")
    """Name and address for commits, wherever the command's own git settings say nothing."""


@value
class Entry:
    """What stands at a path."""

    kind: str
    """"file", "link" or "folder"."""
    mode: int
    """Permission bits."""
    size: int = 0
    digest: str | None = None
    """SHA-256 of a file's content, in hex; None where nobody needed it."""
    target: str | None = None
    """Of a link."""


@value
class LayerChange:
    path: str
    """Relative to the project, `/` between names; bytes that are not UTF-8 as lone surrogates."""
    kind: str
    """"created", "changed", "deleted", "mode", or "link": it became a symbolic link, or one with another target."""
    before: Entry | None = None
    after: Entry | None = None
    renamed_from: str | None = None
    """A created file with exactly the content of this deleted one, which has its own change."""
    secret: bool = False
    """The command never saw what was there."""
    conflict: bool = False
    """The project changed there while the command ran."""
    stamp: tuple[int, ...] | None = None
    """Of the file in the project when the layer was read; see `Layer.conflicts`."""

    @property
    def is_folder(self) -> bool:
        entry = self.after or self.before
        return entry is not None and entry.kind == "folder"


@value
class Refused:
    """Something that is never proposed."""

    path: str
    what: str
    """"device", "fifo", "socket", "set-user-ID", "hidden"."""


@value
class GitChange:
    """What a change under `.git/` means."""

    kind: str
    """"commit", "branch", "tag", "stash", "remote", "head", "index", "config", "hook", "repository" or "other"."""
    name: str
    """A short ref name, or the path for what has none."""
    before: str | None = None
    after: str | None = None
    subject: str | None = None
    """The first line of a new commit's message."""


@value
class ChangeSet:
    """To apply: deletions first, deepest paths first, then the rest in the order given."""

    changes: tuple[LayerChange, ...] = ()
    git: tuple[GitChange, ...] = ()
    git_files: tuple[LayerChange, ...] = ()
    """The files behind `git`."""
    refused: tuple[Refused, ...] = ()
    unkept: tuple[str, ...] = ()
    """Files that the command saw empty, of which git would keep that, or what the command wrote into them."""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(change.path for change in self.changes))


@value
class Capability:
    """Whether this machine can make a layer; if not, why, and what would help."""

    available: bool
    reason: str = ""
    advice: str = ""
    on_disk: bool = False
    """The upper side lies in nebula's home, not in memory."""


@value
class CommandResult(ClosedByBlock):
    exit_code: int | None
    """None when a limit stopped the command; 128 + n when signal n ended it."""
    stopped: str | None
    """"time", "memory", "processes", "layer" or "cancelled", where that stopped it; then there are no changes."""
    output: str
    """Standard output and error as they came, the middle cut out where it is too long."""
    duration_s: float
    changes: ChangeSet = ChangeSet()
    layer: Layer | None = None
    refused_hosts: tuple[str, ...] = ()
    """What it tried to reach, though `hosts` does not list it."""
    read_empty: tuple[str, ...] = ()
    """Of a command that failed: the secret files that it read, which were empty for it."""

    def close(self) -> None:
        if self.layer is not None:
            self.layer.close()
