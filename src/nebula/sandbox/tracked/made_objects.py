"""What a command added to the objects of a repository: files of their own, and packs of many.

Git itself is asked, in an empty repository over the objects of the layer: no settings of anybody hold there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from nebula.git import GitFailed, safe_git
from nebula.value import value

if TYPE_CHECKING:
    from nebula.sandbox.layer import Layer

_SHA256_LENGTH: Final = 64
_SETTINGS: Final = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = {}\n"
_FANOUT_END: Final = 8 + 256 * 4
"""Where the names begin in the index of a pack; the last number before says how many."""
_MOST_BYTES: Final = 1 << 30
_FILE: Final = "100"
_LINK: Final = "120"


@value
class MadeObjects:
    git_dir: str
    names: frozenset[str]


def find_made(layer: Layer, paths: Iterable[str]) -> tuple[MadeObjects, ...]:
    """Return the objects in the files of a layer at `paths`, repository by repository, but for those that the
    repository had before in another form."""
    alone: dict[str, set[str]] = {}
    packed: dict[str, set[str]] = {}
    for path in paths:
        git_dir, found, name = path.partition("/objects/")
        if found and len(name) > 2 and name[2] == "/":
            alone.setdefault(git_dir, set()).add(name.replace("/", ""))
        elif found and name.startswith("pack/") and name.endswith(".idx"):
            packed.setdefault(git_dir, set()).update(_names_in(layer.read(path, _MOST_BYTES), name))
    return tuple(
        MadeObjects(
            git_dir, frozenset(alone.get(git_dir, set()) | _without_known(layer, git_dir, packed.get(git_dir, set())))
        )
        for git_dir in sorted(alone.keys() | packed.keys())
    )


def changed_in_commits(layer: Layer, made: MadeObjects) -> Iterator[tuple[str, str]]:
    """Yield path and blob of each file that the commits among `made` add or change. Raises GitFailed."""
    with _over(layer.view, made) as ask:
        kinds = ask(("cat-file", "--batch-check=%(objecttype) %(objectname)", "--buffer"), made.names)
        commits = [line[7:].decode() for line in kinds.splitlines() if line.startswith(b"commit ")]
        options = ("-r", "-m", "-z", "--root", "--no-renames", "--no-commit-id")
        said = ask(("diff-tree", "--stdin", *options), commits) if commits else b""
    parts = iter(said.split(b"\0")[:-1])
    for facts, name in zip(parts, parts, strict=False):
        _, mode, _, blob, _ = facts.decode("ascii", "replace").split(" ")
        if mode.startswith((_FILE, _LINK)):
            yield name.decode("utf-8", "surrogateescape"), blob


def _without_known(layer: Layer, git_dir: str, names: set[str]) -> set[str]:
    """Return those that the repository did not have: a pack also holds what was there before, in other files."""
    if not names:
        return names
    try:
        os.stat(f"{git_dir}/objects", dir_fd=layer.lower)
        with _over(layer.lower, MadeObjects(git_dir, frozenset(names))) as ask:
            said = ask(("cat-file", "--batch-check=%(objectname)", "--buffer"), names)
    except (GitFailed, OSError):  # it had none
        return names
    return {line.removesuffix(b" missing").decode() for line in said.splitlines() if line.endswith(b" missing")}


@contextmanager
def _over(side: int, made: MadeObjects) -> Iterator[Callable[[tuple[str, ...], Iterable[str]], bytes]]:
    """Yield what asks git about objects of a repository in one side of a layer. Raises GitFailed."""
    is_long = any(len(name) == _SHA256_LENGTH for name in made.names)
    settings = _SETTINGS.format("sha256" if is_long else "sha1")
    with TemporaryDirectory(prefix="nebula-objects-") as place:
        os.makedirs(f"{place}/.git/refs")
        os.symlink(f"/proc/{os.getpid()}/fd/{side}/{made.git_dir}/objects", f"{place}/.git/objects")
        for name, text in {"HEAD": "ref: refs/heads/none\n", "config": settings}.items():
            with open(f"{place}/.git/{name}", "w", encoding="ascii") as file:
                file.write(text)

        def ask(question: tuple[str, ...], names: Iterable[str]) -> bytes:
            found = safe_git(place, *question, feed="".join(f"{name}\n" for name in names).encode())
            if not found.ok:
                raise GitFailed("git failed: {problem}", problem=found.stderr.strip())
            return found.stdout

        yield ask


def _names_in(index: bytes, name: str) -> Iterator[str]:
    """Yield the names of the objects in a pack by its index."""
    size = 32 if len(name) > len("pack/pack-.idx") + 40 else 20
    count = int.from_bytes(index[_FANOUT_END - 4 : _FANOUT_END], "big")
    for at in range(_FANOUT_END, min(_FANOUT_END + count * size, len(index) - size), size):
        yield index[at : at + size].hex()
