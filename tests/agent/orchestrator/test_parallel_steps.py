"""Steps that do not depend on each other, side by side: that they really are, and what a failure or Ctrl-C means then."""

from __future__ import annotations

import asyncio
import re
import threading
from dataclasses import replace

import pytest

from scripted_model import Fault, RecordedRequest
from scripted_model.planned import Turn, say, step, write

PATIENCE_S = 20.0


def goal(request: RecordedRequest) -> str:
    """The step that a request is about: the last goal that the user said in it."""
    said = [str(each["content"]) for each in request.json["messages"] if each["role"] == "user"]
    return next(found[1] for each in reversed(said) if (found := re.fullmatch(r"Reach (\w+)\.", each)))


class Meeting:
    """A model that answers nobody until so many steps have asked it; each then writes a file of its own."""

    def __init__(self, *together: str) -> None:
        self.together = set(together)
        self.asked: list[str] = []
        self.told: list[str] = []
        self.all_there = threading.Event()
        self.gave_up = threading.Event()
        self._timer = threading.Timer(PATIENCE_S, self._give_up)
        self._timer.daemon = True
        self._timer.start()

    def _give_up(self) -> None:
        if not self.all_there.is_set():
            self.gave_up.set()
            self.all_there.set()

    def __call__(self, request: RecordedRequest) -> Turn:
        name = goal(request)
        if (
            request.json["messages"][-1]["role"] != "user"
            or str(request.json["messages"][-1]["content"]) != f"Reach {name}."
        ):
            return say(f"{name} is done.")
        self.told.append(str(request.json["messages"][0]["content"]))
        self.asked.append(name)
        if self.together <= set(self.asked):
            self.all_there.set()
        return replace(write(f"{name}.py", f"{name}\n"), until=self.all_there if name in self.together else None)


async def test_steps_that_do_not_depend_on_each_other_are_asked_at_the_same_time(carry_out, root):
    model = Meeting("a", "b")
    steps = (step("a"), step("b"), step("c", depends_on=["a", "b"]))
    done = await carry_out(model, *steps, parallel=2)
    assert not model.gave_up.is_set() and (done.code, done.states) == (0, ["done"] * 3)
    assert sorted(model.asked[:2]) == ["a", "b"] and model.asked[2] == "c"
    beside = "- [done by another at this moment] Step "
    assert [told.count(beside) for told in model.told] == [1, 1, 0], "each of the two hears of the other"
    assert sorted(each.name for each in root.glob("*.py")) == ["a.py", "b.py", "c.py"]
    written = {each.task_id: each.path for each in done.events if each.type == "diff"}
    assert written == {"a": "a.py", "b": "b.py", "c": "c.py"}
    assert [each.id for each in done.final.steps] == ["a", "b", "c"]


async def test_without_the_option_one_comes_after_the_other(carry_out):
    at_work: list[int] = []

    def answer(request: RecordedRequest) -> Turn:
        return say("Done.")

    done = await carry_out(answer, step("a"), step("b"), step("c"))
    for each in done.events:
        if each.type == "progress":
            at_work.append(1 if each.state == "started" else -1)
    assert at_work == [1, -1] * 3


async def test_no_more_at_a_time_than_asked_for(carry_out):
    done = await carry_out(lambda _: say("Done."), *(step(name) for name in "abcde"), parallel=2)
    at_work, most = 0, 0
    for each in done.events:
        if each.type == "progress":
            at_work += 1 if each.state == "started" else -1
            most = max(most, at_work)
    assert (most, done.states) == (2, ["done"] * 5)


async def test_one_that_fails_lets_those_at_work_end_and_no_other_begin(carry_out, root):
    failed = threading.Event()
    model = Meeting("a", "b")

    def answer(request: RecordedRequest) -> Turn | Fault:
        name = goal(request)
        if name == "a":
            turn = model(request)
            return replace(turn, until=failed)  # `b` has long failed when `a` writes
        model(request)
        threading.Timer(0.5, failed.set).start()
        return Fault.status_code(400, body='{"error": "no"}')

    done = await carry_out(answer, step("a"), step("b"), step("c"), parallel=2)
    assert (done.code, done.states) == (1, ["done", "failed", "not_run"])
    assert (root / "a.py").exists() and not (root / "c.py").exists()


async def test_a_failure_that_may_be_skipped_does_not_hide_one_that_may_not(carry_out):
    model, failed = Meeting("a", "b"), threading.Event()

    def answer(request: RecordedRequest) -> Turn:
        turn = model(request)
        if goal(request) == "a":
            return replace(write("../evil.py", "x\n"), until=turn.until) if turn.until else say("Refused.")
        threading.Timer(0.5, failed.set).start()
        return replace(say("Nothing."), until=failed)

    steps = (step("a"), step("b", files=["no"], on_error="skip"), step("c"))
    done = await carry_out(answer, *steps, parallel=2)
    assert (done.code, done.states) == (2, ["failed", "failed", "not_run"])


async def test_what_failed_is_rolled_back_with_what_went_well_beside_it(carry_out, root):
    model = Meeting("a", "b")

    def answer(request: RecordedRequest) -> Turn:
        turn = model(request)
        return replace(say("Nothing."), until=turn.until) if goal(request) == "b" else turn

    done = await carry_out(answer, step("a"), step("b", files=["no"]), parallel=2, rollback=True)
    assert (done.code, done.final.rolled_back) == (1, True) and list(root.glob("*.py")) == []


async def test_checks_suffer_nobody_beside_them(carry_out):
    steps = (step("a"), step("t", tool="run.test", parameters={}), step("b"))
    settings = {"checks": ["echo test"], "trust": True}
    done = await carry_out(lambda _: say("Done."), *steps, parallel=3, settings=settings)
    states = [(each.task_id, each.state) for each in done.events if each.type == "progress"]
    begun = states.index(("t", "started"))
    assert ("a", "done") in states[:begun] and states[begun + 1][0] == "t", states
    assert done.code == 0


@pytest.mark.parametrize("parallel", [1, 2])
async def test_interrupted_all_at_work_end(carry_out, parallel):
    model = Meeting("a", "b", "never")
    running = asyncio.create_task(carry_out(model, step("a"), step("b"), step("c"), parallel=parallel))
    while len(model.asked) < parallel:  # noqa: ASYNC110 - another thread appends to it
        await asyncio.sleep(0.01)
    running.cancel()
    done = await running
    assert (done.code, done.states) == (130, ["failed"] * parallel + ["not_run"] * (3 - parallel))
