"""Live facts about the project that the system prompt carries: gathered anew for each turn, small and cheap."""

from __future__ import annotations

import os
import sys
from datetime import date

from nebula.messages import strip_hidden_characters, truncate_safe
from nebula.value import value
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.git import GitFailed, find_repository, safe_git

MAX_TREE_ENTRIES = 60
MAX_STATUS_LINES = 20
MAX_INSTRUCTIONS_BYTES = 32_768
INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
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
    instructions: str
    instructions_name: str

    @property
    def empty(self) -> bool:
        return not self.tree


def gather_project_context(workspace: Workspace, root: str) -> ProjectContext:
    tree, more = _top_of_tree(workspace)
    branch, changes = _git_state(root)
    name, instructions = _instructions(root)
    return ProjectContext(
        {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, "Linux"),
        root,
        date.today().isoformat(),
        tree,
        more,
        branch,
        changes,
        instructions,
        name,
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


def _instructions(root: str) -> tuple[str, str]:
    """The nearest AGENTS.md (or a file of that kind), from the project up to the top of its repository."""
    repository = find_repository(root)
    folder = os.path.realpath(root)
    top = repository[0] if repository else folder
    while True:
        for name in INSTRUCTION_FILES:
            text = _read_capped(os.path.join(folder, name))
            if text:
                return name, text
        if folder == top:
            return "", ""
        folder = os.path.dirname(folder)


def _read_capped(path: str) -> str:
    try:
        # O_NONBLOCK: a FIFO of that name must not hang us. O_NOFOLLOW: a link may lead to anybody's secrets.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with open(descriptor, "rb") as file:
        try:
            raw = file.read(MAX_INSTRUCTIONS_BYTES + 1)
        except OSError:
            return ""
    text = strip_hidden_characters(raw.decode("utf-8", "replace")).strip()
    if len(raw) <= MAX_INSTRUCTIONS_BYTES:
        return text
    return truncate_safe(text, MAX_INSTRUCTIONS_BYTES) + f"\n[cut at {MAX_INSTRUCTIONS_BYTES} bytes]"
