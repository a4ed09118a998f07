"""A trace is a file, and a file may hold anything: a damaged one is played as far as it goes, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_machine import know_the_machine
from nebula.agent.traces.find import TaskTrace
from nebula.agent.traces.replay import replay
from nebula.config import Settings
from nebula.errors import NebulaError
from nebula.events import Final

SAID = {"Response": {"message_id": None, "content": "Done."}}
CALL = {"id": "c", "name": "list", "orig_name": "list", "args": {"path": "."}, "orig_args": {"path": "."}}
CALLED = {"ToolUse": {"message_id": None, "content": "", "tool_uses": [CALL]}}
USAGE = {"input_tokens": 1, "output_tokens": 1}
EVENTS: list[dict[str, Any]] = [
    {"type": "task", "prompt": "hello", "mode": "agent", "model": "m", "provider": "openai"},
    {"type": "message", "message": CALLED, "usage": USAGE, "stop": "tool_calls", "rung": None},
    {"type": "tool_result", "tool_use_id": "c", "tool": "list", "status": "Success", "decision": None},
    {"type": "error", "kind": "internal", "message": "disk"},
    {"type": "message", "message": SAID, "usage": USAGE},
    {"type": "final", "status": "ok", "exit_code": 0, "files_changed": [{"path": "a", "after": "b"}]},
]
FIELDS = [(number, name) for number, event in enumerate(EVENTS) for name in event if name != "type"]
PLAN_REPLY = {"type": "plan_reply", "text": "{}", "attempt": 1, "cut": False}
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.just(10**400), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(("Response", "ToolUse", "content", "tool_uses", "path")), inner, max_size=2),
    ),
    max_leaves=4,
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "project").mkdir()
    know_the_machine(tmp_path / "home")
    return Settings(root=str(tmp_path / "project"), home=str(tmp_path / "home"))


async def played(settings: Settings, events: list[dict[str, Any]]) -> Final:
    whole = json.loads(json.dumps(events))  # as it comes from a file
    return (await replay(settings, TaskTrace(settings.root, "t", whole))).final


async def test_a_reply_that_is_no_message_is_one_sentence(settings: Settings) -> None:
    damaged = EVENTS[1] | {"message": {"Response": 5}}
    final = await played(settings, [EVENTS[0], damaged])
    assert (final.status, str(final.remark)) == (
        "error", "A reply in the trace is damaged: Response: expected an object, got 5"
    )  # fmt: skip


@given(field=st.sampled_from(FIELDS), value=VALUES, planned=st.booleans())
async def test_whatever_is_damaged(settings: Settings, field: tuple[int, str], value: Any, planned: bool) -> None:
    number, name = field
    events = [event | {name: value} if at == number else event for at, event in enumerate(EVENTS)]
    if planned:
        events.insert(1, PLAN_REPLY | {name: value})
    try:
        final = await played(settings, events)
    except NebulaError as problem:
        assert str(problem)
    else:
        assert "internal error" not in str(final.remark)
