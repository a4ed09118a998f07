"""The `.nebula/` directory of a project: created on first use, private, and ignored by git.

A project may come from anywhere, so nothing in it is trusted: a `.nebula` that is a link is not used, files in it are
opened without following links, its ignore rules are replaced whenever they are not ours, a folder that others may read
is closed to them, and a link or a pipe in the place of a record is set aside, so that no turn fails because of it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping

from nebula.files.beneath import FOLDER_FLAGS, open_by_walking
from nebula.files.descriptors import closed_after
from nebula.files.syscalls import REAL, Syscalls
from nebula.language import Sentence
from nebula.value import value
from nebula.workspace.errors import Forbidden, PathEscape, WorkspaceError
from nebula.workspace.guard.jail import Jail, translate
from nebula.workspace.shared_graph import ensure_rules, settle_sharing

STATE_DIR = ".nebula"
SET_MARKER = "applying.json"
"""A file in the journal that exists while a set of changes is being applied."""

_RECORDS: Mapping[str, Callable[[int], bool]] = {
    **dict.fromkeys(("journal", "journal/objects", "journal/staging", "journal/locks", "journal/beside"), stat.S_ISDIR),
    **dict.fromkeys(("log.txt", "trace.jsonl", "audit.jsonl", "journal/changes.jsonl"), stat.S_ISREG),
    **dict.fromkeys((f"journal/{SET_MARKER}", "journal/objects/key"), stat.S_ISREG),
}


@value
class StateFolder:
    """Which parts of `.nebula/` can be used. A part that cannot becomes a remark, and the turn goes on without it."""

    keeps_records: bool = True
    """Log, trace, audit and journal can be written."""
    has_graph: bool = True
    """The conversation can be read from its usual folder; turns can be added if records are kept."""
    remarks: tuple[Sentence, ...] = ()


def prepare_state_folder(root: str) -> StateFolder:
    """Create `.nebula/` with its own .gitignore if needed, and check what a project brought along in it."""
    aside: list[str] = []
    jail = Jail(root)
    try:
        _open_to_write(root, jail.fd, aside)
    except WorkspaceError as problem:
        remark = Sentence("Nothing is recorded in the project: {problem}", problem=problem)
        return StateFolder(False, _has_graph(jail.fd), (remark,))
    else:
        remarks = [
            Sentence("{path} was not what it should be (a link, a pipe); it was set aside.", path=path)
            for path in aside
        ]
        has_graph = _has_graph(jail.fd)
        if not has_graph:
            planted = _not_a_folder(f"{STATE_DIR}/graph")
            remarks.append(Sentence("The conversation is not kept in the project: {problem}", problem=planted))
        return StateFolder(True, has_graph, tuple(remarks))
    finally:
        jail.close()


def _open_to_write(root: str, root_fd: int, aside: list[str]) -> None:
    with closed_after(open_state_dir(root_fd, aside=aside)) as state_fd:
        if not os.access(".", os.W_OK, dir_fd=state_fd):
            raise Forbidden("{path}: is read-only.", path=STATE_DIR)
        try:
            settle_sharing(root, state_fd)
        except OSError as error:
            raise _explain(error) from None


def _has_graph(root_fd: int) -> bool:
    """Return whether the conversation can be in its usual folder: that exists, or can be created."""
    try:
        os.close(open_by_walking(root_fd, (STATE_DIR, "graph"), FOLDER_FLAGS))
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def is_half_applied(root: str) -> bool:
    """Return whether a set of changes is being applied, or was when its process ended. Cheap enough for every start."""
    return os.path.lexists(os.path.join(root, STATE_DIR, "journal", SET_MARKER))


def open_state_dir(root_fd: int, *subfolders: str, calls: Syscalls = REAL, aside: list[str] | None = None) -> int:
    """Open `.nebula/`, or a folder in it; create it if it is missing."""
    try:
        here = _enter(root_fd, STATE_DIR, calls)
        try:
            ensure_rules(here, calls)
            planted = [name for name, fits in _RECORDS.items() if _set_aside(here, name, fits, calls)]
            if aside is not None:
                aside += [f"{STATE_DIR}/{name}" for name in planted]
            for name in subfolders:
                here, above = _enter(here, name, calls), here
                os.close(above)
        except BaseException:
            os.close(here)
            raise
    except OSError as error:
        raise _explain(error) from None
    return here


def _enter(dir_fd: int, name: str, calls: Syscalls) -> int:
    try:
        return close_to_others(os.open(name, FOLDER_FLAGS, dir_fd=dir_fd), calls)
    except FileNotFoundError:
        pass
    try:
        calls.mkdir(name, dir_fd, 0o700)
        calls.fsync_dir(dir_fd)
    except FileExistsError:
        pass  # another process was faster
    return close_to_others(os.open(name, FOLDER_FLAGS, dir_fd=dir_fd), calls)


def _set_aside(folder_fd: int, name: str, fits: Callable[[int], bool], calls: Syscalls) -> bool:
    """Rename what has the name if it is of another kind; return whether it was."""
    try:
        mode = os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return False
    if fits(mode):
        return False
    calls.rename(name, folder_fd, f"{name}.aside-{os.urandom(4).hex()}", folder_fd)
    return True


def close_to_others(fd: int, calls: Syscalls) -> int:
    """Return the same descriptor after removing the permissions of others: what came with a project is open to
    everybody. What belongs to another user is left alone."""
    found = os.fstat(fd)
    if stat.S_IMODE(found.st_mode) & 0o077 and found.st_uid == os.geteuid():
        try:
            calls.fchmod(fd, stat.S_IMODE(found.st_mode) & 0o700)
        except BaseException:
            os.close(fd)
            raise
    return fd


def _explain(error: OSError) -> WorkspaceError:
    if error.errno in {errno.ENOTDIR, errno.ELOOP, errno.EMLINK}:
        return _not_a_folder(STATE_DIR)
    return translate(error, STATE_DIR)


def _not_a_folder(path: str) -> PathEscape:
    return PathEscape("{path} is a link or a file, not a directory; remove it and try again.", path=path)
