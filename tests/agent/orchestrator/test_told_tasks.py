"""What a task tells from its first event to its last, and what it leaves behind for the next one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nebula.agent.orchestrator.limits import TaskLimits
from nebula.agent.orchestrator.models import TaskModels
from nebula.agent.orchestrator.run import run_task
from nebula.agent.orchestrator.task import TaskRequest, TaskResult
from nebula.agent.plan.kept_plans import NoSuchPlan, find_plan
from nebula.agent.plan.plan import read_plan
from nebula.agent.plan.planner import SEED
from nebula.config import load_settings
from nebula.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK
from nebula.events import Error, Event, Notice, Plan, StepProgress, Task
from nebula.files.home import derived_folder
from nebula.graph.graph import Graph
from nebula.language import Sentence
from nebula.llm.choose import ChosenModel
from nebula.testing import ScriptedConnector
from scripted_model import Fault, ScriptedModel, refused_url
from scripted_model.planned import HERMES, Call, Turn, hermes, plan, say, step, write

AGAIN = "A step failed for good; the planner is asked once more."


class Asked:
    """A task of this process with a planner: its events, its result, and all that its model was asked."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root, self.home = root, home
        self.events: list[Event] = []
        self.requests: list[Any] = []

    async def __call__(self, turns: Any, *, settings: dict[str, Any] = {}, **request: Any) -> TaskResult:  # noqa: B006
        with ScriptedModel(list(turns), **HERMES) as server:
            environ = {"NEBULA_HOME": str(self.home), **server.env("ollama")}
            loaded = load_settings(str(self.root), environ, overrides=settings)
            result = await run_task(loaded, TaskRequest("the task", **request), [self._hear])
            self.requests = [each.json for each in server.turns]
        return result

    def _hear(self, stamped: Any) -> None:
        self.events.append(stamped.event)

    @property
    def derived(self) -> str:
        return derived_folder(str(self.root), str(self.home))

    def can_resume(self, result: TaskResult) -> bool:
        try:
            return find_plan(self.derived, result.trace_id) is not None
        except NoSuchPlan:
            return False

    def of(self, kind: type[Event]) -> list[Any]:
        return [each for each in self.events if isinstance(each, kind)]

    def notices(self) -> list[str]:
        return [str(each.sentence) for each in self.of(Notice)]


@pytest.fixture
def asked(root: Path, tmp_path: Path) -> Asked:
    return Asked(root, tmp_path / "home")


def states(result: TaskResult) -> list[tuple[str, str]]:
    return [(each.id, each.state) for each in result.final.steps or ()]


# --- the stream


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


# --- what the model is asked


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


# --- another plan


async def test_another_plan_goes_on_where_the_first_one_failed(asked: Asked) -> None:
    """The planner hears what happened; what was done counts, and what never ran is no part of it."""
    first = plan(step("1"), step("2", files=["no.md"]), step("3"))
    second = plan(step("1"), step("2", depends_on=["1"]))
    turns = [first, say("One."), say("I wrote it."), second, write("a.md", "a\n"), say("A."), say("B.")]
    result = await asked(turns, replan=True)
    assert states(result) == [("1", "done"), ("2", "failed"), ("again-1", "done"), ("again-2", "done")]
    assert (result.final.exit_code, result.final.status, result.final.remark) == (EXIT_OK, "ok", None)
    assert AGAIN in asked.notices()
    told = str(asked.requests[3]["messages"])
    assert "- 1 Step 1: done\\n- 2 Step 2: failed: Files that the plan declares are not there: no.md\\n" in told
    assert "- 3 Step 3: not run" in told and "Plan what is left to do" in told
    assert [each["id"] for each in asked.of(Plan)[-1].plan["tasks"]] == ["again-1", "again-2"]
    assert result.plan is not None and [each.id for each in result.plan.steps] == ["again-1", "again-2"]
    assert not asked.can_resume(result)


async def test_where_there_is_no_other_plan_the_failure_stays(asked: Asked) -> None:
    first = plan(step("1", files=["no.md"]), step("2"))
    result = await asked([first, say("I wrote it."), *[Turn("no plan at all")] * 9], replan=True)
    assert (result.final.exit_code, states(result)) == (EXIT_FAILED, [("1", "failed"), ("2", "not_run")])
    assert str(result.final.remark) == "Files that the plan declares are not there: no.md"
    [why] = [each for each in asked.notices() if each.startswith("There is no other plan: ")]
    assert len(why) > len("There is no other plan: ")


async def test_another_plan_that_fails_as_well_is_the_end(asked: Asked) -> None:
    bad = plan(step("1", files=["no.md"]))
    result = await asked([bad, say("1"), bad, say("2"), bad, say("3")], replan=True)
    assert states(result) == [("1", "failed"), ("again-1", "failed")]
    assert len(asked.requests) == 4 and asked.notices().count(AGAIN) == 1


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"replan": True, "plan": read_plan({"tasks": [step("1", files=["no.md"])]})},
        {"replan": True, "limits": TaskLimits(max_rounds=2)},
    ],
    ids=["not wanted", "a plan that was given", "at a limit"],
)
async def test_the_planner_is_not_asked_again(asked: Asked, request_: dict[str, Any]) -> None:
    planned = [] if "plan" in request_ else [plan(step("1", files=["no.md"]))]
    turns = [*planned, write("a.py", "a\n"), say("I wrote it."), plan(step("1")), say("Two.")]
    result = await asked(turns, **request_)
    assert result.final.exit_code == EXIT_FAILED and AGAIN not in asked.notices()


async def test_a_step_that_is_skipped_asks_for_no_other_plan(asked: Asked) -> None:
    result = await asked([plan(step("1", files=["no"], on_error="skip")), say("1")], replan=True)
    assert result.final.exit_code == EXIT_FAILED and AGAIN not in asked.notices()


# --- plans alone


async def test_plans_that_cannot_be_used_are_told_and_agree_with_none(asked: Asked) -> None:
    good = plan(step("1"))
    result = await asked([good, *[Turn("nothing")] * 3, good], only_plan=3)
    assert (result.final.exit_code, len(result.plans), result.plan) == (EXIT_OK, 2, result.plans[0])
    assert result.reproducibility == pytest.approx(2 / 3)
    assert asked.of(Task)[0].mode == "plan" and result.final.node_id is None
    [problem] = asked.of(Error)
    assert problem.kind == "plan" and "plan" in str(problem.sentence)
    assert not (asked.root / ".nebula/graph/nodes").exists() or not list(
        (asked.root / ".nebula/graph/nodes").rglob("*.xml")
    )


async def test_without_one_plan_that_can_be_used_it_fails(asked: Asked) -> None:
    result = await asked([Turn("nothing")] * 9, only_plan=2)
    assert str(result.final.remark) == "None of the plans can be used." and result.final.exit_code != EXIT_OK
    assert (result.plans, result.reproducibility) == ((), 0.0)


async def test_without_its_code_index_a_plan_is_made_all_the_same(asked: Asked) -> None:
    (asked.root / "a.py").write_text("x = 1\n")
    elsewhere = {"rag_url": refused_url()}
    result = await asked([plan(step("1")), say("Done.")], settings=elsewhere)
    [told] = [each for each in asked.notices() if each.startswith("The plan is made without the code index: ")]
    assert elsewhere["rag_url"].partition("//")[2] in told and result.final.exit_code == EXIT_OK


# --- what it leaves


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


# --- checks that a plan names


async def test_a_kind_of_check_that_is_not_configured_is_said(carry_out: Any) -> None:
    for settings in ({}, {"checks": ("ruff() { true; }; ruff",), "trust": True}):
        done = await carry_out([], step("1", tool="run.test"), step("2"), settings=settings)
        assert (done.code, done.states) == (EXIT_FAILED, ["failed", "not_run"])
        assert done.remark == "No check of the kind 'test' is configured."


async def test_the_checks_that_fail_are_named(carry_out: Any) -> None:
    checks = ("pytest() { false; }; pytest", "unittest() { false; }; unittest")
    settings = {"checks": checks, "trust": True, "repair_rounds": 0}
    done = await carry_out([], step("1", tool="run.test"), settings=settings)
    names = {each.name for each in done.final.checks}
    assert done.code == EXIT_FAILED and done.remark == f"{', '.join(sorted(names))} failed." and len(names) == 2


async def test_checks_that_still_fail_fail_the_task(carry_out: Any) -> None:
    settings = {"checks": ("pytest() { false; }; pytest",), "trust": True, "repair_rounds": 0}
    done = await carry_out([write("a.py", "x\n"), say("Done.")], step("1"), settings=settings)
    assert (done.code, done.states, done.remark) == (EXIT_FAILED, ["done"], "The checks still fail.")


async def test_a_check_that_a_plan_names_is_repaired_by_the_model(carry_out: Any) -> None:
    settings = {"checks": ("pytest() { grep good a.py; }; pytest",), "trust": True, "repair_rounds": 2}
    done = await carry_out([write("a.py", "good\n"), say("Mended.")], step("1", tool="run.test"), settings=settings)
    assert (done.code, done.states, done.final.verified, done.final.repairs) == (EXIT_OK, ["done"], True, 1)
    assert "(exit code 2)" in done.prompts[0] and "grep" in done.prompts[0]
    assert {each.task_id for each in done.events if each.type == "message"} == {"repair-1"}


async def test_a_repair_that_fails_is_not_gone_on_with(carry_out: Any) -> None:
    settings = {"checks": ("pytest() { date +%N; false; }; pytest",), "trust": True, "repair_rounds": 3}
    done = await carry_out([Turn("", fault=Fault.status_code(400))], step("1", tool="run.test"), settings=settings)
    assert (done.code, done.states, done.final.repairs) == (EXIT_FAILED, ["failed"], 1)


# --- tools that a plan names


async def test_what_a_tool_answers_is_why_its_step_failed(carry_out: Any, root: Path) -> None:
    for parameters in ({"path": "a.py", "content": 5}, {"path": "a.py"}):
        done = await carry_out([], step("1", tool="write_file", parameters=parameters))
        assert (done.code, done.states) == (EXIT_FAILED, ["failed"])
        assert done.remark.startswith("write_file answered: ") and "content" in done.remark
    done = await carry_out([], step("1", tool="fly", parameters={"to": "the moon"}))
    assert (done.code, done.states) == (EXIT_FAILED, ["failed"]) and "fly" in done.remark
    assert not (root / "a.py").exists()


async def test_a_planned_call_is_told_as_a_call_of_its_step(carry_out: Any) -> None:
    planned = {"path": "a.py", "content": "x = 1\n"}
    done = await carry_out([], step("7", tool="write_file", parameters=planned))
    calls = [each for each in done.events if each.type in ("step", "diff", "tool_result")]
    assert [(each.type, each.task_id) for each in calls] == [("step", "7"), ("diff", "7"), ("tool_result", "7")]


async def test_a_planned_command_that_is_interrupted_ends_the_task(root: Path, tmp_path: Path) -> None:
    begun = asyncio.Event()
    planned = step("1", tool="runCommand", parameters={"command": "sleep 60"}, on_error="skip"), step("2")
    wanted = TaskRequest("x", plan=read_plan({"tasks": list(planned)}))
    loaded = load_settings(str(root), {"NEBULA_HOME": str(tmp_path / "home")})
    models = TaskModels(*[ChosenModel(ScriptedConnector([]), "m")] * 2)
    hear = lambda stamped: begun.set() if stamped.event.type == "step" else None  # noqa: E731
    task = asyncio.create_task(run_task(loaded, wanted, [hear], models))
    await begun.wait()
    task.cancel()
    result = await task
    assert (result.final.exit_code, states(result)) == (EXIT_INTERRUPTED, [("1", "failed"), ("2", "not_run")])


# --- ended from outside


async def test_a_task_that_is_interrupted_in_a_repair_is_not_gone_on_with(root: Path, tmp_path: Path) -> None:
    checks = {"checks": ("pytest() { date +%N; false; }; pytest",), "trust": True, "repair_rounds": 3}
    with ScriptedModel([Turn("", fault=Fault.stall(0))], **HERMES) as server:
        environ = {"NEBULA_HOME": str(tmp_path / "home"), **server.env("ollama")}
        planned = read_plan({"tasks": [step("1", tool="run.test", on_error="skip"), step("2")]})
        wanted = TaskRequest("x", plan=planned)
        task = asyncio.create_task(run_task(load_settings(str(root), environ, overrides=checks), wanted))
        await asyncio.to_thread(server.wait_until, lambda: len(server.turns) == 1)
        task.cancel()
        result = await task
        assert len(server.turns) == 1
    assert (result.final.exit_code, states(result)) == (EXIT_INTERRUPTED, [("1", "failed"), ("2", "not_run")])


async def test_a_task_that_is_interrupted_ends_its_steps_as_such(asked: Asked, root: Path, tmp_path: Path) -> None:
    with ScriptedModel(
        [plan(step("1", on_error="retry"), step("2")), Turn("", fault=Fault.stall(0))], **HERMES
    ) as server:
        loaded = load_settings(str(root), {"NEBULA_HOME": str(tmp_path / "home"), **server.env("ollama")})
        task = asyncio.create_task(run_task(loaded, TaskRequest("x", replan=True, rollback=True), [asked._hear]))
        await asyncio.to_thread(server.wait_until, lambda: len(server.turns) == 2)
        task.cancel()
        result = await task
        assert len(server.turns) == 2
    assert (result.final.exit_code, result.final.status) == (EXIT_INTERRUPTED, "interrupted")
    assert result.final.rolled_back is True and AGAIN not in asked.notices()


async def test_models_that_are_handed_in_stay_open(root: Path, tmp_path: Path) -> None:
    class Counted(ScriptedConnector):
        closed = 0

        async def aclose(self) -> None:
            self.closed += 1

    models = Counted([plan(step("1")).text, "Done.", plan(step("1")).text, "Done."])
    chosen = TaskModels(ChosenModel(models, "m"), ChosenModel(models, "m"))
    loaded = load_settings(str(root), {"NEBULA_HOME": str(tmp_path / "home")})
    for _ in range(2):
        assert (await run_task(loaded, TaskRequest("x"), (), chosen)).final.exit_code == EXIT_OK
    assert models.closed == 0


async def test_a_command_of_a_task_gets_its_variables(carry_out: Any, root: Path) -> None:
    command = hermes(Turn("I run it.", [Call("run_command", {"command": 'printf %s "$COLOUR" > colour.md'})]))
    done = await carry_out([command, say("Done.")], step("1"), env=(("COLOUR", "blue"),))
    assert (done.code, (root / "colour.md").read_text()) == (EXIT_OK, "blue")
