"""A project, a place outside it, and workspaces over the project."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nebula.files.beneath import OpenBeneath, best_opener, open_beneath, open_by_walking
from nebula.files.syscalls import REAL, Syscalls
from nebula.workspace import LocalWorkspace, Policy
from nebula.workspace.guard.jail import Jail
from nebula.workspace.guard.judge import Judge
from nebula.workspace.local import LateWriter

Open = Callable[..., LocalWorkspace]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    return folder


@pytest.fixture(params=["openat2", "walk"])
def opener(request: pytest.FixtureRequest) -> OpenBeneath:
    if request.param == "walk":
        return open_by_walking
    best = best_opener()
    if best is open_by_walking:
        pytest.skip("this kernel has no openat2")
    return best


@pytest.fixture
def open_at(root: Path) -> Iterator[Open]:
    opened: list[LocalWorkspace] = []

    def open_it(
        policy: Policy | None = None, *, calls: Syscalls = REAL, opener: OpenBeneath = open_beneath, at: Path = root
    ) -> LocalWorkspace:
        jail = Jail(str(at), calls=calls, opener=opener)
        opened.append(LocalWorkspace(jail, Judge(policy or Policy()), writing=LateWriter(jail, calls)))
        return opened[-1]

    yield open_it
    for workspace in opened:
        workspace.close()


@pytest.fixture
def workspace(open_at: Open) -> LocalWorkspace:
    return open_at()


def visible(root: Path) -> dict[str, bytes | None]:
    """All files below the root but for `.nebula/`, with their contents; None for directories and links."""
    found: dict[str, bytes | None] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(".nebula"):
            found[name] = path.read_bytes() if path.is_file() and not path.is_symlink() else None
    return found


def staged(root: Path) -> list[str]:
    staging = root / ".nebula/journal/staging"
    return sorted(path.name for path in staging.iterdir()) if staging.is_dir() else []


@pytest.fixture
def see(root: Path) -> Callable[[], dict[str, bytes | None]]:
    return lambda: visible(root)


@pytest.fixture
def litter(root: Path) -> Callable[[], list[str]]:
    return lambda: staged(root)
