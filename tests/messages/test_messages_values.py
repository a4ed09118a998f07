"""Every row of the message document's tables exists under its name."""

from dataclasses import FrozenInstanceError, fields, replace
from datetime import datetime

import pytest

import nebula.messages as messages
from nebula.messages import (
    AssistantMessage,
    AssistantToolUse,
    CancelledToolUses,
    ImageBlock,
    Json,
    Prompt,
    Response,
    Text,
    ToolResultStatus,
    ToolSpec,
    ToolUse,
    ToolUseResult,
    ToolUseResults,
    UserEnvContext,
    UserMessage,
)
from rows import each_row

WHEN = datetime.fromisoformat("2025-10-25T14:53:00+09:00")
RESULT = ToolUseResult("tool_1", [Text("Success")], ToolResultStatus.Success)
USE = AssistantToolUse("tool_1", "fs_read", "fs_read", {"path": "/tmp/file.txt"}, {"path": "/tmp/file.txt"})


@each_row(
    ("name", "expected"),
    [
        ("UserMessage", ["additional_context", "env_context", "content", "timestamp", "images"]),
        ("Prompt", ["prompt"]),
        ("CancelledToolUses", ["prompt", "tool_use_results"]),
        ("ToolUseResults", ["tool_use_results"]),
        ("Response", ["message_id", "content"]),
        ("ToolUse", ["message_id", "content", "tool_uses"]),
        ("ToolUseResult", ["tool_use_id", "content", "status"]),
        ("AssistantToolUse", ["id", "name", "orig_name", "args", "orig_args"]),
        ("UserEnvContext", ["env_state"]),
        ("EnvState", ["operating_system", "current_working_directory", "environment_variables"]),
        ("UserInputMessage", ["content", "user_input_message_context", "images", "model_id"]),
        ("UserInputMessageContext", ["env_state", "tool_results", "tools"]),
        ("ToolSpec", ["name", "description", "parameters"]),
    ],
)
def test_fields(name: str, expected: list[str]) -> None:
    assert [field.name for field in fields(getattr(messages, name))] == expected


@each_row(
    ("owner", "member"),
    [
        (UserMessage, "new_prompt"),
        (UserMessage, "new_cancelled_tool_uses"),
        (UserMessage, "new_tool_use_results"),
        (UserMessage, "new_tool_use_results_with_images"),
        (UserMessage, "into_history_entry"),
        (UserMessage, "into_user_input_message"),
        (UserMessage, "has_tool_use_results"),
        (UserMessage, "tool_use_results"),
        (UserMessage, "prompt"),
        (UserMessage, "truncate_safe"),
        (UserMessage, "content_with_context"),
        (UserMessage, "replace_content_with_tool_use_results"),
        (AssistantMessage, "new_response"),
        (AssistantMessage, "new_tool_use"),
        (Response, "message_id"),
        (Response, "content"),
        (Response, "tool_uses"),
        (ToolUse, "message_id"),
        (ToolUse, "content"),
        (ToolUse, "tool_uses"),
        (UserEnvContext, "generate_new"),
        (Prompt, "truncate_safe"),
        (messages, "truncate_safe_in_place"),
        (messages, "truncate_safe_tool_use_results"),
        (Text, "to_json"),
        (Json, "to_json"),
        (ToolResultStatus, "Success"),
        (ToolResultStatus, "Error"),
    ],
)
def test_members(owner: object, member: str) -> None:
    assert hasattr(owner, member)


@each_row(
    ("name", "value"),
    [
        ("USER_ENTRY_START_HEADER", "--- USER MESSAGE BEGIN ---\n"),
        ("USER_ENTRY_END_HEADER", "--- USER MESSAGE END ---\n\n"),
        ("CONTEXT_ENTRY_START_HEADER", "--- CONTEXT ENTRY BEGIN ---\n"),
        ("CONTEXT_ENTRY_END_HEADER", "--- CONTEXT ENTRY END ---\n\n"),
        ("MAX_USER_MESSAGE_SIZE", 400_000),
        ("MAX_CURRENT_WORKING_DIRECTORY_LEN", 256),
        ("TRUNCATION_SUFFIX", "...content truncated due to length"),
        ("CANCELLED_TOOL_USE", "Tool use was cancelled by the user"),
        ("REDACTED_TOOL_RESULT", "<tool result redacted>"),
        ("EMPTY_PROMPT", "Empty prompt"),
        ("IMAGES_ONLY_RESULT", "See images data supplied"),
        ("PLACEHOLDER_TOOL", "dummy"),
        ("MAX_HISTORY_MESSAGES", 10_000),
        ("MAX_IMAGES_PER_MESSAGE", 10),
        ("MAX_IMAGE_BYTES", 10 * 1024 * 1024),
    ],
)
def test_constants(name: str, value: object) -> None:
    assert getattr(messages, name) == value


def test_all_names_are_there_and_sorted_out() -> None:
    assert len(set(messages.__all__)) == len(messages.__all__)
    assert all(hasattr(messages, name) for name in messages.__all__)


def test_prompt() -> None:
    message = UserMessage.new_prompt("Hello, Q!", WHEN)
    assert message.content == Prompt("Hello, Q!")
    assert (message.prompt, message.timestamp, message.images) == ("Hello, Q!", WHEN, None)
    assert message.tool_use_results is None
    assert not message.has_tool_use_results
    assert message.additional_context == ""


def test_no_timestamp_is_made_up() -> None:
    assert UserMessage.new_prompt("x").timestamp is None
    assert UserMessage.new_cancelled_tool_uses("x", ["1"]).timestamp is None
    assert UserMessage.new_tool_use_results([RESULT]).timestamp is None
    assert UserMessage.new_tool_use_results_with_images([RESULT], []).timestamp is None


def test_tool_results() -> None:
    message = UserMessage.new_tool_use_results([RESULT])
    assert message.content == ToolUseResults((RESULT,))
    assert message.tool_use_results == (RESULT,)
    assert message.has_tool_use_results
    assert message.prompt is None


def test_tool_results_with_images() -> None:
    image = ImageBlock("png", b"\x89PNG")
    message = UserMessage.new_tool_use_results_with_images([RESULT], [image], WHEN)
    assert message.images == (image,)
    assert message.timestamp == WHEN
    assert isinstance(message.content, ToolUseResults)


def test_cancelled_tool_uses() -> None:
    message = UserMessage.new_cancelled_tool_uses("Cancel these tools", iter(["tool_1", "tool_2"]), None)
    cancelled = [
        ToolUseResult(name, [Text("Tool use was cancelled by the user")], ToolResultStatus.Error)
        for name in ("tool_1", "tool_2")
    ]
    assert message.content == CancelledToolUses("Cancel these tools", cancelled)
    assert message.prompt == "Cancel these tools"
    assert message.has_tool_use_results


def test_assistant_messages() -> None:
    response = AssistantMessage.new_response("msg_123", "Here is the answer.")
    assert isinstance(response, AssistantMessage)
    assert response == Response("msg_123", "Here is the answer.")
    assert (response.message_id, response.content, response.tool_uses) == ("msg_123", "Here is the answer.", None)

    wish = AssistantMessage.new_tool_use(None, "Let me read that file.", [USE])
    assert isinstance(wish, AssistantMessage)
    assert wish == ToolUse(None, "Let me read that file.", [USE])
    assert wish.tool_uses == (USE,)


def test_values_do_not_change() -> None:
    message = UserMessage.new_prompt("x")
    with pytest.raises(FrozenInstanceError):
        message.content = Prompt("y")  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        message.content.prompt = "y"  # type: ignore[misc]
    arguments = {"path": ["a"]}
    use = AssistantToolUse("1", "n", "n", arguments, arguments)
    block = Json(arguments)
    spec = ToolSpec("n", "d", arguments)
    arguments["path"].append("b")
    block.to_json()["Json"]["path"].append("c")
    assert use.args == use.orig_args == block.value == spec.parameters == {"path": ["a"]}


def test_equal_by_value() -> None:
    assert UserMessage.new_prompt("x", WHEN) == UserMessage.new_prompt("x", WHEN)
    assert UserMessage.new_prompt("x", WHEN) != UserMessage.new_prompt("y", WHEN)
    assert Text("1") != Json("1")


@pytest.mark.parametrize("value", [{1: 2}, {"a": {1}}, object()])
def test_json_block_holds_json_only(value: object) -> None:
    with pytest.raises(TypeError, match="expected"):
        Json(value)


def test_json_nested_in_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="128 levels"):
        Json(loop)


def test_status_may_be_given_by_name() -> None:
    assert ToolUseResult("1", (), "Error").status is ToolResultStatus.Error  # type: ignore[arg-type]


def test_naive_timestamp_is_refused() -> None:
    with pytest.raises(ValueError, match="UTC offset"):
        UserMessage.new_prompt("x", datetime(2025, 1, 1))


def test_named_zone_becomes_an_offset() -> None:
    from zoneinfo import ZoneInfo

    twice = datetime(2025, 10, 26, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin"))
    message = UserMessage.new_prompt("x", twice)
    assert message.timestamp is not None
    assert message.timestamp.isoformat() == "2025-10-26T02:30:00+01:00"
    assert UserMessage.from_json(message.to_json()) == message


def test_image_limits() -> None:
    assert ImageBlock("JPG", b"x").format == "jpeg"
    assert ImageBlock("png", b"x").media_type == "image/png"
    assert ImageBlock("png", b"xyz").base64 == "eHl6"
    with pytest.raises(ValueError, match="bmp"):
        ImageBlock("bmp", b"x")
    ImageBlock("png", bytes(messages.MAX_IMAGE_BYTES))
    with pytest.raises(ValueError, match="10485760 bytes at most"):
        ImageBlock("png", bytes(messages.MAX_IMAGE_BYTES + 1))
    with pytest.raises(ValueError, match="10 images at most"):
        UserMessage.new_tool_use_results_with_images([RESULT], [ImageBlock("png", b"x")] * 11)


def test_replaced_content() -> None:
    def told(content: ToolUseResults | CancelledToolUses | Prompt) -> str | None:
        return replace(UserMessage.new_prompt(""), content=content).replace_content_with_tool_use_results().prompt

    mixed = ToolUseResult("1", [Text("a"), Json({"k": "あ"})], ToolResultStatus.Success)
    assert told(ToolUseResults([mixed, RESULT])) == 'a {"k":"あ"} Success'
    assert told(CancelledToolUses("stop", [RESULT])) == "stop Success"
    assert told(CancelledToolUses("stop", [])) == "stop"
    assert told(Prompt("hello")) == "hello"
    for nothing in ([], [ToolUseResult("1", [], "Success")], [ToolUseResult("1", [Text(""), Text(" ")], "Success")]):
        assert told(ToolUseResults(nothing)) == "<tool result redacted>"
    long = ToolUseResult("1", [Text("あ" * 200_000)], ToolResultStatus.Success)
    assert told(ToolUseResults([long])) == "あ" * 133_333
