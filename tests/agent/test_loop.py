"""The loop with a recorded model: what is told, in which order, and how a turn ends whatever happens."""

import asyncio
import threading

import pytest

from nebula.agent.loop import Turn, end_before_session, run_rounds, run_tool
from nebula.agent.turn_result import TurnLimit
from nebula.events import CheckRun, Diff, EventStream, Task, TurnNotKept
from nebula.llm.contract import ModelReply
from nebula.llm.errors import AuthError, FormatError
from nebula.llm.replay import ReplayModel
from nebula.messages import AssistantMessage, ToolSpec, UserMessage
from nebula.tools.contract import Outcome, ToolFailure, to_the_end
from nebula.tools.toolset import ToolSet
from plain_turn import run_turn
from rows import each_row


class Tool:
    """A tool that does what it was told when it was made."""

    def __init__(self, name="look", act=None):
        self.spec = ToolSpec(name, "looks", {"type": "object", "properties": {}})
        self._act = act or (lambda: Outcome.ok({"seen": True}))

    async def run(self, args, call):
        result = self._act()
        return await result if asyncio.iscoroutine(result) else result


class Failing:
    provider = "failing"

    def __init__(self, error):
        self._error = error

    async def stream(self, request):
        raise self._error
        yield


class Saying:
    """A model whose replies are given whole."""

    provider = "saying"

    def __init__(self, *replies):
        self._replies = iter(replies)

    async def stream(self, request):
        yield next(self._replies)


def call(name="look", text=""):
    return {"text": text, "tool_calls": [{"name": name, "args": {}}]}


def turn_of(replies, *tools, recorders=(), **options):
    told = []
    model = ReplayModel(replies) if isinstance(replies, list) else replies
    stream = EventStream("s", recorders=tuple(recorders), audience=(told.append,))
    turn = Turn(stream, model, "m", "system", [], ToolSet.of(tools or [Tool()]), **options)
    return turn, told


def run(turn, prompt="go"):
    return asyncio.run(run_turn(turn, prompt))


def types(told):
    return [stamped.event.type for stamped in told]


def test_the_order_of_a_turn():
    turn, told = turn_of([call(text="Looking."), {"text": "Done."}])
    final = run(turn)
    assert types(told) == ["task", "message", "step", "tool_result", "message", "final"]
    assert (final.status, final.text, final.exit_code) == ("ok", "Looking.\n\nDone.", 0)
    assert [type(m).__name__ for m in turn.history] == ["UserMessage", "ToolUse", "UserMessage", "Response"]


def test_an_error_of_the_model_ends_the_turn_with_its_sentence():
    turn, told = turn_of(Failing(AuthError("The key is wrong. Set OPENAI_API_KEY.")))
    final = run(turn)
    assert types(told) == ["task", "error", "final"]
    assert (final.status, final.exit_code, str(final.remark)) == ("error", 1, "The key is wrong. Set OPENAI_API_KEY.")


def test_a_model_that_cannot_speak_the_dialect_is_exit_code_3():
    assert run(turn_of(Failing(FormatError("no JSON")))[0]).exit_code == 3


def test_too_many_rounds():
    turn, told = turn_of([call()] * 5, max_rounds=3)
    final = run(turn)
    assert (final.status, final.exit_code) == ("limit", 1)
    assert types(told).count("message") == 3


def test_a_refused_write_that_was_not_done_is_exit_code_2():
    def refuse():
        raise ToolFailure("no", policy=True)

    turn, _ = turn_of([call("writeFile"), {"text": "Could not."}], Tool("writeFile", refuse))
    final = run(turn)
    assert (final.status, final.exit_code) == ("refused", 2)


def test_cancelling_while_a_tool_runs_keeps_what_was_done():
    async def scenario():
        async def wait():
            started.set()
            await asyncio.sleep(60)

        started = asyncio.Event()
        turn, told = turn_of([call(text="Looking."), call("slow")], Tool(), Tool("slow", wait))
        task = asyncio.create_task(run_turn(turn))
        await started.wait()
        task.cancel()
        return await task, told, turn

    final, told, turn = asyncio.run(scenario())
    assert (final.status, final.exit_code, final.text) == ("interrupted", 130, "Looking.")
    assert types(told)[-1] == "final"
    assert len(turn.history) == 4  # prompt, first round with its result, the call that was not answered


def test_a_change_that_is_being_made_when_the_turn_is_cancelled_is_told_of():
    change = Diff("a.txt", "+a", 1, 0, "", "sha256:1")

    async def scenario():
        def write():
            began.set()
            finish.wait()
            return Outcome.ok({"success": True}, changes=(change,))

        began, finish = threading.Event(), threading.Event()
        turn, told = turn_of([call("writeFile"), {"text": "Done."}], Tool("writeFile", lambda: to_the_end(write)))
        task = asyncio.create_task(run_turn(turn))
        await asyncio.to_thread(began.wait)
        task.cancel()
        await asyncio.sleep(0)
        finish.set()
        return await task, told, turn

    final, told, turn = asyncio.run(scenario())
    assert final.status == "interrupted"
    assert types(told)[-3:] == ["diff", "tool_result", "final"]
    assert len(turn.history) == 3  # the prompt, the call, and what came of it


def test_what_cannot_be_recorded_does_not_go_on():
    def full(stamped):
        if stamped.event.type == "message":
            raise OSError(28, "No space left on device")

    turn, told = turn_of([{"text": "unheard"}], recorders=[full])
    final = run(turn)
    assert types(told) == ["task", "error", "final"]
    assert "No space left" in str(final.remark)
    assert final.status == "error"


def test_a_turn_that_cannot_become_a_node_still_has_its_answer():
    def keep(stamped):
        if stamped.event.type == "final" and stamped.event.node_id:
            raise TurnNotKept("the graph is read-only")

    written = []
    turn, told = turn_of([{"text": "Answer."}], recorders=[keep, written.append], node_id="n1")
    final = run(turn)
    assert types(told) == types(written) == ["task", "message", "error", "final"]
    assert (final.text, final.status, final.node_id) == ("Answer.", "ok", None)
    assert [stamped.seq for stamped in written] == [1, 2, 3, 4]
    assert told[-1].event == final


def test_a_bug_in_a_tool_is_told_to_the_model_and_is_in_the_trace():
    def bug():
        raise ZeroDivisionError("oops")

    turn, told = turn_of([call(), {"text": "So be it."}], Tool(act=bug))
    final = run(turn)
    assert types(told)[-4:] == ["error", "tool_result", "message", "final"]
    assert "ZeroDivisionError: oops" in told[-3].event.result.as_text()
    assert "Traceback" in told[-4].event.detail
    assert (final.status, final.text) == ("ok", "So be it.")


@pytest.mark.parametrize("count", [1, 3])
def test_every_call_of_a_message_is_answered_in_order(count):
    reply = {"text": "", "tool_calls": [{"name": "look", "args": {}, "id": f"c{n}"} for n in range(count)]}
    turn, told = turn_of([reply, {"text": "ok"}])
    run(turn)
    answered = [s.event.result.tool_use_id for s in told if s.event.type == "tool_result"]
    assert answered == [f"c{n}" for n in range(count)]


@each_row(
    ("text", "how", "exit_code", "words"),
    [
        ("", {}, 1, "empty"),
        ("", {"stop": "filter"}, 1, "held the answer back"),
        ("", {"stop": "length"}, 1, "output limit"),
        ("", {"stop": "missing"}, 1, "without an answer"),
        (" \n", {"rung": "object"}, 3, "empty"),
    ],
)
def test_a_turn_without_a_word_of_answer_is_an_error_and_no_node(text, how, exit_code, words):
    reply = ModelReply(AssistantMessage.new_response(None, text), **how)
    turn, told = turn_of(Saying(reply), node_id="n1")
    final = run(turn)
    assert types(told) == ["task", "message", "final"]
    assert (final.status, final.exit_code, final.node_id) == ("error", exit_code, None)
    assert words in str(final.remark)


def test_a_turn_that_spoke_only_before_its_tools_has_an_answer():
    turn, _ = turn_of([call(text="I look."), {"text": ""}], node_id="n1")
    final = run(turn)
    assert (final.status, final.text, final.node_id) == ("ok", "I look.", "n1")


def checked():
    return Outcome.ok({"passed": True}, check=CheckRun("pytest", True))


def changed():
    return Outcome.ok({"success": True}, changes=(Diff("a.py", "+x", 1, 0, "", "sha"),))


def test_a_check_that_ran_before_the_last_change_verifies_nothing():
    tools = Tool("check", checked), Tool("write", changed)
    turn, _ = turn_of([call("write"), call("check"), {"text": "Done."}], *tools)
    assert [check.name for check in run(turn).checks] == ["pytest"]
    turn, _ = turn_of([call("check"), call("write"), {"text": "Done."}], *tools)
    assert run(turn).checks == ()


def test_a_turn_without_a_word_is_no_node_even_where_it_changed_a_file():
    turn, _ = turn_of([call("write"), {"text": ""}], Tool("write", changed), node_id="n1")
    final = run(turn)
    assert (final.status, final.node_id, [each.path for each in final.files_changed]) == ("error", None, ["a.py"])


def test_rounds_and_calls_return_what_happened():
    turn, _ = turn_of([call(text="Looking."), {"text": "Done."}])
    turn.say(UserMessage.new_prompt("go"))
    result = asyncio.run(run_rounds(turn))
    assert result.answer == "Looking.\n\nDone."
    assert [each.results[0].tool_use_id for each in result.rounds] == ["call_1"]
    use = result.rounds[0].message.tool_uses[0]
    assert asyncio.run(run_tool(turn, use)) == Outcome.ok({"seen": True})


def test_the_limit_of_model_calls_is_one_of_the_whole_turn():
    turn, _ = turn_of([call(), {"text": "One."}, call(), {"text": "Two."}], max_rounds=3)
    asyncio.run(run_rounds(turn))
    with pytest.raises(TurnLimit):
        asyncio.run(run_rounds(turn))
    assert len(turn.result.messages) == 3


@pytest.mark.parametrize(
    ("problem", "status", "code"),
    [(asyncio.CancelledError(), "interrupted", 130), (AuthError("no key"), "error", 1), (ValueError("x"), "error", 1)],
)
def test_a_turn_that_never_got_a_session_has_its_beginning_and_its_end(problem, status, code):
    told = []
    final = end_before_session(EventStream("", audience=(told.append,)), Task("go", "agent", "m"), problem)
    assert types(told)[0] == "task" and types(told)[-1] == "final"
    assert (final.status, final.exit_code) == (status, code)
