from collections.abc import Container, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages.message_strategies import messages as any_message
from nebula.messages import (
    CANCELLED_TOOL_USE,
    EMPTY_PROMPT,
    MAX_HISTORY_MESSAGES,
    AssistantMessage,
    AssistantToolUse,
    CancelledToolUses,
    GrowingHistory,
    ImageBlock,
    Message,
    Prompt,
    Response,
    Text,
    ToolResultStatus,
    ToolUse,
    ToolUseResult,
    ToolUseResults,
    UserMessage,
    repair_history,
)

TOOLS = {"readFile", "writeFile"}


def says(text: str) -> UserMessage:
    return UserMessage.new_prompt(text)


def answers(text: str) -> Response:
    return AssistantMessage.new_response(None, text)


def wants(*ids: str, name: str = "readFile", orig_name: str = "readFile", text: str = "") -> ToolUse:
    uses = [AssistantToolUse(each, name, orig_name, {"seen": 1}, {"real": 1}) for each in ids]
    return AssistantMessage.new_tool_use(None, text, uses)


def result(tool_use_id: str, text: str = "ok") -> ToolUseResult:
    return ToolUseResult(tool_use_id, (Text(text),), ToolResultStatus.Success)


def cancelled(tool_use_id: str) -> ToolUseResult:
    return ToolUseResult(tool_use_id, (Text(CANCELLED_TOOL_USE),), ToolResultStatus.Error)


def gives(*ids: str) -> UserMessage:
    return UserMessage.new_tool_use_results([result(each) for each in ids])


def assert_valid(history: Sequence[Message], tools: Container[str] | None, limit: int) -> None:
    assert len(history) <= limit
    waiting: list[str] = []
    for position, message in enumerate(history):
        assert isinstance(message, AssistantMessage if position % 2 else UserMessage)
        if isinstance(message, UserMessage):
            assert [each.tool_use_id for each in message.tool_use_results or ()] == waiting
            assert waiting or (message.prompt and isinstance(message.content, Prompt))
            assert len(message.images or ()) <= 10
        else:
            uses = message.tool_uses or ()
            assert bool(uses) == isinstance(message, ToolUse)
            assert tools is None or all(use.name in tools or use.name == "dummy" for use in uses)
            waiting = [use.id for use in uses]
    if history and isinstance(history[-1], AssistantMessage):
        assert not waiting


def test_a_good_history_is_left_as_it_is() -> None:
    good = [says("a"), wants("1", "2"), gives("1", "2"), wants("3"), gives("3"), answers("done"), says("b")]
    repaired = repair_history(good, TOOLS)
    assert all(after is before for after, before in zip(repaired, good, strict=True))
    assert repair_history([]) == ()


def test_missing_results_become_cancelled() -> None:
    partly = repair_history([says("a"), wants("1", "2", "3"), gives("2")])
    assert partly[2].content == ToolUseResults([cancelled("1"), result("2"), cancelled("3")])


def test_prompt_instead_of_results() -> None:
    repaired = repair_history([says("a"), wants("1"), replace(says("stop"), additional_context="ctx")])
    assert repaired[2].content == CancelledToolUses("stop", [cancelled("1")])
    assert isinstance(repaired[2], UserMessage)
    assert repaired[2].additional_context == "ctx"


def test_tool_use_without_a_next_message() -> None:
    assert repair_history([says("a"), wants("1")])[2].content == CancelledToolUses(None, [cancelled("1")])
    between = repair_history([says("a"), wants("1"), answers("b")])
    assert [type(each).__name__ for each in between] == ["UserMessage", "ToolUse", "UserMessage", "Response"]
    assert between[2].content == CancelledToolUses(None, [cancelled("1")])


def test_results_come_in_the_order_of_their_tool_uses() -> None:
    assert repair_history([says("a"), wants("1", "2"), gives("2", "1")])[2].content == ToolUseResults(
        [result("1"), result("2")]
    )


def test_results_without_their_tool_use_become_a_prompt() -> None:
    assert repair_history([gives("1")])[0].content == Prompt("ok")
    assert repair_history([says("a"), answers("b"), gives("1", "2")])[2].content == Prompt("ok ok")
    stray = repair_history([says("a"), wants("1"), gives("1", "9")])
    assert stray[2].content == CancelledToolUses("ok", [result("1")])
    twice = repair_history([says("a"), wants("1"), gives("1", "1")])
    assert twice[2].content == CancelledToolUses("ok", [result("1")])
    asking = UserMessage.new_cancelled_tool_uses("why?", ["9"])
    told = repair_history([says("a"), wants("1"), asking])
    assert told[2].content == CancelledToolUses(f"why? {CANCELLED_TOOL_USE}", [cancelled("1")])


def test_one_id_used_twice_is_answered_twice() -> None:
    assert repair_history([says("a"), wants("1", "1"), gives("1")])[2].content == ToolUseResults(
        [result("1"), cancelled("1")]
    )


def test_user_messages_in_a_row_are_joined() -> None:
    image = ImageBlock("png", b"x")
    first = replace(says("a"), images=(image,) * 7, additional_context="one")
    second = replace(says("b"), images=(image,) * 7)
    (joined,) = repair_history([first, second])
    assert isinstance(joined, UserMessage)
    assert joined.content == Prompt("a\n\nb")
    assert joined.additional_context == "one"
    assert len(joined.images or ()) == 10


def test_results_and_prompt_in_a_row_are_joined() -> None:
    together = repair_history([says("a"), wants("1", "2"), gives("1"), gives("2"), says("go on")])
    assert together[2].content == CancelledToolUses("go on", [result("1"), result("2")])
    assert len(together) == 3


def test_answers_in_a_row_are_joined() -> None:
    repaired = repair_history([says("a"), answers("x"), answers("y"), wants("1", text="z"), gives("1")])
    assert repaired[1].content == "x\n\ny\n\nz"
    assert len(repaired) == 3


def test_history_starts_with_a_user_message() -> None:
    repaired = repair_history([answers("hello"), says("a")])
    assert repaired[0].content == Prompt(EMPTY_PROMPT)
    assert repaired[1:] == (answers("hello"), says("a"))


def test_empty_prompt_is_said_in_words() -> None:
    assert repair_history([says(" \n")])[0].content == Prompt("Empty prompt")


def test_tool_use_without_tools_is_a_response() -> None:
    assert repair_history([says("a"), ToolUse("m", "b", ())])[1] == Response("m", "b")


@pytest.mark.parametrize(
    ("name", "orig_name", "expected", "args"),
    [
        ("readFile", "gone", "readFile", {"seen": 1}),
        ("read_file", "readFile", "readFile", {"real": 1}),
        ("gone", "gone_too", "dummy", {"seen": 1}),
    ],
)
def test_tools_that_no_longer_exist(name: str, orig_name: str, expected: str, args: object) -> None:
    given_history = [says("a"), wants("1", name=name, orig_name=orig_name), gives("1")]
    message = repair_history(given_history, TOOLS)[1]
    assert isinstance(message, ToolUse)
    (use,) = message.tool_uses
    assert (use.name, use.args, use.orig_name) == (expected, args, orig_name)
    assert repair_history(given_history) == tuple(given_history)


def test_a_placeholder_turns_back_when_its_tool_returns() -> None:
    lost = repair_history([says("a"), wants("1", name="x", orig_name="x"), gives("1")], TOOLS)
    found = repair_history(lost, {"x"})[1]
    assert isinstance(found, ToolUse)
    assert found.tool_uses[0].name == "x"


def test_oldest_turns_go_first_and_whole() -> None:
    turns: list[Message] = []
    for number in range(10):
        turns += [says(str(number)), wants("1"), gives("1"), answers("done")]
    kept = repair_history([*turns, says("newest")], limit=10)
    assert kept[0].content == Prompt("8")
    assert len(kept) == 9
    assert kept[-1].content == Prompt("newest")


def test_a_turn_longer_than_the_limit_loses_its_oldest_rounds() -> None:
    rounds = [message for number in range(20) for message in (wants(str(number)), gives(str(number)))]
    kept = repair_history([says("old"), answers("x"), says("task"), *rounds], limit=8)
    assert kept == (says("task"), *rounds[-6:])


def test_stand_ins_do_not_push_out_what_the_user_said() -> None:
    strays = [message for _ in range(10) for message in (answers("x"), gives("9"), answers("y"), says(""))]
    kept = repair_history([says("task"), *strays], limit=5)
    assert kept[0].content == Prompt("task")
    assert len(kept) == 5


def test_a_turn_that_starts_with_a_refusal_can_be_the_first() -> None:
    refusals = [
        message
        for number in range(20)
        for message in (wants("1"), UserMessage.new_cancelled_tool_uses(f"no {number}", ["1"]))
    ]
    kept = repair_history([says("task"), *refusals], limit=4)
    assert kept[0].content == Prompt(f"no 18 {CANCELLED_TOOL_USE}")
    assert kept[-1] == refusals[-1]


@pytest.mark.parametrize("shape", ["prompts", "results", "mixed"])
def test_every_step_of_a_long_talk_is_valid(shape: str) -> None:
    history = GrowingHistory(tools=TOOLS, limit=60)
    history.append(says("start"))
    for number in range(201):
        tool_turn = shape == "results" or (shape == "mixed" and number % 3)
        if tool_turn:
            history.append(wants(str(number)))
            history.append(gives(str(number)))
        else:
            history.append(answers("yes"))
            history.append(says(f"prompt {number}"))
        assert_valid(history, TOOLS, 60)
        assert len(history) >= min(2 * number + 3, 55)


def test_growing_open_end() -> None:
    history = GrowingHistory([says("a"), wants("1", "2")])
    assert [use.id for use in history.open_tool_uses] == ["1", "2"]
    assert len(history) == 2
    history.append(gives("2"))
    assert history[-1].content == ToolUseResults([cancelled("1"), result("2")])
    history.append(gives("1"))  # the late result takes the place of the stand-in
    assert history[-1].content == ToolUseResults([result("1"), result("2")])
    assert history.open_tool_uses == ()
    history.cancel_open_tool_uses()
    assert len(history) == 3
    history.append(wants("3"))
    history.cancel_open_tool_uses("enough")
    assert history[-1].content == CancelledToolUses("enough", [cancelled("3")])
    assert len(history[1:3]) == 2


def test_limit_must_hold_one_round() -> None:
    with pytest.raises(ValueError, match="one tool round"):
        GrowingHistory(limit=2)


@given(st.lists(any_message, max_size=12), st.sampled_from([3, 4, 5, MAX_HISTORY_MESSAGES]), st.booleans())
def test_any_history_becomes_valid_and_keeps_the_newest_prompt(
    history: list[Message], limit: int, names_matter: bool
) -> None:
    tools = {"readFile"} if names_matter else None
    repaired = repair_history(history, tools, limit)
    assert_valid(repaired, tools, limit)
    assert repair_history(repaired, tools, limit) == repaired
    prompts = [each.prompt for each in history if isinstance(each, UserMessage) and each.prompt]
    if prompts and not prompts[-1].isspace():
        kept = [each.prompt or "" for each in repaired if isinstance(each, UserMessage)]
        assert any(prompts[-1] in prompt for prompt in kept)


@given(st.lists(any_message, max_size=12), st.data())
def test_looking_on_the_way_changes_nothing(history: list[Message], data: st.DataObject) -> None:
    watched = GrowingHistory()
    for message in history:
        watched.append(message)
        if data.draw(st.booleans()):
            len(watched)
    assert list(watched) == list(GrowingHistory(history))


@given(st.lists(any_message, max_size=15), st.sampled_from([3, 4, 7]))
def test_valid_at_every_step_of_growing(history: list[Message], limit: int) -> None:
    growing = GrowingHistory(limit=limit)
    for message in history:
        growing.append(message)
        end = len(growing) - bool(growing.open_tool_uses)
        assert_valid(growing[:end], None, limit)
        assert len(growing) <= limit
