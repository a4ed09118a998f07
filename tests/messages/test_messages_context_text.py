import locale
from dataclasses import replace
from datetime import datetime

import pytest

from nebula.messages import (
    EnvState,
    ImageBlock,
    Text,
    ToolResultStatus,
    ToolSpec,
    ToolUseResult,
    UserInputMessage,
    UserInputMessageContext,
    UserMessage,
)

FRIDAY = datetime.fromisoformat("2018-01-26T12:30:09.453-07:00")
RESULT = ToolUseResult("1", (Text("ok"),), ToolResultStatus.Success)
TIME = "--- CONTEXT ENTRY BEGIN ---\nCurrent time: Friday, 2018-01-26T12:30:09.453-07:00\n--- CONTEXT ENTRY END ---"


def with_context(message: UserMessage, text: str) -> UserMessage:
    return replace(message, additional_context=text)


def test_time_and_prompt() -> None:
    message = UserMessage.new_prompt("hello world", FRIDAY)
    expected = f"{TIME}\n\n--- USER MESSAGE BEGIN ---\nhello world--- USER MESSAGE END ---"
    assert message.content_with_context() == expected


def test_prompt_alone_has_no_markers() -> None:
    assert UserMessage.new_prompt("  hello\n").content_with_context() == "hello"


def test_additional_context_comes_between() -> None:
    both = with_context(UserMessage.new_prompt("hi", FRIDAY), "facts")
    assert both.content_with_context() == f"{TIME}\n\nfacts\n--- USER MESSAGE BEGIN ---\nhi--- USER MESSAGE END ---"
    only = with_context(UserMessage.new_prompt("hi"), "facts\n\n")
    expected = "facts\n\n\n--- USER MESSAGE BEGIN ---\nhi--- USER MESSAGE END ---"
    assert only.content_with_context() == expected


def test_results_only() -> None:
    message = UserMessage.new_tool_use_results([RESULT])
    assert message.content_with_context() == ""
    assert with_context(message, "facts").content_with_context() == "facts"
    assert replace(message, timestamp=FRIDAY).content_with_context() == TIME


def test_cancelled_prompt_is_a_prompt() -> None:
    assert UserMessage.new_cancelled_tool_uses("no", ["1"]).content_with_context() == "no"
    assert UserMessage.new_cancelled_tool_uses(None, ["1"]).content_with_context() == ""


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2025-10-25T14:53:00.123+09:00", "Saturday, 2025-10-25T14:53:00.123+09:00"),
        ("2025-10-27T00:00:00Z", "Monday, 2025-10-27T00:00:00.000+00:00"),
        ("2025-10-28T00:00:00.999999+00:00", "Tuesday, 2025-10-28T00:00:00.999+00:00"),
    ],
)
def test_time_form(moment: str, expected: str) -> None:
    text = UserMessage.new_prompt("x", datetime.fromisoformat(moment)).content_with_context()
    assert text.splitlines()[1] == f"Current time: {expected}"


def test_weekday_is_english_in_any_locale() -> None:
    before = locale.setlocale(locale.LC_TIME)
    for name in ("ja_JP.UTF-8", "de_DE.UTF-8", "C"):
        try:
            locale.setlocale(locale.LC_TIME, name)
        except locale.Error:
            continue
        assert "Friday" in UserMessage.new_prompt("x", FRIDAY).content_with_context()
    locale.setlocale(locale.LC_TIME, before)


def test_history_and_send_form_differ_in_tools_and_model_only() -> None:
    spec = ToolSpec("readFile", "reads", {"type": "object"})
    image = ImageBlock("png", b"x")
    message = UserMessage.new_tool_use_results_with_images([RESULT], [image], FRIDAY)
    stored = message.into_history_entry()
    env = message.env_context.env_state
    assert stored == UserInputMessage(TIME, UserInputMessageContext(env, (RESULT,), None), (image,), None)
    sent = message.into_user_input_message("some-model", {"readFile": spec})
    assert sent == UserInputMessage(TIME, UserInputMessageContext(env, (RESULT,), (spec,)), (image,), "some-model")
    assert message.into_user_input_message(None, {}) == stored
    assert message.into_user_input_message() == stored
    assert message.into_user_input_message(None, [spec]).user_input_message_context == UserInputMessageContext(
        env, (RESULT,), (spec,)
    )


def test_prompt_sends_no_tool_results() -> None:
    message = replace(UserMessage.new_prompt("x"), env_context=replace(UserMessage.new_prompt("").env_context))
    context = message.into_history_entry().user_input_message_context
    assert context is not None
    assert context.tool_results is None
    assert isinstance(context.env_state, EnvState)


def test_tools_may_come_in_groups_or_as_json() -> None:
    spec = ToolSpec("a", "d", {"type": "object"})
    message = UserMessage.new_prompt("x")
    for tools in ({"native": [spec]}, {"a": {"description": "d", "parameters": {"type": "object"}}}, [spec.to_json()]):
        context = message.into_user_input_message("m", tools).user_input_message_context
        assert context is not None
        assert context.tools == (spec,)
