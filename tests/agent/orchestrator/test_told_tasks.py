"""What a task tells from its first event to its last, what its model is asked, and what it leaves for the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.orchestrator.asked_task import Asked, states
from nebula.agent.orchestrator.run import run_task
from nebula.agent.orchestrator.task import TaskRequest
from nebula.agent.plan.kept_plans import find_plan
from nebula.agent.plan.planner import SEED
from nebula.config import load_settings
from nebula.errors import EXIT_FAILED, EXIT_FORMAT, EXIT_OK
from nebula.events import Error, Event, Message, StepProgress, Task
from nebula.graph.graph import Graph
from nebula.language import Sentence
from nebula.llm.dialect.answer_schema import AnswerSchema
from scripted_model import Fault, ScriptedModel
from scripted_model.planned import Call, Turn, hermes, plan, say, step, write

AGAIN = "A step failed for good; the planner is asked once more."


async def test_the_first_event_says_what_was_asked_of_whom(asked: Asked) -> None:
    result = await asked([plan(step("1")), say("Done.")], trace_id="01a1e000-0000-7000-8000-000000000001")
    assert asked.events[0] == Task("the task", "run", "hermes3:8b", "ollama")
    assert asked.events[-1] == result.final
    assert result.trace_id == "01a1e000-0000-7000-8000-000000000001" == result.final.node_id
    assert asked.notices() == ["No planner is set up: hermes3:8b plans as well (--planner chooses another)."]
    assert result.plan is not None and [each.id for each in result.plan.steps] == ["1"]
    assert (result.plans, result.reproducibility) == ((), None)


async def test_each_step_is_told_when_it_begins_and_ends(carry_out: Any) -> None:
    steps = step("1", files=["no"], on_error="skip"), step("2", depends_on=["1"]), step("3"), step("4")
    done = await carry_out([say("I wrote it."), say("Three.")], *steps, done={"4": "Four."})
    told = [each for each in done.events if isinstance(each, StepProgress)]
    missing = Sentence("Files that the plan declares are not there: {paths}", paths="no")
    assert [(each.task_id, each.state, each.title, each.attempt, each.remark) for each in told] == [
        ("1", "started", "Step 1", 1, None),
        ("1", "failed", "Step 1", 1, missing),
        ("2", "skipped", "Step 2", 1, Sentence("depends on {ids}", ids="1")),
        ("3", "started", "Step 3", 1, None),
        ("3", "done", "Step 3", 1, None),
        ("4", "done", "Step 4", 0, Sentence("done before")),
    ]
    assert [each.duration_s is not None for each in told] == [False, True, True, False, True, True]
    assert (done.code, done.remark) == (EXIT_FAILED, str(missing))


async def test_the_first_failure_is_the_one_that_is_told(carry_out: Any) -> None:
    steps = step("1", files=["one"], on_error="skip"), step("2", files=["two"], on_error="skip")
    done = await carry_out([say("1"), say("2")], *steps)
    assert done.remark.endswith(": one")


async def test_a_step_that_waits_for_two_names_both(carry_out: Any) -> None:
    first = [step(each, files=["no"], on_error="skip") for each in ("1", "2")]
    done = await carry_out([say("1"), say("2")], *first, step("3", depends_on=["1", "2"]))
    assert str(done.final.steps[2].remark) == "depends on 1, 2"


async def test_what_a_step_says_is_told_as_its_own(carry_out: Any) -> None:
    done = await carry_out([say("One."), say("Two.")], step("1"), step("2"))
    assert [each.task_id for each in done.events if each.type == "message"] == ["1", "2"]


async def test_a_model_that_cannot_be_had_is_the_second_event(root: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    with ScriptedModel([], models={"ollama": ()}) as server:
        environ = {"NEBULA_HOME": str(tmp_path / "home"), **server.env("ollama")}
        loaded = load_settings(str(root), environ, overrides={"model": "ollama/absent"})
        wanted = TaskRequest("the task", dry_run=True)
        result = await run_task(loaded, wanted, [lambda stamped: events.append(stamped.event)])
    assert events[0] == Task("the task", "dry-run", "ollama/absent")
    assert [each.type for each in events] == ["task", "error", "final"]
    assert (result.final.status, result.final.exit_code) == ("error", EXIT_FAILED)
    assert result.final.node_id is None and result.plan is None


async def test_the_answer_is_what_the_steps_said(asked: Asked) -> None:
    result = await asked([plan(step("1"), step("2")), say("One."), say("Two.")])
    assert (result.final.text, result.final.status, states(result)) == (
        "One.\n\nTwo.",
        "ok",
        [("1", "done"), ("2", "done")],
    )


async def test_what_goes_wrong_in_a_step_is_told_as_its_own(carry_out: Any) -> None:
    done = await carry_out([Turn("", fault=Fault.status_code(401))], step("7"), step("8"))
    [problem] = [each for each in done.events if isinstance(each, Error)]
    assert (problem.task_id, done.states) == ("7", ["failed", "not_run"])
    assert done.remark == str(problem.sentence)


async def test_a_step_is_asked_with_the_whole_task_and_its_place_in_the_plan(asked: Asked) -> None:
    steps = [step("1", "Look around."), step("2", "Write it.", files=["a.md", "b.md"]), step("3", "Say so.")]
    turns = [plan(*steps), say("I looked."), write("a.md", "a\n"), write("b.md", "b\n"), say("Written."), say("Said.")]
    result = await asked(turns)
    assert result.final.exit_code == EXIT_OK
    second = asked.requests[2]
    system, goal = (str(each["content"]) for each in second["messages"][:2])
    assert "# The task that the plan serves\n\nthe task\n" in system and goal.startswith("Write it.")
    assert "- [done] Step 1: I looked.\n- [now] Step 2\n- [not yet] Step 3" in system
    assert "Files of this step: a.md, b.md" in system
    assert {(each["options"]["temperature"], each["options"]["seed"]) for each in asked.requests[1:]} == {(0.0, SEED)}


async def test_a_step_that_reads_much_is_asked_in_the_room_of_its_model(carry_out: Any, root: Path) -> None:
    for number in range(8):
        (root / f"long{number}.py").write_text("".join(f"x{number}_{line} = {line}\n" for line in range(2_000)))
    reads = [hermes(Turn("", [Call("read_file", {"path": f"long{number}.py"})])) for number in range(8)]
    sizes: list[int] = []

    def model(request: Any) -> Turn:
        sizes.append(sum(len(str(each["content"])) for each in request.json["messages"]))
        return reads.pop(0) if reads else say("Read.")

    done = await carry_out(model, step("1"), settings={"context_tokens": 8_000})
    assert (done.code, len(sizes)) == (EXIT_OK, 9)
    assert max(sizes) < 8_000 * 4, sizes


async def test_a_task_is_a_node_with_its_prompt_and_its_answer(asked: Asked) -> None:
    result = await asked([plan(step("1")), write("a.py", "x = 1\n"), say("Written.")])
    node = Graph(str(asked.root / ".nebula/graph")).get_node(str(result.final.node_id))
    assert (node.prompt, node.response) == ("the task", "I write a.py.\n\nWritten.")
    assert [each.path for each in result.final.files_changed] == ["a.py"]


async def test_what_failed_can_be_resumed_and_what_succeeded_cannot(asked: Asked) -> None:
    result = await asked([plan(step("1"), step("2", files=["no"])), say("One."), say("Two.")])
    kept = find_plan(asked.derived, result.trace_id)
    assert (kept.task, dict(kept.done)) == ("the task", {"1": "One."})
    again = await asked(
        [write("no", "yes\n"), say("There.")], plan=kept.plan, done=kept.done, resumes=result.trace_id, allow=("no",),
        settings={"allow_ext": ()},
    )  # fmt: skip
    assert states(again)[0] == ("1", "done")
    assert not asked.can_resume(result)


async def test_a_dry_run_leaves_nothing_to_resume_and_nothing_to_look_at(asked: Asked) -> None:
    result = await asked([plan(step("1", files=["no"])), write("a.py", "x = 1\n"), say("Written.")], dry_run=True)
    assert asked.of(Task)[0].mode == "dry-run"
    assert (result.final.node_id, result.final.exit_code) == (None, EXIT_FAILED)
    assert "+x = 1" in str(result.final.forecast) and not (asked.root / "a.py").exists()
    assert not asked.can_resume(result)


async def test_a_dry_run_is_not_rolled_back(asked: Asked) -> None:
    result = await asked([plan(step("1", files=["no"])), say("No.")], dry_run=True, rollback=True)
    assert result.final.rolled_back is None
    good = await asked([plan(step("1")), say("Yes.")], rollback=True)
    assert (good.final.rolled_back, good.final.exit_code) == (None, EXIT_OK)


async def test_an_answer_in_a_schema_is_asked_for_last_and_fails_the_task_where_there_is_none(asked: Asked) -> None:
    wanted = AnswerSchema({"type": "object", "properties": {"files": {"type": "integer"}}, "required": ["files"]})
    result = await asked([plan(step("1")), say("Done."), say('{"files": 3}')], answer_schema=wanted)
    assert (result.final.exit_code, result.final.text) == (EXIT_OK, '{"files": 3}')
    assert [each.task_id for each in asked.of(Message)] == ["1", "answer"]
    again = await asked([plan(step("1")), say("Done."), say("Three files."), say('{"files": 3}')], answer_schema=wanted)
    assert (again.final.exit_code, again.final.text) == (EXIT_OK, '{"files": 3}'), "it is told, and asked once more"
    no_answer = [plan(step("1")), say("Done."), *[say("Three files.")] * 9]
    result = await asked(no_answer, answer_schema=wanted)
    assert (result.final.exit_code, result.final.status, states(result)) == (EXIT_FORMAT, "error", [("1", "done")])
    result = await asked([plan(step("1")), say("Done."), Turn("", fault=Fault.status_code(401))], answer_schema=wanted)
    assert (result.final.exit_code, states(result)) == (
        EXIT_FAILED,
        [("1", "done")],
    ) and "refused the request" in str(result.final.remark)
    result = await asked([plan(step("1", files=["no"])), say("Done."), say('{"files": 3}')], answer_schema=wanted)
    assert result.final.exit_code == EXIT_FAILED and len(asked.requests) == 2, "a task that failed is not asked"
