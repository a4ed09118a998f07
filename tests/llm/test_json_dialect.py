"""The JSON dialect around a connector: the same messages come out as from native tool calls."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nebula.events import Usage
from nebula.language import Sentence, explain_to
from nebula.llm.catalog import connect
from nebula.llm.contract import Model, ModelInfo, ModelNotice, ModelReply, ModelRequest, Retrying, StreamItem
from nebula.llm.dialect import spoken
from nebula.llm.dialect.json_dialect import JsonDialect
from nebula.llm.dialect.reader import read_reply
from nebula.llm.dialect.where_needed import needs_dialect
from nebula.llm.errors import FormatError
from nebula.llm.gemini import GeminiModel
from nebula.llm.ollama import OllamaModel
from nebula.llm.openai import OpenAIModel
from nebula.messages import (
    AssistantMessage,
    AssistantToolUse,
    DeclaredSpec,
    DialectForm,
    Json,
    Message,
    Text,
    ToolResultStatus,
    ToolSpec,
    ToolUseResult,
    UserMessage,
)
from rows import each_row
from scripted_model import Call, ScriptedModel, Turn, hermes

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ_FILE = ToolSpec("readFile", "Read a file", PATH)
TOOLS = (
    DeclaredSpec("readFile", "Read a file", PATH, (DialectForm("read_file"),), reads_only=True),
    DeclaredSpec(
        "writeFile",
        "Make a file",
        {**PATH, "properties": {"path": {}, "content": {}}},
        (DialectForm("write_file", "create"),),
    ),
    DeclaredSpec(
        "editFile",
        "Change a file",
        {**PATH, "properties": {"path": {}, "new_content": {}}},
        (DialectForm("write_file", "overwrite", (("content", "new_content"),)),),
    ),
    ToolSpec("mcpThing", "Something foreign", {"type": "object"}),
)
PROMPT = UserMessage.new_prompt("始めて")


async def items_of(
    model: Model, messages: Sequence[Message], tools: Sequence[ToolSpec] = TOOLS, name: str = "hermes3:8b"
) -> list[StreamItem]:
    request = ModelRequest(name, "Be brief.", messages, tools)
    async with aclosing(model.stream(request)) as items:  # type: ignore[type-var]
        return [item async for item in items]


async def reply_to(
    model: Model, messages: Sequence[Message], tools: Sequence[ToolSpec] = TOOLS, name: str = "hermes3:8b"
) -> ModelReply:
    last = (await items_of(model, messages, tools, name))[-1]
    assert isinstance(last, ModelReply)
    return last


CONVERSATION = [
    Turn("まず読みます 🦀。", [Call("readFile", {"path": "日本語/設定 🗾.txt"}), Call("readFile", {"path": "b.txt"})]),
    Turn("", [Call("readFile", {"path": 'c "quoted" \\ \n.txt', "start_line": 3})], thinking="考え中"),
    Turn("できました 👩‍👩‍👧‍👦。\n次は？"),
]


async def whole_conversation(model: Model) -> list[AssistantMessage]:
    history: list[Message] = [PROMPT]
    heard = []
    for _ in CONVERSATION:
        reply = await reply_to(model, tuple(history), (READ_FILE,), "gemini-2.5-flash")
        heard.append(reply.message)
        results = [
            ToolUseResult(use.id, (Json({"content": "こんにちは"}),), ToolResultStatus.Success)
            for use in reply.message.tool_uses or ()
        ]
        history += [reply.message, UserMessage.new_tool_use_results(results)]
    return heard


@pytest.mark.parametrize("fragment", [None, 1])
async def test_connectors_and_dialect_give_identical_messages(fragment: int | None) -> None:
    heard = {}
    for wire in ("openai", "gemini", "ollama", "dialect/openai", "dialect/gemini", "dialect/ollama"):
        spoken = [hermes(turn) for turn in CONVERSATION] if wire.startswith("dialect") else CONVERSATION
        with ScriptedModel(spoken, fragment=fragment) as server:
            model: Model = {
                "openai": lambda server=server: OpenAIModel(server.openai_url, "k", environ={}),
                "gemini": lambda server=server: GeminiModel(server.url, "k", environ={}),
                "ollama": lambda server=server: OllamaModel(server.url, environ={}),
            }[wire.rpartition("/")[2]]()
            if wire.startswith("dialect"):
                model = JsonDialect(model)
            heard[wire] = await whole_conversation(model)
            await model.aclose()
    assert len(heard["openai"]) == 3
    for wire, messages in heard.items():
        assert messages == heard["openai"], wire


async def with_replies(*texts: str, messages: Sequence[Message] = (PROMPT,)) -> tuple[list[StreamItem], list[Any]]:
    with ScriptedModel([Turn(text) for text in texts]) as server:
        model = JsonDialect(OllamaModel(server.url, environ={}))
        try:
            return await items_of(model, messages), [request.json for request in server.turns]
        finally:
            await model.aclose()


def saying(*calls: tuple[str, dict[str, Any]], thought: str = "") -> str:
    listed = [{"name": name, "parameters": args} for name, args in calls]
    return json.dumps({"thought": thought, "tool_calls": listed, "final_answer": "provisional"})


async def test_the_model_sees_its_own_names_and_the_tools_keep_theirs() -> None:
    text = saying(
        ("read_file", {"path": "a"}),
        ("write_file", {"path": "a", "content": "x", "mode": "create"}),
        ("write_file", {"path": "b", "content": "y", "mode": "overwrite"}),
        ("write_file", {"path": "c", "content": "z"}),
        ("readFile", {"path": "d"}),
        ("mcpThing", {"e": 1}),
        thought="I look.",
    )
    items, _ = await with_replies(text)
    reply = items[-1]
    assert isinstance(reply, ModelReply)
    assert reply.message.content == "I look."
    uses = reply.message.tool_uses or ()
    assert [(use.id, use.name, use.orig_name, use.orig_args) for use in uses] == [
        ("call_1", "read_file", "readFile", {"path": "a"}),
        ("call_2", "write_file", "writeFile", {"path": "a", "content": "x"}),
        ("call_3", "write_file", "editFile", {"path": "b", "new_content": "y"}),
        ("call_4", "write_file", "writeFile", {"path": "c", "content": "z"}),
        ("call_5", "readFile", "readFile", {"path": "d"}),
        ("call_6", "mcpThing", "mcpThing", {"e": 1}),
    ]
    assert uses[1].args == {"path": "a", "content": "x", "mode": "create"}
    assert (reply.rung, reply.stop, reply.invalid_calls) == ("json", "tool_calls", {})


async def test_a_mode_that_is_not_offered_is_kept_but_not_run() -> None:
    items, _ = await with_replies(saying(("write_file", {"path": "a", "content": "x", "mode": "append"})))
    reply = items[-1]
    assert isinstance(reply, ModelReply)
    assert reply.invalid_calls == {"call_1": "mode of write_file must be create or overwrite. Nothing was run."}


async def test_plan_mode_offers_no_write() -> None:
    with ScriptedModel([Turn('{"final_answer": "ok"}')]) as server:
        model = JsonDialect(OllamaModel(server.url, environ={}))
        await items_of(model, [PROMPT], TOOLS[:1])
        await model.aclose()
        body = server.turns[0].json
    assert "read_file" in body["messages"][0]["content"]
    assert "write_file" not in json.dumps(body)
    assert body["format"]["properties"]["tool_calls"]["items"]["properties"]["name"]["enum"] == ["read_file"]
    assert "tools" not in body


async def test_one_retry_with_the_exact_error_then_it_is_read() -> None:
    items, bodies = await with_replies("I am done!", '{"final_answer": "done"}')
    problem = "the reply is plain text; one JSON object was asked for"
    reason = Sentence("The reply could not be read: {problem}.", problem=problem)
    assert Retrying(reason, 2, 0.0, 2, "bad_reply") in items
    reply = items[-1]
    assert isinstance(reply, ModelReply) and reply.message.content == "done"
    assert reply.usage == Usage(200, 40)
    asked = bodies[1]["messages"]
    assert asked[-2] == {"role": "assistant", "content": "I am done!"}
    assert asked[-1]["role"] == "user"
    assert "the reply is plain text; one JSON object was asked for" in asked[-1]["content"]
    assert '"tool_calls"' in asked[-1]["content"]


async def test_prose_twice_is_the_end() -> None:
    with pytest.raises(FormatError) as error:
        await with_replies("I am done!", "Really!")
    assert error.value.exit_code == 3 and error.value.kind == "bad_reply"


async def test_a_write_that_was_cut_off_is_asked_for_again_and_never_completed() -> None:
    whole = saying(("write_file", {"path": "a", "content": "x", "mode": "create"}))
    items, bodies = await with_replies(whole[:-30], whole)
    assert any(isinstance(item, Retrying) for item in items)
    assert len(bodies) == 2
    assert isinstance(items[-1], ModelReply) and len(items[-1].message.tool_uses or ()) == 1


async def test_native_calls_are_understood_too() -> None:
    with ScriptedModel([Turn("見ます", [Call("read_file", {"path": "a"})])]) as server:
        model = JsonDialect(OllamaModel(server.url, environ={}))
        reply = await reply_to(model, [PROMPT])
        await model.aclose()
    uses = reply.message.tool_uses or ()
    assert (reply.rung, uses[0].name, uses[0].orig_name) == ("native", "read_file", "readFile")


def history() -> list[Message]:
    native = AssistantToolUse(
        "call_1", "editFile", "editFile", {"path": "a", "new_content": "x"}, {"path": "a", "new_content": "x"}
    )
    results = [
        ToolUseResult("call_1", (Json({"success": True}),), ToolResultStatus.Success),
        ToolUseResult("call_2", (Text("it\nfailed"),), ToolResultStatus.Error),
    ]
    told = AssistantToolUse("call_2", "read_file", "readFile", {"path": "b"}, {"path": "b"})
    return [
        PROMPT,
        AssistantMessage.new_tool_use("msg_1", "Now.", [native, told]),
        UserMessage.new_tool_use_results(results),
        AssistantMessage.new_response("msg_2", "Done."),
        UserMessage.new_prompt("More?"),
    ]


@pytest.mark.parametrize("tool_role", [False, True])
async def test_the_history_is_told_in_the_dialect(tool_role: bool) -> None:
    with ScriptedModel([Turn('{"final_answer": "ok"}')]) as server:
        model = JsonDialect(OllamaModel(server.url, environ={}), tool_role=tool_role)
        await items_of(model, history())
        await model.aclose()
        messages = server.turns[0].json["messages"][2:]
    calls = [
        {"name": "write_file", "parameters": {"path": "a", "content": "x", "mode": "overwrite"}},
        {"name": "read_file", "parameters": {"path": "b"}},
    ]
    assert json.loads(messages[0]["content"]) == {"thought": "Now.", "tool_calls": calls, "final_answer": ""}
    if tool_role:
        assert [(each["role"], each["content"]) for each in messages[1:3]] == [
            ("tool", '{"success":true}'),
            ("tool", "it\nfailed"),
        ]
    else:
        assert messages[1] == {
            "role": "user",
            "content": '<tool_response>\n{"name": "editFile", "content": {"success": true}}\n</tool_response>\n'
            '<tool_response>\n{"name": "read_file", "content": "it\\nfailed"}\n</tool_response>',
        }
    assert json.loads(messages[-2]["content"]) == {"thought": "", "tool_calls": [], "final_answer": "Done."}
    assert messages[-1] == {"role": "user", "content": "More?"}


async def test_without_tools_the_model_is_asked_plainly() -> None:
    with ScriptedModel([Turn("just prose")]) as server:
        model = JsonDialect(OllamaModel(server.url, environ={}))
        reply = await reply_to(model, [PROMPT], ())
        await model.aclose()
    assert reply.message.content == "just prose"


async def test_an_ollama_model_without_tool_calls_goes_through_the_dialect_by_itself() -> None:
    script = [Turn(saying(("read_file", {"path": "a"}))), Turn("", [Call("readFile", {"path": "a"})])]
    with ScriptedModel(script, capabilities={"hermes3:8b": ["completion"]}) as server:
        model = connect("ollama", base_url=server.url, environ={})
        spoken = await reply_to(model, [PROMPT])
        request = ModelRequest("qwen3:8b", "", [PROMPT], TOOLS)
        native = [item async for item in model.stream(request)][-1]
        await model.aclose()
        assert "tools" not in server.turns[0].json
        assert "tools" in server.turns[1].json
    assert isinstance(native, ModelReply)
    assert (spoken.message.tool_uses or ())[0].orig_name == "readFile"
    assert native.rung is None and spoken.rung == "json"


async def test_a_template_without_the_tool_role_gets_results_as_user_messages() -> None:
    for template, role in (("{{ .Prompt }}", "user"), ('{{ if eq .Role "tool" }}', "tool")):
        with ScriptedModel(
            [Turn('{"final_answer": "ok"}')],
            capabilities={"hermes3:8b": ["completion"]},
            template={"hermes3:8b": template},
        ) as server:
            model = connect("ollama", base_url=server.url, environ={})
            await items_of(model, history())
            await model.aclose()
            assert server.turns[0].json["messages"][3]["role"] == role


async def test_a_server_that_refuses_tools_is_asked_in_the_dialect() -> None:
    from scripted_model import Fault

    refusal = Fault.status_code(400, body='{"error": "library/x does not support tools"}')
    script = [refusal, Turn(saying(("read_file", {"path": "a"}))), Turn('{"final_answer": "ok"}')]
    with ScriptedModel(script) as server:
        model = connect("ollama", base_url=server.url, environ={})
        first = await reply_to(model, [PROMPT])
        second = await reply_to(model, [PROMPT])
        await model.aclose()
        assert len(server.turns) == 3
    assert first.rung == second.rung == "json"


@pytest.mark.parametrize(
    ("text", "is_call"),
    [
        ('<tool_call>\n{"name": "readFile", "arguments": {"path": "a"}}\n</tool_call>', True),
        ('{"name": "readFile", "parameters": {"path": "a"}}', True),
        ('```json\n{"name": "readFile", "parameters": {"path": "a"}}\n```', True),
        ('```json\n{"name": "readFile", "parameters": {"path": "a"}}\n```\n```\nx\n```', False),
        ("<tool_call>\n<function=readFile>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>", False),
        ('<|tool_call_begin|>functions.readFile:0<|tool_call_argument_begin|>{"path": "a"}<|tool_call_end|>', False),
        ('[readFile(path="a")]', False),
        ('```python\nreadFile("a")\n```', False),
        ('{"readFile": 3', False),
        ('{"name": "other", "parameters": {"path": "a"}}', False),
        ('Like this: {"name": "readFile", "parameters": {"path": "a"}}', False),
        ('{"tasks": []}', False),
    ],
)
@pytest.mark.parametrize("provider", ["openai", "gemini", "ollama"])
async def test_native_models_that_print_their_calls(text: str, is_call: bool, provider: str) -> None:
    with ScriptedModel([Turn(text, id="msg_1")]) as server:
        urls = {"openai": server.openai_url, "gemini": server.url, "ollama": server.url}
        model = connect(provider, base_url=urls[provider], api_key="k", environ={})
        reply = await reply_to(model, [PROMPT])
        await model.aclose()
    if is_call:
        assert [use.orig_args for use in reply.message.tool_uses or ()] == [{"path": "a"}]
    else:
        assert reply == replace(reply, message=AssistantMessage.new_response("msg_1", text), rung=None)


def test_needs_dialect_only_where_the_provider_says_so() -> None:
    assert needs_dialect(ModelInfo("m", "ollama", tools=False))
    assert not needs_dialect(ModelInfo("m", "ollama", tools=None))
    assert not needs_dialect(ModelInfo("m", "ollama", tools=True))


@each_row(
    ("provider", "address", "reads"),
    [
        ("openai", "", False),
        ("openai", "https://api.openai.com/v1", False),
        ("openai", "https://api.openai.com/v1/", False),
        ("openai", "http://127.0.0.1:1/v1", True),
        ("gemini", "", False),
        ("ollama", "", True),
        ("ollama", "http://127.0.0.1:11434", True),
        ("local", "/models", True),
    ],
)
def test_printed_calls_are_read_from_servers_of_ones_own_only(provider: str, address: str, reads: bool) -> None:
    assert connect(provider, base_url=address, environ={})._model._reads_printed_calls is reads  # type: ignore[attr-defined]


async def test_a_model_that_prints_its_calls_is_asked_in_the_dialect_for_now() -> None:
    printed = '{"name": "readFile", "arguments": {"path": "a"}}'
    script = [Turn(printed), Turn('{"final_answer": "ok"}'), Turn("native")]
    with ScriptedModel(script) as server:
        model = connect("openai", base_url=server.openai_url, environ={})
        heard = [await items_of(model, [PROMPT], name=name) for name in ("prints", "prints", "another")]
        await model.aclose()
        assert ["tools" in turn.json for turn in server.turns] == [True, False, True]
    notices = [[str(item.text) for item in items if isinstance(item, ModelNotice)] for items in heard]
    assert len(notices[0]) == 1 and "prints its tool calls as text" in notices[0][0] and notices[1:] == [[], []]
    first, second, third = (items[-1] for items in heard)
    assert [use.orig_args for use in first.message.tool_uses] == [{"path": "a"}] and first.rung == "json"
    assert (second.message.content, second.rung) == ("ok", "json")
    assert (third.message.content, third.rung) == ("native", None)


async def test_a_token_left_on_the_name_of_a_native_call_is_taken_off() -> None:
    calls = [Call(f"readFile{left}", {"path": "a"}) for left in ("", "<|channel|>commentary", "</arg_value>")]
    calls.append(Call("unheard<|channel|>analysis", {}))
    with ScriptedModel([Turn(calls=calls)]) as server:
        model = connect("openai", base_url=server.openai_url, environ={})
        reply = await reply_to(model, [PROMPT])
        await model.aclose()
    names = [(use.name, use.orig_name) for use in reply.message.tool_uses or ()]
    assert names == [("readFile", "readFile")] * 3 + [("unheard<|channel|>analysis",) * 2]
    assert reply.rung is None


def test_why_a_reply_could_not_be_read_is_said_in_japanese() -> None:
    """Those reasons that are plain sentences; others quote the reply, or name a place in it."""
    failures = [
        call
        for path in Path(spoken.__file__).parent.glob("*.py")
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "FormatFailure"
    ]
    values = [value for call in failures for value in ast.iter_child_nodes(call) if not isinstance(value, ast.Name)]
    plain = [part.value for value in values for part in _choices(value) if isinstance(part, ast.Constant)]
    assert len(plain) > 8
    for reason in plain:
        said = explain_to("ja", Sentence("The reply could not be read: {problem}.", problem=reason))
        assert reason not in said


def _choices(value: ast.AST) -> list[ast.expr]:
    return (
        [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value] if isinstance(value, ast.expr) else []
    )


def test_a_reply_that_was_cut_off_is_told_in_japanese_and_to_the_model_in_english() -> None:
    with pytest.raises(spoken.FormatFailure) as cut:
        read_reply('{"thought": "and so on', tools={}, readers=())
    limit = Sentence("{failure}; it reached the output limit, so write less at a time", failure=cut.value.reason)
    assert str(limit).startswith("the JSON is cut off: the reply is cut off inside a string")
    said = explain_to("ja", limit)
    assert said.startswith("JSON が途中で切れています（") and said.endswith("。出力の上限に達したためです")
