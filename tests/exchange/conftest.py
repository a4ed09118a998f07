"""Records of other agents, as they lie in their own places."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

RECORDS = Path(__file__).parent / "records"
APP = 'def greet():\n    return "good evening"\n\n\nprint(greet())\n'


class Histories:
    """Puts records where the agents leave them; their paths are those of the bench's project."""

    def __init__(self, bench):
        self.bench = bench
        self.home = Path(bench.env()["HOME"])

    def record(self, name):
        return (RECORDS / name).read_text("utf-8").replace("@ROOT@", str(self.bench.project))

    def put(self, path, text):
        place = self.home / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
        return place

    def claude(self, name="one.jsonl", text=None):
        folder = re.sub(r"[^A-Za-z0-9]", "-", str(self.bench.project))
        return self.put(f".claude/projects/{folder}/{name}", text or self.record("claude.jsonl"))

    def codex(self):
        return self.put(".codex/sessions/2026/11/16/rollout-1.jsonl", self.record("codex.jsonl"))

    def gemini(self):
        self.put(".gemini/tmp/proj/.project_root", str(self.bench.project))
        return self.put(".gemini/tmp/proj/chats/session-1.jsonl", self.record("gemini.jsonl"))


@pytest.fixture
def histories(bench):
    return Histories(bench)
