"""Find the commits that still hold changes which were undone: undo changes the work tree, never a commit."""

from __future__ import annotations

from typing import Final

from nebula.blame.commits import content_at
from nebula.files.digest import digest
from nebula.git import GitFailed, safe_git
from nebula.workspace.contract import PathChange
from nebula.workspace.file_history import FileHistory, FilePlan
from nebula.workspace.journal.states import content_name

MOST_FILES: Final = 50
"""How many files are looked up; a commit that has more of them is found by the first ones."""
TIMEOUT_S: Final = 5.0


def commits_with(root: str, history: FileHistory, undone: FilePlan) -> dict[str, list[str]]:
    """Return the short names of commits made since the turn that still hold what was `undone`, each with the paths that
    it, or a commit before it, holds. Empty outside a repository."""
    since = min((change.ts for change in history.changes(undone.group) if change.ts), default="")
    paths = [step.path for step in undone.steps[:MOST_FILES]]
    found: dict[str, list[str]] = {}
    try:
        if not since or not _last_commit(root, since, *paths):
            return {}
        for step in undone.steps[:MOST_FILES]:
            if _is_committed(root, step) and (commit := _last_commit(root, since, step.path)):
                found.setdefault(commit, []).append(step.path)
    except GitFailed:  # no git, no repository, or one that git cannot read: then nothing is known of commits
        return {}
    return found


def _is_committed(root: str, step: PathChange) -> bool:
    """Return whether HEAD has the path as it was before it went back; also that it was deleted."""
    committed = content_at(root, "HEAD", step.path)
    if step.before is None or committed is None:
        return step.before is None and committed is None
    return content_name(step.before) == digest(committed)


def _last_commit(root: str, since: str, *paths: str) -> str:
    literal = [f":(literal){path}" for path in paths]
    told = safe_git(
        root, "rev-list", "-1", "--abbrev-commit", f"--since={since}", "HEAD", "--", *literal, timeout=TIMEOUT_S
    )
    return told.stdout.decode().strip() if told.ok else ""
