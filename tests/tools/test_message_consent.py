"""A yes to one message in a whole session: it does not outlive the message, whatever ids a later one has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from nebula.agent.assembly import open_session
from nebula.config import Settings
from nebula.events import Approval, Step
from nebula.llm.choose import ChosenModel
from nebula.llm.replay import ReplayModel
from nebula.tools.approval import Decision


def writes(*paths: str) -> dict[str, Any]:
    return {
        "text": "",
        "tool_calls": [{"name": "writeFile", "args": {"path": path, "content": "x\n"}} for path in paths],
    }


@pytest.mark.parametrize("way", ["retry", "compact", "next"])
async def test_all_of_this_message_is_not_all_of_the_next(tmp_path: Path, way: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    settings = Settings(home=str(tmp_path / "home"), root=str(root))
    script = [writes("a.py", "b.py"), {"text": "Done."}, writes("deploy.sh", "c.py"), {"text": "Not done."}]
    asked: list[str] = []
    ids: list[str] = []

    async def approver(question: Approval) -> Decision:
        asked.append(question.path)
        return Decision(True, "message") if len(asked) == 1 else Decision(False)

    def hear(stamped: Any) -> None:
        if isinstance(stamped.event, Step):
            ids.append(stamped.event.tool_use_id)

    session = await open_session(settings, approver=approver, chosen=ChosenModel(ReplayModel(script), "m", 100_000))
    try:
        await session.turn("first", [hear])
        if way == "retry":
            session.step_back()
        elif way == "compact":
            await session.compact()
        await session.turn("second", [hear])
    finally:
        await session.close()
    if way == "retry":
        assert ids[:2] == ids[2:], "the ids are counted anew"
    assert asked == ["a.py", "deploy.sh", "c.py"]
    assert sorted(name for name in os.listdir(root) if name != ".nebula") == ["a.py", "b.py"]
