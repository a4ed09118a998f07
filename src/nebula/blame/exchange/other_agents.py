"""Which lines other agents wrote, as they say themselves: notes in git-ai's form and Agent Trace records.

Both name a commit, a path and lines as they are in that commit. So a line of ours is asked for by the place where git
says that it came from. What makes no sense is passed over: both come with the repository, and anybody can write them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from nebula.blame.commits import LineOrigin
from nebula.blame.exchange import IMPORTED, TRACES
from nebula.files.reading import read_or_empty
from nebula.files.untrusted_json import parse_json
from nebula.git import ask_git, find_repository
from nebula.value import value

NOTES: Final = "refs/notes/ai"
_MOST_OF_TRACES: Final = 32 << 20
_MOST_NOTES: Final = 300
"""Notes that one question reads."""
_MOST_OF_NAME: Final = 100
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")

_Ranges = list[tuple[int, int]]


@value
class OtherAgent:
    tool: str
    model: str = ""
    id: str = ""
    """Of its conversation, as the tool names it."""


Claim = tuple[str, str, _Ranges, OtherAgent]
"""Commit, path in it, lines, and who says that it wrote them."""
_Claims = dict[str, list[tuple[_Ranges, OtherAgent]]]
"""By path: lines, and who says that it wrote them."""


class OtherAgents:
    """Those who left a note or a record in the repository of a project."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._claims: dict[str, _Claims] = {}

    def find(self, origins: Mapping[int, LineOrigin]) -> dict[int, OtherAgent]:
        """Return who wrote the lines that came from these places, where anybody says so."""
        if not self._notes and not self._traces:
            return {}
        found = {}
        for line, origin in origins.items():
            for ranges, agent in self._claims_of(origin.commit.id).get(origin.path, ()):
                if any(first <= origin.line <= last for first, last in ranges):
                    found[line] = agent
        return found

    def _claims_of(self, commit: str) -> _Claims:
        if commit not in self._claims:
            claims: _Claims = {}
            for path, ranges, agent in (*self._read_note(commit), *self._traces.get(commit, ())):
                claims.setdefault(path, []).append((ranges, agent))
            self._claims[commit] = claims
        return self._claims[commit]

    @cached_property
    def _notes(self) -> dict[str, str]:
        return _name_notes(self._root)

    def _read_note(self, commit: str) -> list[tuple[str, _Ranges, OtherAgent]]:
        name = self._notes.get(commit)
        return [] if name is None or len(self._claims) > _MOST_NOTES else read_note(_read_blob(self._root, name))

    @cached_property
    def _traces(self) -> dict[str, list[tuple[str, _Ranges, OtherAgent]]]:
        """Return what the records of commits claim."""
        place = find_repository(self._root)
        if place is None:
            return {}
        found: dict[str, list[tuple[str, _Ranges, OtherAgent]]] = {}
        for folder, path in ((place[0], TRACES), (self._root, IMPORTED)):
            for line in read_or_empty(folder, path, _MOST_OF_TRACES, follow=False).split(b"\n"):
                for revision, *claim in read_trace(line):
                    found.setdefault(revision, []).append(tuple(claim))  # type: ignore[arg-type]
        return found


def list_notes(root: str) -> Iterator[tuple[str, str]]:
    """Yield each commit of the repository that has a note in git-ai's form, and the note."""
    for commit, name in _name_notes(root).items():
        yield commit, _read_blob(root, name)


def _name_notes(root: str) -> dict[str, str]:
    """Return the names of the notes by commit."""
    told = ask_git(root, "ls-tree", "-r", "-z", "--full-tree", NOTES) or b""
    rows = (row.partition(b"\t") for row in told.split(b"\0") if row)
    return {os.fsdecode(name).replace("/", ""): head.split()[2].decode() for head, _, name in rows}


def _read_blob(root: str, name: str) -> str:
    return (ask_git(root, "cat-file", "blob", name) or b"").decode(errors="replace")


def read_note(note: str) -> list[tuple[str, _Ranges, OtherAgent]]:
    """Return path, lines and agent of each entry of a note in git-ai's form."""
    blocks, _, metadata = note.partition("\n---\n")
    agents = _read_agents(metadata)
    found: list[tuple[str, _Ranges, OtherAgent]] = []
    path = ""
    for line in blocks.split("\n"):
        if not line.startswith("  "):
            path = line[1:-1] if line.startswith('"') and line.endswith('"') else line
            continue
        session, _, ranges = line.strip().partition(" ")
        agent = agents.get(session.partition("::")[0])
        if agent is not None and path:
            found.append((path, [(int(each[1]), int(each[2] or each[1])) for each in _RANGE.finditer(ranges)], agent))
    return found


def read_trace(line: bytes) -> Iterator[tuple[str, str, _Ranges, OtherAgent]]:
    """Yield revision, path, lines and agent of what an Agent Trace record claims; nothing for what is none."""
    try:
        record = parse_json(line)
    except ValueError:
        return
    vcs = _table(_table(record).get("vcs"))
    tool = _name(_table(_table(record).get("tool")).get("name")) or "agent"
    if vcs.get("type") != "git" or not isinstance(vcs.get("revision"), str):
        return
    for file in _tables(_table(record).get("files")):
        for conversation in _tables(file.get("conversations")):
            for each in _tables(conversation.get("ranges")):
                by = _table(each.get("contributor") or conversation.get("contributor"))
                first, last, path = each.get("start_line"), each.get("end_line"), file.get("path")
                if by.get("type") in ("ai", "mixed") and isinstance(first, int) and isinstance(last, int):
                    agent = OtherAgent(tool, _name(by.get("model_id")), _name(conversation.get("url")))
                    yield vcs["revision"], str(path), [(first, last)], agent


def _read_agents(metadata: str) -> dict[str, OtherAgent]:
    try:
        told = _table(parse_json(metadata.encode()))
    except ValueError:
        return {}
    found = {}
    for part in ("prompts", "sessions"):
        for session, facts in _table(told.get(part)).items():
            agent = _table(_table(facts).get("agent_id"))
            if tool := _name(agent.get("tool")):
                found[session] = OtherAgent(tool, _name(agent.get("model")), _name(agent.get("id")))
    return found


def _table(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _tables(found: Any) -> list[dict[str, Any]]:
    return [_table(each) for each in found] if isinstance(found, list) else []


def _name(found: Any) -> str:
    return found.partition("\n")[0][:_MOST_OF_NAME] if isinstance(found, str) else ""
