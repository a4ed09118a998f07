import json
from typing import Any

import pytest
from hypothesis import given

from messages.message_strategies import (
    assistant_messages,
    blocks,
    contents,
    env_contexts,
    env_states,
    images,
    input_contexts,
    input_messages,
    results,
    tool_specs,
    tool_uses,
    user_messages,
)
from nebula.messages import (
    AssistantMessage,
    AssistantToolUse,
    CancelledToolUses,
    EnvState,
    ImageBlock,
    Json,
    MessageFormatError,
    Prompt,
    Response,
    Text,
    ToolResultStatus,
    ToolSpec,
    ToolUse,
    ToolUseResult,
    ToolUseResultBlock,
    ToolUseResults,
    UserEnvContext,
    UserInputMessage,
    UserInputMessageContext,
    UserMessage,
    UserMessageContent,
)
from rows import each_row


@pytest.mark.parametrize(
    ("family", "strategy"),
    [
        (ToolUseResultBlock, blocks),
        (ToolUseResult, results),
        (UserMessageContent, contents),
        (ImageBlock, images),
        (EnvState, env_states),
        (UserEnvContext, env_contexts),
        (UserMessage, user_messages),
        (AssistantToolUse, tool_uses),
        (AssistantMessage, assistant_messages),
        (ToolSpec, tool_specs),
        (UserInputMessageContext, input_contexts),
        (UserInputMessage, input_messages),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_round_trip(family: Any, strategy: Any) -> None:
    @given(strategy)
    def there_and_back(value: Any) -> None:
        written = json.dumps(value.to_json())
        assert family.from_json(json.loads(written)) == value
        assert type(value).from_json(value.to_json()) == value

    there_and_back()


RESULT = ToolUseResult("t1", [Text("x"), Json({"k": [1, None]})], ToolResultStatus.Success)
RESULT_JSON = {"tool_use_id": "t1", "content": [{"Text": "x"}, {"Json": {"k": [1, None]}}], "status": "Success"}
USE = AssistantToolUse("t1", "write_file", "writeFile", {"path": "a"}, {"path": "b"})
USE_JSON = {
    "id": "t1",
    "name": "write_file",
    "orig_name": "writeFile",
    "args": {"path": "a"},
    "orig_args": {"path": "b"},
}


@each_row(
    ("value", "expected"),
    [
        (Prompt("hi"), {"Prompt": {"prompt": "hi"}}),
        (
            CancelledToolUses(None, [RESULT]),
            {"CancelledToolUses": {"prompt": None, "tool_use_results": [RESULT_JSON]}},
        ),
        (ToolUseResults([RESULT]), {"ToolUseResults": {"tool_use_results": [RESULT_JSON]}}),
        (Response(None, "hi"), {"Response": {"message_id": None, "content": "hi"}}),
        (ToolUse("m", "", [USE]), {"ToolUse": {"message_id": "m", "content": "", "tool_uses": [USE_JSON]}}),
        (ImageBlock("png", b"xyz"), {"format": "png", "data": "eHl6"}),
        (
            EnvState("linux", "/x"),
            {"operating_system": "linux", "current_working_directory": "/x", "environment_variables": []},
        ),
    ],
)
def test_stored_form(value: Any, expected: object) -> None:
    assert value.to_json() == expected
    assert type(value).from_json(expected) == value


MESSAGE_JSON: dict[str, Any] = {
    "additional_context": "",
    "env_context": {"env_state": None},
    "content": {"Prompt": {"prompt": "hi"}},
    "timestamp": "2025-10-25T14:53:00.123+09:00",
    "images": None,
}


def test_user_message_form() -> None:
    assert UserMessage.from_json(MESSAGE_JSON).to_json() == MESSAGE_JSON
    needed = {key: MESSAGE_JSON[key] for key in ("additional_context", "env_context", "content")}
    assert UserMessage.from_json(needed).timestamp is None


def test_keys_of_newer_versions_are_passed_over() -> None:
    newer = {**MESSAGE_JSON, "mood": "fine"}
    assert UserMessage.from_json(newer) == UserMessage.from_json(MESSAGE_JSON)


def in_results(**changes: object) -> dict[str, Any]:
    return {"content": {"ToolUseResults": {"tool_use_results": [RESULT_JSON, {**RESULT_JSON, **changes}]}}}


@each_row(
    ("changes", "sentence"),
    [
        ({"content": {"Prompt": {"prompt": 3}}}, "content.Prompt.prompt: expected a string, got 3"),
        ({"content": {"Prompt": {}}}, "content.Prompt.prompt: missing"),
        ({"content": {"Prompt": "hi"}}, 'content.Prompt: expected an object, got "hi"'),
        (
            {"content": {"Promt": {}}},
            'content: expected one of Prompt, CancelledToolUses, ToolUseResults, got "Promt"',
        ),
        (
            {"content": {}},
            "content: expected exactly one of the keys Prompt, CancelledToolUses, ToolUseResults, got none",
        ),
        (
            {"content": {"CancelledToolUses": {"prompt": [], "tool_use_results": []}}},
            "content.CancelledToolUses.prompt: expected a string, got a list",
        ),
        (
            {"content": {"CancelledToolUses": {"prompt": None}}},
            "content.CancelledToolUses.tool_use_results: missing",
        ),
        (
            in_results(status="Fine"),
            'content.ToolUseResults.tool_use_results[1].status: expected Success or Error, got "Fine"',
        ),
        (
            in_results(content=[{"Text": None}]),
            "content.ToolUseResults.tool_use_results[1].content[0].Text: expected a string, got null",
        ),
        (
            in_results(content="x"),
            'content.ToolUseResults.tool_use_results[1].content: expected a list, got "x"',
        ),
        ({"timestamp": "yesterday"}, 'timestamp: expected an RFC 3339 time, got "yesterday"'),
        ({"timestamp": 1}, "timestamp: expected a string, got 1"),
        (
            {"timestamp": "2025-10-25T14:53:00"},
            'timestamp: expected an RFC 3339 time with an offset, got "2025-10-25T14:53:00"',
        ),
        ({"images": [{"format": "png", "data": "?"}]}, 'images[0].data: expected base64, got "?"'),
        ({"images": [{"format": "png", "data": "é"}]}, 'images[0].data: expected base64, got "é"'),
        ({"images": [{"format": "png", "data": 1}]}, "images[0].data: expected a string, got 1"),
        (
            {"images": [{"format": "bmp", "data": ""}]},
            "images[0]: an image must be one of png, jpeg, gif, webp, not 'bmp'",
        ),
        (
            {"images": [{"format": "png", "data": ""}] * 11},
            "images: a message may have 10 images at most, this one has 11",
        ),
        ({"additional_context": None}, "additional_context: expected a string, got null"),
        ({"env_context": 7}, "env_context: expected an object, got 7"),
        (
            {"env_context": {"env_state": {"operating_system": 7}}},
            "env_context.env_state.operating_system: expected a string, got 7",
        ),
    ],
)
def test_user_message_faults(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(MessageFormatError) as caught:
        UserMessage.from_json({**MESSAGE_JSON, **changes})
    assert str(caught.value) == sentence
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("key", ["additional_context", "env_context", "content"])
def test_user_message_needs(key: str) -> None:
    with pytest.raises(MessageFormatError, match=f"^{key}: missing$"):
        UserMessage.from_json({name: value for name, value in MESSAGE_JSON.items() if name != key})


@each_row(
    ("form", "sentence"),
    [
        ("hi", 'expected an object, got "hi"'),
        ({"Response": {"content": None}}, "Response.content: expected a string, got null"),
        ({"ToolUse": {"content": ""}}, "ToolUse.tool_uses: missing"),
        ({"Response": {}, "ToolUse": {}}, "expected exactly one of the keys Response, ToolUse, got Response, ToolUse"),
        (
            {"ToolUse": {"content": "", "tool_uses": [{**USE_JSON, "name": True}]}},
            "ToolUse.tool_uses[0].name: expected a string, got true",
        ),
        (
            {"ToolUse": {"content": "", "tool_uses": [{**USE_JSON, "args": {"a": {1}}}]}},
            "ToolUse.tool_uses[0].args: expected a JSON value, got set",
        ),
    ],
)
def test_assistant_message_faults(form: object, sentence: str) -> None:
    with pytest.raises(MessageFormatError) as caught:
        AssistantMessage.from_json(form)
    assert str(caught.value) == sentence


def test_long_values_are_shown_short() -> None:
    with pytest.raises(MessageFormatError) as caught:
        UserMessage.from_json({**MESSAGE_JSON, "timestamp": "x" * 1000})
    assert len(str(caught.value)) < 150


def test_tool_spec_needs_a_name_only() -> None:
    assert ToolSpec.from_json({"name": "list"}) == ToolSpec("list", "", {})
    with pytest.raises(MessageFormatError, match="parameters: expected an object, got a list"):
        ToolSpec.from_json({"name": "list", "parameters": []})
