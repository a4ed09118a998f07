"""Steps of a plan that call a tool: what is called, and what is said of what came of it."""

from __future__ import annotations

import pytest

from nebula.agent.orchestrator.tool_steps import conflict_goal, error_of, problem_of
from nebula.agent.plan.kept_plans import find_plan
from nebula.agent.plan.plan import read_plan
from nebula.events import Step
from nebula.files.home import derived_folder
from nebula.messages import Json
from nebula.tools.contract import Outcome, ToolFailure
from nebula.value import replace
from scripted_model.planned import say, step, write


def planned(step_id: str, path: str, content: str, mode: str = "create", **more: object) -> dict[str, object]:
    return step(step_id, tool="write_file", parameters={"path": path, "content": content, "mode": mode}, **more)


def steps_of(done):
    return [(each.orig_name or each.name, each.task_id) for each in done.events if isinstance(each, Step)]


async def test_a_file_that_is_to_be_overwritten_is_made_where_there_is_none(carry_out, root):
    done = await carry_out([], planned("1", "new.py", "a = 1\n", "overwrite"))
    assert (done.code, (root / "new.py").read_text()) == (0, "a = 1\n")
    assert steps_of(done) == [("writeFile", "1")]


async def test_a_file_is_overwritten_as_it_is_then(carry_out, root):
    (root / "old.py").write_text("a = 0\n")
    done = await carry_out([], planned("1", "old.py", "a = 1\n", "overwrite"))
    assert (done.code, (root / "old.py").read_text()) == (0, "a = 1\n")
    assert steps_of(done) == [("editFile", "1")]


@pytest.mark.parametrize("mode", ["create", "overwrite"])
async def test_what_is_so_already_is_done_without_a_call(carry_out, root, tmp_path, mode):
    (root / "same.py").write_text("a = 1\n")
    done = await carry_out([say("I wrote it.")], planned("1", "same.py", "a = 1\n", mode), step("2", files=["no"]))
    assert (done.states, steps_of(done)) == (["done", "failed"], [])
    kept = find_plan(derived_folder(str(root), str(tmp_path / "home")), done.final.node_id)
    assert kept.done == {"1": "It was so already."}


async def test_a_file_in_the_way_is_the_models_to_decide_under_the_same_step(carry_out, root):
    (root / "a.py").write_text("mine = 1\n")
    turns = [write("a.py", "a = 1\n", "overwrite"), say("Written.")]
    done = await carry_out(turns, planned("7", "a.py", "a = 1\n"))
    assert {task for _, task in steps_of(done)} == {"7"}
    assert "The plan says to create a.py, but: " in done.prompts[0] and "exists already" in done.prompts[0]
    assert done.prompts[0].startswith("Step 7\n") and done.prompts[0].endswith("The planned content:\n\na = 1")


async def test_arguments_that_make_no_sense_fail_the_step_with_the_reason(carry_out, root):
    done = await carry_out([], step("1", tool="write_file", parameters={"path": "a.py"}))
    assert done.code == 1 and not (root / "a.py").exists()
    assert "content" in str(done.final.steps[0].remark)
    done = await carry_out([], planned("1", "a.py", "a = 1\n", "replace"))
    assert done.code == 1 and not (root / "a.py").exists()
    assert (
        done.remark == "write_file answered: mode of write_file must be create or overwrite or append. Nothing was run."
    )


def test_what_is_said_of_a_call_that_did_not_do_it() -> None:
    assert str(problem_of(Outcome.failed(ToolFailure("no room")), "write_file")) == "write_file answered: no room"
    assert str(problem_of(Outcome.ok({"stopped": "time", "exit_code": 1}), "t")) == "The command was stopped: time"
    assert str(problem_of(Outcome.ok({"exit_code": 3}), "t")) == "The command ended with exit code 3."
    assert problem_of(Outcome.ok({"exit_code": 0}), "t") is None
    blocks = Json({"error": "one"}), Json({"more": 1}), Json(["no object"]), Json({"error": "two"})
    assert error_of(replace(Outcome.failed(ToolFailure("x")), content=blocks)) == "one  two"


def test_a_step_without_a_title_says_what_it_was_about() -> None:
    [found] = read_plan({"tasks": [planned("1", "a.py", "x")]}).steps
    assert conflict_goal(found, "it is there").startswith("Step 1\n\nThe plan says to create a.py, but: it is there\n")
    assert conflict_goal(replace(found, title=""), "it is there").startswith("A file was to be written.\n\n")
