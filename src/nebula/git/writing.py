"""What is written by git: files of a commit, a copy of an index, a note, a merge driver's setting."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from tempfile import TemporaryDirectory

from nebula.files.beneath import FOLDER_FLAGS, open_beneath
from nebula.files.descriptors import closed_after
from nebula.git import GitFailed, safe_git, writing_git


def check_out(root: str, ref: str) -> None:
    """Give the copy of a repository at `root` the files of a commit. What git ignores stays; what else is not in the
    commit is gone. Raises GitFailed.

    Git is let write files of the commit and nothing else: its own folder may lie outside the copy, or hold links that
    lead out of it. Where it is a plain folder in the copy, it gets the index and the HEAD of the commit from us."""
    found = safe_git(root, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    if ref.startswith("-") or not found.ok:
        raise GitFailed("There is no commit {ref!r}.", ref=ref)
    commit = found.stdout.decode().strip()
    with TemporaryDirectory(prefix="nebula-index-") as folder:
        index = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
        tracked = safe_git(root, "ls-files", "-z", "--cached").stdout
        writing_git(root, "clean", "-ffdq", "--", ".")
        writing_git(root, "read-tree", commit, more=index)
        wanted = writing_git(root, "ls-files", "-z", "--cached", more=index)
        _remove_files(root, tracked.split(b"\0"))
        writing_git(root, "checkout-index", "--force", "--index", "-z", "--stdin", feed=wanted, more=index)
        with open(index["GIT_INDEX_FILE"], "rb") as file:
            _put_into_git_folder(root, {"index": file.read(), "HEAD": f"{commit}\n".encode()})


def _remove_files(root: str, names: Sequence[bytes]) -> None:
    """Remove files below `root`, and the folders that are empty then; nothing behind a link."""
    with closed_after(os.open(root, FOLDER_FLAGS)) as top:
        for name in filter(None, names):
            parts = os.fsdecode(name).split("/")
            with suppress(OSError):  # gone already, another repository, or not to be reached without a link
                for depth in range(len(parts), 0, -1):
                    with closed_after(open_beneath(top, parts[: depth - 1], FOLDER_FLAGS)) as above:
                        (os.unlink if depth == len(parts) else os.rmdir)(parts[depth - 1], dir_fd=above)


def _put_into_git_folder(root: str, files: Mapping[str, bytes]) -> None:
    try:
        folder = os.open(os.path.join(root, ".git"), FOLDER_FLAGS)
    except OSError:  # a link, or a file that names a folder elsewhere
        return
    with closed_after(folder):
        for name, content in files.items():
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
            with open(handle, "wb") as file:
                file.write(content)


def add_note(root: str, ref: str, commit: str, text: str, author: tuple[str, str]) -> None:
    """Add a note to a commit in the user's name; raises GitFailed, also where the commit has one already."""
    name, email = author
    who = {
        f"GIT_{role}_{part}": each
        for role in ("AUTHOR", "COMMITTER")
        for part, each in (("NAME", name), ("EMAIL", email))
    }
    writing_git(root, "notes", f"--ref={ref}", "add", "-F", "-", commit, feed=text.encode(), more=who)


def set_merge_driver(root: str, driver: str, name: str, line: str) -> None:
    """Tell git of this repository, and of no other, which command merges files with this driver. Raises GitFailed."""
    writing_git(root, "config", "--local", f"merge.{driver}.name", name)
    writing_git(root, "config", "--local", f"merge.{driver}.driver", line)


def use_index(root: str, index: bytes, *commands: Sequence[str], names: Iterable[bytes] = ()) -> tuple[bytes, bytes]:
    """Run `update-index` or `ls-files` on a copy of an index, which is all that they can change; `names` are what they
    read. Return the copy afterwards, and what the last of them said. Raises GitFailed."""
    with TemporaryDirectory(prefix="nebula-index-") as folder:
        place, feed, said = os.path.join(folder, "index"), b"".join(name + b"\0" for name in names), b""
        with open(place, "xb") as file:
            file.write(index)
        for command in commands:
            said = writing_git(root, *command, feed=feed, more={"GIT_INDEX_FILE": place})
        with open(place, "rb") as file:
            return file.read(), said
