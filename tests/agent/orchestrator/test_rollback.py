"""A rollback that was cut short is finished by the next task or session, and said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nebula.agent.assembly import open_session
from nebula.agent.plan.kept_plans import find_plan
from nebula.agent.plan.rollbacks import NOTES, noted_rollback
from nebula.config import load_settings
from nebula.events import Error, Notice
from nebula.files.home import derived_folder
from nebula.llm.choose import ChosenModel
from nebula.testing import ScriptedConnector
from nebula.tools.approval import allow_all
from scripted_model.planned import say, step, write

FINISHED = "The rollback of a task had been interrupted; it is complete now: {paths}"


class Killed(BaseException):
    """Stands for the end of the process: nothing after it runs."""


def notices(done):
    return [str(each.sentence) for each in done.events if isinstance(each, Notice)]


@pytest.fixture
def derived(root: Path, tmp_path: Path) -> str:
    return derived_folder(str(root), str(tmp_path / "home"))


async def failed_task(carry_out, root):
    """Two files made and one changed by a task that then failed; its trace id."""
    (root / "old.py").write_text("old = 1\n")
    planned = {"path": "old.py", "content": "new = 1\n", "mode": "overwrite"}
    turns = [write("a.py", "a\n"), write("b/c.py", "c\n"), say("Done."), say("I wrote it.")]
    done = await carry_out(turns, step("0", tool="write_file", parameters=planned), step("1"), step("2", files=["no"]))
    assert (done.code, done.states) == (1, ["done", "done", "failed"])
    return done.final.node_id


def begin_rollback(derived, trace_id, done):
    with pytest.raises(Killed), noted_rollback(derived, trace_id, done):
        raise Killed


async def test_a_task_that_fails_puts_its_files_back_and_says_which(carry_out, root):
    (root / "old.py").write_text("old = 1\n")
    planned = {"path": "old.py", "content": "new = 1\n", "mode": "overwrite"}
    steps = step("0", tool="write_file", parameters=planned), step("1", files=["no"])
    done = await carry_out([write("b/c.py", "c\n"), say("I wrote it.")], *steps, rollback=True)
    assert (done.code, done.final.rolled_back, done.final.files_changed) == (1, True, ())
    assert notices(done) == ["Rolled back: b/c.py, old.py"]
    assert (root / "old.py").read_text() == "old = 1\n" and not (root / "b").exists()
    again = await carry_out([say("I wrote nothing.")], step("1", files=["no"]), rollback=True)
    assert (again.final.rolled_back, notices(again)) == (True, [])


async def test_a_rollback_that_is_not_possible_is_an_error_that_says_why(carry_out, root):
    (root / "old.py").write_text("old = 1\n")

    def edited_meanwhile(_):
        (root / "old.py").write_text("mine\n")
        return say("I wrote it.")

    planned = {"path": "old.py", "content": "new = 1\n", "mode": "overwrite"}
    steps = step("0", tool="write_file", parameters=planned), step("1", files=["no"])
    done = await carry_out([edited_meanwhile], *steps, rollback=True)
    assert (done.code, done.final.rolled_back) == (1, False)
    [problem] = [each for each in done.events if isinstance(each, Error)]
    assert (problem.kind, str(problem.sentence)) == (
        "rollback",
        "The changes could not be rolled back: old.py: changed since; nothing was touched.",
    )
    assert (root / "old.py").read_text() == "mine\n"


async def test_the_next_task_finishes_it_and_says_so(carry_out, root, derived):
    trace_id = await failed_task(carry_out, root)
    begin_rollback(derived, trace_id, {"0": "before"})
    (root / "a.py").unlink()  # one file was put back already
    done = await carry_out([say("Hello.")], step("1"))
    assert done.code == 0
    [said] = [each for each in notices(done) if "rollback" in each]
    assert said == FINISHED.format(paths="b/c.py, old.py")
    assert (root / "old.py").read_text() == "old = 1\n" and not (root / "b").exists()
    assert find_plan(derived, trace_id).done == {"0": "before"}  # all that it did is to be done again
    assert os.listdir(os.path.join(derived, NOTES)) == []
    assert not notices(await carry_out([say("Hello.")], step("1")))


async def test_a_session_finishes_it_when_it_begins_and_says_so(carry_out, root, derived, tmp_path):
    trace_id = await failed_task(carry_out, root)
    begin_rollback(derived, trace_id, {})
    settings = load_settings(str(root), {"NEBULA_HOME": str(tmp_path / "home")})
    for expected in ([FINISHED.format(paths="a.py, b/c.py, old.py")], []):
        chosen = ChosenModel(ScriptedConnector([]), "m")
        session = await open_session(settings, approver=allow_all, chosen=chosen)
        told = [str(sentence) for sentence in session.remarks.take()]
        await session.close()
        assert [each for each in told if "rollback" in each] == expected
    assert (root / "old.py").read_text() == "old = 1\n" and not (root / "a.py").exists()


async def test_a_file_edited_since_is_left_and_that_is_said_once(carry_out, root, derived):
    begin_rollback(derived, await failed_task(carry_out, root), {})
    (root / "old.py").write_text("mine\n")
    done = await carry_out([say("Hello.")], step("1"))
    assert any("could not be completed: old.py: changed since" in each for each in notices(done))
    assert ((root / "old.py").read_text(), (root / "a.py").read_text()) == ("mine\n", "a\n")
    assert not notices(await carry_out([say("Hello.")], step("1")))


async def test_a_rollback_of_a_living_process_and_of_a_dry_run_are_left_alone(carry_out, root, derived):
    trace_id = await failed_task(carry_out, root)
    with noted_rollback(derived, trace_id, {}):
        assert not notices(await carry_out([say("Hello.")], step("1")))
    begin_rollback(derived, trace_id, {})
    assert not notices(await carry_out([say("Hello.")], step("1"), dry_run=True))
    assert (root / "a.py").exists() and os.listdir(os.path.join(derived, NOTES)) == [trace_id]


async def test_a_rollback_that_comes_to_its_end_leaves_no_note(carry_out, root, derived):
    turns = [write("a.py", "a\n"), say("Done.")]
    done = await carry_out(turns, step("1", files=["no.py"]), rollback=True)
    assert done.final.rolled_back and not (root / "a.py").exists()
    assert os.listdir(os.path.join(derived, NOTES)) == []
