"""A yes to one message in a whole session: it does not outlive the message, whatever ids a later one has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nebula.events import Step
from nebula.testing import ScriptedCall, ScriptedReply, scripted_session
from nebula.tools.approval import Decision


def writes(*paths: str) -> ScriptedReply:
    return ScriptedReply("", [ScriptedCall("writeFile", {"path": path, "content": "x\n"}) for path in paths])


@pytest.mark.parametrize("way", ["retry", "compact", "next"])
async def test_all_of_this_message_is_not_all_of_the_next(tmp_path: Path, way: str) -> None:
    replies = [writes("a.py", "b.py"), "Done.", writes("deploy.sh", "c.py"), "Not done."]
    async with scripted_session(replies, [Decision(True, "message"), "no", "no"], root=tmp_path) as scripted:
        await scripted.turn("first")
        if way == "retry":
            scripted.session.place.step_back()
        elif way == "compact":
            await scripted.session.compact()
        await scripted.turn("second")
    ids = [step.tool_use_id for step in scripted.events.of(Step)]
    if way == "retry":
        assert ids[:2] == ids[2:], "the ids are counted anew"
    assert [question.path for question in scripted.questions] == ["a.py", "deploy.sh", "c.py"]
    assert sorted(name for name in os.listdir(tmp_path) if name != ".nebula") == ["a.py", "b.py"]
