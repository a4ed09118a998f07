"""A repository in a layer: its git leaves the masked files alone.

A file that is empty for the command would be a change to git, and `git add -A` would put the empty file into the next
commit. So the command sees an index in which the masked files that git tracks are marked as none of its business
(`skip-worktree`), and rules by which it ignores the others. What it leaves of both is taken back to what it would be
without that before anybody looks at it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from nebula.files.reading import UnreadableFile, read_below, read_or_empty
from nebula.git import GitFailed
from nebula.git.writing import use_index
from nebula.language import Sentence
from nebula.value import field, replace, value

if TYPE_CHECKING:
    from nebula.sandbox.layer import Layer

_INDEX_LIMIT: Final = 64 * 2**20
_SMALL_LIMIT: Final = 2**20
PLAIN_VERSIONS: Final = (b"DIRC\0\0\0\2", b"DIRC\0\0\0\3")
_SPECIAL: Final = frozenset(" \\*?[]!#")
"""What stands for more than itself in a rule."""


@value
class Listed:
    """A line of an index."""

    letter: str
    """As `ls-files -v` says it: `H`, another one for what is skipped, a small one for what counts as unchanged."""
    blob: str
    name: str


@value
class RepositoryView:
    """One repository of the project, with files in it that are masked."""

    folder: str
    """Of its work tree, ending in "/"; "" for the project's own."""
    place: str = ""
    """The same, as a path of the machine."""
    index: str = ""
    """Its path; empty where it has none that a command could see."""
    rules: str = ""
    """The path of the file with rules of its own."""
    kept: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """What git keeps of each masked file that it tracks, by its path in the repository."""
    shown: Mapping[str, bytes] = field(default_factory=dict)
    """What the command sees at paths of the project instead of what is there."""
    added: bytes = b""
    """To the rules."""
    flagged: frozenset[str] = frozenset()
    """What carried a mark before ours."""
    marks: tuple[str, ...] = ()
    known: bool = True
    """Git could say what it keeps."""

    def taken_back(self, layer: Layer) -> RepositoryView:
        """Make the layer's index and rules what they would be without our marks."""
        try:
            for path, shown in self.shown.items():
                with suppress(FileNotFoundError):  # the command removed it, or the user did
                    left = layer.read(path, _INDEX_LIMIT)
                    was = layer.read_before(path) if left == shown else self._without_marks(path, left)
                    layer.rewrite(path, was)
        except (GitFailed, OSError):
            return replace(self, known=False)
        return self

    def _without_marks(self, path: str, left: bytes) -> bytes:
        if path == self.rules:
            return left.replace(self.added, b"", 1)
        blobs = frozenset().union(*self.kept.values())
        ours = [
            each
            for each in _list(self.place, left)
            if each.letter != "H" and each.name not in self.flagged and (each.name in self.kept or each.blob in blobs)
        ]
        if not ours:
            return left
        commands = [("update-index", f"--no-{mark}", "-z", "--stdin") for mark in self.marks]
        return use_index(self.place, left, *commands, names=(os.fsencode(each.name) for each in ours))[0]


class RepositoryViews:
    """Remembers them while index and rules stay as they are."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, RepositoryView]] = {}

    def find(
        self, root: str, masked: Collection[str], names: Mapping[str, Collection[str]]
    ) -> tuple[RepositoryView, ...]:
        """Return a view for each repository that masked files lie in. `names` are those in each folder of the
        project."""
        found: dict[str, set[str]] = {}
        for path in masked:
            if "/.git/" not in f"/{path}/":
                folder = _repository_above(path, names)
                found.setdefault(folder, set()).add(path.removeprefix(folder))
        return tuple(self._view(root, folder, frozenset(inside)) for folder, inside in sorted(found.items()))

    def _view(self, root: str, folder: str, masked: frozenset[str]) -> RepositoryView:
        git_dir, common = _git_folders(root, folder)
        if not git_dir:
            return RepositoryView(folder)
        index, rules = f"{git_dir}/index", f"{common}/info/exclude"
        stamp = masked, _stamp(f"{root}/{index}"), _stamp(f"{root}/{rules}")
        known = self._known.get(f"{root}/{folder}")
        if known is None or known[0] != stamp:
            try:
                view = _make_view(root, folder, index, rules, masked)
            except (GitFailed, UnreadableFile):
                view = RepositoryView(folder, index=index, known=False)
            known = self._known[f"{root}/{folder}"] = stamp, view
        return known[1]


def _make_view(root: str, folder: str, index: str, rules: str, masked: frozenset[str]) -> RepositoryView:
    data = read_below(root, index, _INDEX_LIMIT) or b""
    _refuse_odd(f"{root}/{os.path.dirname(index)}")
    place = os.path.join(root, folder)
    listed = [each for each in _list(place, data) if is_masked(each.name, masked)] if _may_name(data, masked) else []
    kept: dict[str, frozenset[str]] = {}
    for each in listed:
        kept[each.name] = kept.get(each.name, frozenset()) | {each.blob}
    marks: tuple[str, ...] = ("skip-worktree",)
    if os.path.exists(f"{root}/{os.path.dirname(index)}/info/sparse-checkout"):
        marks = ("skip-worktree", "assume-unchanged")  # git takes the first from each file that is there
    to_mark = [each.name for each in listed if each.letter == "H"]
    shown = {}
    if to_mark:
        commands = [("update-index", f"--{mark}", "-z", "--stdin") for mark in marks]
        shown[index] = use_index(place, data, *commands, names=map(os.fsencode, to_mark))[0]
    added = b"".join(_rule(name) for name in sorted(masked - kept.keys()) if "\n" not in name)
    before = read_below(root, rules, _SMALL_LIMIT) if added else None
    if before is not None:
        added = (b"" if before.endswith(b"\n") or not before else b"\n") + added
        shown[rules] = before + added
    flagged = frozenset(each.name for each in listed if each.letter != "H")
    return RepositoryView(folder, place, index, rules, kept, shown, added, flagged, marks)


def _refuse_odd(git_dir: str) -> None:
    """Raise UnreadableFile for what git would wait for, beside the settings, when it reads an index."""
    names = [name for name in os.listdir(git_dir) if name.startswith("sharedindex.")]
    for name in (*names, "info/sparse-checkout"):
        place = os.path.join(git_dir, name)
        if os.path.lexists(place) and not os.path.isfile(place):
            raise UnreadableFile(name, Sentence("it is not a regular file"))


def _list(place: str, index: bytes) -> Iterator[Listed]:
    """Yield the lines of an index of the repository at `place`. Raises GitFailed."""
    said = use_index(place, index, ("ls-files", "-z", "-v", "-s"))[1]
    for line in said.split(b"\0")[:-1]:
        facts, _, name = line.partition(b"\t")
        letter, _, blob, stage = facts.decode("ascii", "replace").split(" ")
        yield Listed(letter if stage == "0" else "M", blob, os.fsdecode(name))


def _may_name(index: bytes, masked: Collection[str]) -> bool:
    """Return whether an index may name one of the files: most name none, and git need not be asked."""
    if not index.startswith(PLAIN_VERSIONS) or b"link" in index:
        return bool(index)  # names are shortened, or stand in another file
    return any(os.fsencode(name) in index for name in masked)


def is_masked(name: str, masked: Collection[str]) -> bool:
    """Return whether a file is masked, or lies in a masked folder."""
    return name in masked or any(name[:at] in masked for at, char in enumerate(name) if char == "/")


def _rule(name: str) -> bytes:
    return os.fsencode("/" + "".join(f"\\{char}" if char in _SPECIAL else char for char in name) + "\n")


def _repository_above(path: str, names: Mapping[str, Collection[str]]) -> str:
    folder = path
    while folder:
        above, _, _ = folder.rstrip("/").rpartition("/")
        folder = f"{above}/" if above else ""
        if ".git" in names.get(folder, ()):
            return folder
    return ""


def _git_folders(root: str, folder: str) -> tuple[str, str]:
    """Return the folder with the index of a repository and that with its rules, as paths below the root; empty where
    they lie outside of it."""
    place = os.path.realpath(os.path.join(root, folder, ".git"))
    if os.path.isfile(place):
        place = _named_in(place, "gitdir:")
    common = os.path.join(place, "commondir")
    shared = _named_in(common, "") if os.path.isfile(common) else place
    inside, shared = (os.path.relpath(each, root) if each else ".." for each in (place, shared))
    if inside.startswith("..") or not os.path.isdir(os.path.join(root, inside)):
        return "", ""
    return inside, inside if shared.startswith("..") else shared


def _named_in(file: str, before: str) -> str:
    """Return the folder that a file of git names; empty where none can be read."""
    above, name = os.path.split(file)
    said = os.fsdecode(read_or_empty(above, name, _SMALL_LIMIT)).strip()
    return os.path.realpath(os.path.join(above, said.removeprefix(before).strip())) if said.startswith(before) else ""


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
