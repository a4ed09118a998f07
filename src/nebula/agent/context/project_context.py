"""Live facts about the project that the system prompt carries: gathered again for each turn, small and cheap."""

from __future__ import annotations

import re
import sys
from datetime import date

from nebula.agent.instructions.standing import Instructions, gather_instructions
from nebula.git import GitFailed, find_repository, safe_git
from nebula.value import value
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError

MAX_TREE_ENTRIES = 60
MAX_STATUS_LINES = 20
_BORN_WITH = (
    r"(?i)(readme|license|licence|copying|changelog|contributing|agents|claude|gemini)(\.\w+)?"
    r"|\.git\w+|\.editorconfig|\.(github|vscode|idea)/"
)
GIT_TIMEOUT_S = 2.0
"""A repository too slow to say its status in this time is described without it."""


@value
class ProjectContext:
    operating_system: str
    directory: str
    today: str
    tree: tuple[str, ...]
    more: int
    branch: str
    changes: tuple[str, ...]
    instructions: Instructions
    outline: tuple[str, ...] = ()
    """The files that count most, each with what it defines; empty where there is no index."""

    @property
    def without_source(self) -> bool:
        """Empty, or nothing but what a repository is born with."""
        return not self.more and all(re.fullmatch(_BORN_WITH, name) for name in self.tree)


def gather_project_context(workspace: Workspace, root: str, home: str = "") -> ProjectContext:
    """Return what there is to say of the project in `root`; `home` is where the user's own instructions lie."""
    tree, more = _top_of_tree(workspace)
    branch, changes = _git_state(root)
    return ProjectContext(
        {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, "Linux"),
        root,
        date.today().isoformat(),
        tree,
        more,
        branch,
        changes,
        gather_instructions(root, home),
    )


def _top_of_tree(workspace: Workspace) -> tuple[tuple[str, ...], int]:
    try:
        entries = workspace.list_files(".").files
    except WorkspaceError:
        return (), 0
    names = [entry.name + "/" * entry.is_dir for entry in entries if entry.name not in (".git", ".nebula")]
    return tuple(names[:MAX_TREE_ENTRIES]), max(0, len(names) - MAX_TREE_ENTRIES)


def _git_state(root: str) -> tuple[str, tuple[str, ...]]:
    if find_repository(root) is None:
        return "", ()
    try:
        status = safe_git(
            root, "status", "--porcelain=v1", "--branch", "--untracked-files=normal", timeout=GIT_TIMEOUT_S
        )
    except GitFailed:
        return "", ()
    lines = status.stdout.decode("utf-8", "replace").splitlines()
    branch = lines[0].removeprefix("## ") if lines else ""
    changes = lines[1:]
    shown = tuple(changes[:MAX_STATUS_LINES])
    if len(changes) > MAX_STATUS_LINES:
        shown += (f"… and {len(changes) - MAX_STATUS_LINES} more",)
    return branch, shown
