"""Facts about the project for the system prompt: gathered again for each turn, few and cheap."""

from __future__ import annotations

import sys
from datetime import date

from nebula.agent.instructions.standing import Instructions, gather_instructions
from nebula.git import GitFailed, OddRepository, find_repository, safe_git
from nebula.language import Sentence, sentence_of
from nebula.value import value
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError

MAX_TREE_ENTRIES = 60
MAX_STATUS_LINES = 20
_BORN_WITH = frozenset(
    {"readme", "license", "licence", "copying", "changelog", "contributing", "agents", "claude", "gemini"}
)
_BORN_HIDDEN = frozenset({".editorconfig", ".github/", ".vscode/", ".idea/"})
GIT_TIMEOUT_S = 2.0
"""A repository whose `git status` takes longer is described without it."""


@value
class GitState:
    """What git reports of the project: empty outside a repository, and where git takes too long."""

    branch: str = ""
    changes: tuple[str, ...] = ()
    problem: Sentence | None = None
    """Why git is not asked, where something in the repository would block it."""


@value
class ProjectContext:
    operating_system: str
    directory: str
    today: str
    tree: tuple[str, ...]
    more: int
    git: GitState
    instructions: Instructions
    outline: tuple[str, ...] = ()
    """The files that count most, each with what it defines; empty where there is no index."""

    def remarks(self) -> list[Sentence]:
        """Return remarks for the user on what of the project could not be used."""
        return ([self.git.problem] if self.git.problem else []) + self.instructions.remarks()

    @property
    def without_source(self) -> bool:
        """The project is empty, or holds only what a new repository holds."""
        return not self.more and all(map(_is_born_with, self.tree))


def _is_born_with(entry: str) -> bool:
    name = entry.lower()
    stem, _, ending = name.partition(".")
    if stem:
        return stem in _BORN_WITH and (not ending or ending.isalnum())
    return name in _BORN_HIDDEN or (ending.startswith("git") and ending.isalnum())


def gather_project_context(
    workspace: Workspace, root: str, home: str = "", git: GitState | None = None
) -> ProjectContext:
    """Return the facts about the project in `root`; `home` is where the user's own instructions are, `git` what is
    known of the repository already."""
    tree, more = _top_of_tree(workspace)
    return ProjectContext(
        {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, "Linux"),
        root,
        date.today().isoformat(),
        tree,
        more,
        read_git_state(root) if git is None else git,
        gather_instructions(root, home),
    )


def _top_of_tree(workspace: Workspace) -> tuple[tuple[str, ...], int]:
    try:
        entries = workspace.list_files(".").files
    except WorkspaceError:
        return (), 0
    names = [entry.name + "/" * entry.is_dir for entry in entries if entry.name not in (".git", ".nebula")]
    return tuple(names[:MAX_TREE_ENTRIES]), max(0, len(names) - MAX_TREE_ENTRIES)


def read_git_state(root: str) -> GitState:
    if find_repository(root) is None:
        return GitState()
    try:
        status = safe_git(
            root, "status", "--porcelain=v1", "--branch", "--untracked-files=normal", timeout=GIT_TIMEOUT_S
        )
    except OddRepository as problem:
        return GitState(problem=sentence_of(problem))
    except GitFailed:
        return GitState()
    lines = status.stdout.decode("utf-8", "replace").splitlines()
    branch = lines[0].removeprefix("## ") if lines else ""
    changes = lines[1:]
    shown = tuple(changes[:MAX_STATUS_LINES])
    if len(changes) > MAX_STATUS_LINES:
        shown += (f"… and {len(changes) - MAX_STATUS_LINES} more",)
    return GitState(branch, shown)
