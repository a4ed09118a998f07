"""Live facts about the project that the system prompt carries: gathered again for each turn, small and cheap."""

from __future__ import annotations

import os
import re
import sys
from datetime import date

from nebula.files.reading import UnreadableFile, read_below
from nebula.git import GitFailed, find_repository, safe_git
from nebula.language import Sentence
from nebula.messages import strip_hidden_characters, truncate_safe
from nebula.value import value
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError

MAX_TREE_ENTRIES = 60
MAX_STATUS_LINES = 20
MAX_INSTRUCTIONS_BYTES = 32_768
MAX_INSTRUCTIONS_FILE = 1 << 20
"""A file beyond this is no instructions, and is not read at all."""
INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
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
    instructions: str
    instructions_name: str

    unreadable: tuple[UnreadableFile, ...] = ()
    """Instructions that are there and cannot be used."""
    outline: tuple[str, ...] = ()
    """The files that count most, each with what it defines; empty where there is no index."""

    @property
    def without_source(self) -> bool:
        """Empty, or nothing but what a repository is born with."""
        return not self.more and all(re.fullmatch(_BORN_WITH, name) for name in self.tree)


def gather_project_context(workspace: Workspace, root: str) -> ProjectContext:
    tree, more = _top_of_tree(workspace)
    branch, changes = _git_state(root)
    unreadable: list[UnreadableFile] = []
    name, instructions = _instructions(root, unreadable)
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
        tuple(unreadable),
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


def _instructions(root: str, unreadable: list[UnreadableFile]) -> tuple[str, str]:
    """The nearest AGENTS.md (or a file of that kind), from the project up to the top of its repository.

    One may be a link to another, as CLAUDE.md often is, but to nothing outside.
    """
    repository = find_repository(root)
    folder = os.path.realpath(root)
    top = os.path.realpath(repository[0]) if repository else folder
    while True:
        for name in INSTRUCTION_FILES:
            path = os.path.join(os.path.relpath(folder, top), name)
            try:
                text = _capped(_read(top, path))
            except UnreadableFile as problem:
                unreadable.append(problem)
                continue
            if text:
                return name, text
        if folder == top:
            return "", ""
        folder = os.path.dirname(folder)


def project_instructions(root: str) -> tuple[str, str]:
    """The name of the file that holds the project's instructions, and what it says; empty where there is none."""
    return _instructions(root, [])


def _read(top: str, path: str) -> bytes:
    target = os.path.realpath(os.path.join(top, path))
    if os.path.exists(target) and not target.lower().endswith(".md"):
        # A clone could point it at a file that tools may not read, such as `.env`, and have it sent with every prompt.
        raise UnreadableFile(os.path.normpath(path), Sentence("it is a link to a file of another kind"))
    return read_below(top, os.path.normpath(path), MAX_INSTRUCTIONS_FILE) or b""


def _capped(raw: bytes) -> str:
    text = strip_hidden_characters(raw.decode("utf-8", "replace")).strip()
    if len(raw) <= MAX_INSTRUCTIONS_BYTES:
        return text
    return truncate_safe(text, MAX_INSTRUCTIONS_BYTES) + f"\n[cut at {MAX_INSTRUCTIONS_BYTES} bytes]"
