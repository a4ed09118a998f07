"""Where what is derived from a project is kept: in the user's home, one private folder for each real path.

A clone brings none of it along, and it can be thrown away at any time. Where the home cannot be written, a private
temporary folder serves for as long as the process lives.
"""

from __future__ import annotations

import os
import stat

from nebula.files.digest import digest

TYPE_CHECKING = False  # `typing` and `contextlib` take longer to load than a commit's hook may
if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACE_NAME = "place.txt"
_LONGEST_PLACE = 1 << 16
_borrowed: dict[str, str] = {}


def nebula_home(environ: Mapping[str, str] = os.environ) -> str:
    """Return `NEBULA_HOME`, else `~/.nebula`, as an absolute path."""
    return os.path.abspath(os.path.expanduser(environ.get("NEBULA_HOME") or "~/.nebula"))


def project_id(root: str) -> str:
    """Return one name for each real path, with the folder's name in front for people who look."""
    real = os.path.realpath(root)
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in os.path.basename(real))[:40]
    return f"{name or 'root'}-{digest(os.fsencode(real))[:16]}"


def derived_folder(root: str, home: str | None = None) -> str:
    """Return the folder for what is derived from the project at `root`, made if need be, readable by its owner
    alone."""
    folder = os.path.join(home or nebula_home(), "projects", project_id(root))
    try:
        for each in (os.path.dirname(os.path.dirname(folder)), os.path.dirname(folder), folder):
            make_private(each)
        _note_place(folder, os.path.realpath(root))
    except OSError:
        return _temporary_folder(folder)
    return folder


def make_private(folder: str) -> None:
    """Make a folder that its owner alone can use, whatever the umask says. Raises PermissionError where it is
    another's, or cannot be written."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(f"{folder} is not a folder of ours")
    if stat.S_IMODE(found.st_mode) & 0o077:
        os.chmod(folder, 0o700)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} cannot be written")


def _note_place(folder: str, real: str) -> None:
    """Note which project a folder belongs to, for people who look, and for `projects_in`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        handle = os.open(os.path.join(folder, _PLACE_NAME), flags, 0o600)
    except FileExistsError:
        return
    with open(handle, "wb") as file:
        file.write(os.fsencode(real) + b"\n")


def projects_in(home: str) -> list[str]:
    """Return the real paths of the projects that have a folder in this home, as far as they still are there."""
    try:
        names = sorted(os.listdir(os.path.join(home, "projects")))
    except OSError:
        return []
    found = [(name, _noted_place(os.path.join(home, "projects", name))) for name in names]
    return [place for name, place in found if place and project_id(place) == name and os.path.isdir(place)]


def forget_projects_below(home: str, folder: str) -> None:
    """Remove what this home derived from projects that lay in a folder and are gone."""
    import shutil

    projects = os.path.join(home, "projects")
    try:
        names = os.listdir(projects)
    except OSError:
        return
    for name in names:
        place = _noted_place(os.path.join(projects, name))
        if f"{place}/".startswith(f"{folder}/") and not os.path.isdir(place):
            shutil.rmtree(os.path.join(projects, name), ignore_errors=True)


def _noted_place(folder: str) -> str:
    try:
        handle = os.open(os.path.join(folder, _PLACE_NAME), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with open(handle, "rb") as file:
        return os.fsdecode(file.read(_LONGEST_PLACE).removesuffix(b"\n"))


def _temporary_folder(wanted: str) -> str:
    if wanted not in _borrowed:
        import atexit
        import shutil
        import tempfile

        for left in _left_behind(tempfile.gettempdir()):
            shutil.rmtree(left, ignore_errors=True)
        folder = _borrowed[wanted] = tempfile.mkdtemp(prefix=f"nebula-{os.getpid()}-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return _borrowed[wanted]


def _left_behind(folder: str) -> list[str]:
    """Return the folders of processes of ours that were killed before they could clear up."""
    import re  # 5 ms that a commit's hook need not wait for

    found = []
    for entry in os.scandir(folder):
        match = re.fullmatch(r"nebula-(\d{1,9})-\w+", entry.name)
        if match and entry.stat(follow_symlinks=False).st_uid == os.geteuid() and not _is_alive(int(match[1])):
            found.append(entry.path)
    return found


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's by now, and alive
    return True
