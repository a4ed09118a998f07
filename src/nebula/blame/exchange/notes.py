"""A note of the lines that turns wrote in a commit, in git-ai's form (`authorship/3.0.0` in `refs/notes/ai`).

Only what the commit itself added is in it; a commit without such lines gets none. Prompts and answers stay out.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from nebula.blame import text
from nebula.blame.commits import content_at, ranges_of
from nebula.blame.inherit import inherit
from nebula.blame.kept.basis import own_email
from nebula.blame.project import ProjectBlame
from nebula.git import find_commit, git_setting, place_in_repository, safe_git
from nebula.git.writing import add_note

REF: Final = "refs/notes/ai"
SCHEMA: Final = "authorship/3.0.0"
_BLANK = re.compile(r"\s")

TurnLines = Mapping[str, Sequence[int]]
"""Line numbers, from 1, by the turn's node."""


def note_commit(root: str) -> bool:
    """Add the note of the newest commit; False where it has no lines of turns. Raises GitFailed."""
    commit = find_commit(root)
    if not commit:
        return False
    author = git_setting(root, "user.name") or "nebula", own_email(root) or "nebula@localhost"
    with ProjectBlame(root) as blame:
        files = {path: lines for path in _changed(root, commit) if (lines := _turn_lines(blame, root, commit, path))}
        models = {node_id: node.model for each in files.values() for node_id in each if (node := blame.node(node_id))}
    if not files:
        return False
    add_note(root, REF, commit, write_note(commit, files, models, author), author)
    return True


def write_note(commit: str, files: Mapping[str, TurnLines], models: Mapping[str, str], author: tuple[str, str]) -> str:
    """Return the note of a commit: a block for each file, a line of dashes, and who the turns were."""
    blocks: list[str] = []
    counts: dict[str, int] = {}
    for path, turns in files.items():
        blocks.append(f'"{path}"' if _BLANK.search(path) else path)  # as it is: git-ai's readers undo no escapes
        for node_id, lines in turns.items():
            blocks.append(f"  {_session(node_id)} {_write_ranges(lines)}")
            counts[node_id] = counts.get(node_id, 0) + len(lines)
    prompts = {
        _session(node_id): _prompt(node_id, models.get(node_id, ""), counts[node_id], author) for node_id in counts
    }
    metadata = {"schema_version": SCHEMA, "base_commit_sha": commit, "prompts": prompts}
    return "\n".join([*blocks, "---", json.dumps(metadata, ensure_ascii=False, indent=2), ""])


def _prompt(node_id: str, model: str, lines: int, author: tuple[str, str]) -> dict[str, Any]:
    return {
        "agent_id": {"tool": "nebula", "id": node_id, "model": model},
        "human_author": f"{author[0]} <{author[1]}>",
        "total_additions": lines,
        "total_deletions": 0,
        "accepted_lines": lines,
        "overriden_lines": 0,
    }


def _session(node_id: str) -> str:
    return hashlib.sha256(f"nebula:{node_id}".encode()).hexdigest()[:16]


def _write_ranges(lines: Iterable[int]) -> str:
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges_of(lines))


def _changed(root: str, commit: str) -> list[str]:
    """Return the paths that a commit changed, from the top of the repository, as far as a note can name them; of a
    merge none."""
    told = safe_git(root, "diff-tree", "-r", "-z", "--root", "--no-commit-id", "--name-only", "--diff-filter=d", commit)
    paths = (os.fsdecode(path) for path in told.stdout.split(b"\0") if path)
    return [path for path in paths if "\n" not in path]


def _turn_lines(blame: ProjectBlame, root: str, commit: str, path: str) -> dict[str, list[int]]:
    """Return the lines of a file that a commit added and turns wrote."""
    above = place_in_repository(root)
    if above and not path.startswith(f"{above}/"):
        return {}
    own = path.removeprefix(f"{above}/") if above else path
    content = content_at(root, commit, own)
    if content is None or text.is_binary(content):
        return {}
    before = content_at(root, f"{commit}^", own) or b""
    heritage = inherit(before, [True] * text.count_lines(before), content)
    added = {heritage.head + place for place, owner in enumerate(heritage.owners) if owner is None}
    found: dict[str, list[int]] = {}
    for number, author in enumerate(blame.authors(own, content, is_in_git=True)):
        if number in added and author.kind == "turn":
            found.setdefault(author.of, []).append(number + 1)
    return found
