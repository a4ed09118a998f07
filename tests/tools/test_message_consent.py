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


@pytest.mark.parametrize("old, asked", [("1", ["a.py", "a.py"]), ("then 1", ["a.py"])])
async def test_all_of_this_message_is_what_was_shown_of_it(tmp_path: Path, old: str, asked: list[str]) -> None:
    """What could not be shown when the yes was given, or would do more than was shown by now, is asked about."""
    (tmp_path / "b.py").write_text("then 1\n")
    edits = [{"old_text": old, "new_text": "2", "all": True}]
    name = "a.py" if old == "1" else "b.py"
    calls = [ScriptedCall("writeFile", {"path": "a.py", "content": "1\n"}), writes("c.py").calls[0]]
    calls.append(ScriptedCall("editFile", {"path": name, "edits": edits}))
    replies = [ScriptedReply("", [ScriptedCall("readFile", {"path": "b.py"})]), ScriptedReply("", calls), "Done."]
    async with scripted_session(replies, [Decision(True, "message"), "no"], root=tmp_path) as scripted:
        await scripted.turn("write")
    assert [question.path for question in scripted.questions] == asked
    assert (tmp_path / "c.py").exists() and (tmp_path / name).read_text() == ("1\n" if old == "1" else "2\n")


@pytest.mark.parametrize("instead", ["other\n", ""])
async def test_an_edit_that_grows_by_the_one_before_it_is_shown_again(tmp_path: Path, instead: str) -> None:
    (tmp_path / "a.py").write_text("one\nkey\n")
    edits = [("one\n", "key\nkey\n"), ("key\n", instead)]
    calls = [
        ScriptedCall("editFile", {"path": "a.py", "edits": [{"old_text": old, "new_text": new, "all": True}]})
        for old, new in edits
    ]
    replies = [ScriptedReply("", [ScriptedCall("readFile", {"path": "a.py"})]), ScriptedReply("", calls), "Done."]
    async with scripted_session(replies, [Decision(True, "message"), "no"], root=tmp_path) as scripted:
        await scripted.turn("write")
    assert [question.changes[0].removed for question in scripted.questions] == [1, 3]


async def test_an_edit_that_the_one_before_it_sends_elsewhere_is_shown_again(tmp_path: Path) -> None:
    """The lines are those that were shown, and stand in another place by now."""
    guest, admin, gap = "def guest():\n    return {}\n", "def admin():\n    return {}\n", "\n" * 8
    (tmp_path / "a.py").write_text(guest.format(1) + gap + admin.format(2))
    swap = [(guest.format(1), guest.format(2)), (admin.format(2), admin.format(1))]
    calls = [
        ScriptedCall("editFile", {"path": "a.py", "edits": [{"old_text": old, "new_text": new} for old, new in edits]})
        for edits in (swap, [("    return 1\n", "    return True\n")])
    ]
    replies = [ScriptedReply("", [ScriptedCall("readFile", {"path": "a.py"})]), ScriptedReply("", calls), "Done."]
    async with scripted_session(replies, [Decision(True, "message"), "no"], root=tmp_path) as scripted:
        await scripted.turn("write")
    assert len(scripted.questions) == 2
    assert (tmp_path / "a.py").read_text() == guest.format(2) + gap + admin.format(1)


async def test_a_yes_to_one_hunk_is_none_to_the_rest_of_the_message(tmp_path: Path) -> None:
    replies = [writes("a.py", "b.py"), "Done."]
    async with scripted_session(replies, [Decision(True, "message", hunks=(1,)), "no"], root=tmp_path) as scripted:
        await scripted.turn("write")
    assert [question.path for question in scripted.questions] == ["a.py", "b.py"]
