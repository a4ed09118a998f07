"""What a model is asked in the dialect, what becomes of its reply, and when the dialect is spoken at all.

Without a wire: the model here says what it is told to, and keeps the requests.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from nebula.events import Usage
from nebula.language import Sentence
from nebula.llm.contract import (
    ModelInfo,
    ModelNotice,
    ModelReply,
    ModelRequest,
    Retrying,
    StreamItem,
    TextDelta,
    Working,
)
from nebula.llm.dialect.json_dialect import (
    COMPLAINT,
    MAX_QUOTED_REPLY,
    PROMPT,
    SHAPE,
    JsonDialect,
    reply_schema,
    with_known_names,
    with_printed_calls,
)
from nebula.llm.dialect.tools import make_offer
from nebula.llm.dialect.where_needed import DialectWhereNeeded, has_unknown_names, may_print_calls
from nebula.llm.errors import BadReplyError, FormatError, ModelError
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
from nebula.value import replace
from rows import each_row

TEXT = {"type": "string"}
READ = DeclaredSpec(
    "readFile",
    "Read a file.",
    {"type": "object", "properties": {"path": TEXT}, "required": ["path"]},
    (DialectForm("read_file"),),
    reads_only=True,
)
WRITE = DeclaredSpec(
    "writeFile",
    "Make a file. Use editFile to change one.",
    {"type": "object", "properties": {"path": TEXT, "content": TEXT}, "required": ["path", "content"]},
    (DialectForm("write_file", "create"),),
)
EDIT = DeclaredSpec(
    "editFile",
    "Change a file.",
    {"type": "object", "properties": {"path": TEXT, "new_content": TEXT, "edits": TEXT}, "required": ["path"]},
    (
        DialectForm(
            "write_file", "overwrite", (("content", "new_content"),), ("path", "new_content"), sets=(("makes", True),)
        ),
        DialectForm("edit_file", "", (("changes", "edits"),), ("path", "edits"), "Change parts of a file."),
    ),
)
OTHER = ToolSpec("mcpThing", "Something foreign ☃; not for readFile.", {"type": "object"})
TOOLS = (READ, WRITE, EDIT, OTHER)
ASK = UserMessage.new_prompt("Begin.")


class Told:
    """A model that gives these items, one list a request; an error among them is raised."""

    provider = "told"

    def __init__(self, *streams: Sequence[StreamItem | Exception], info: ModelInfo | Exception | None = None) -> None:
        self.streams = list(streams)
        self.info = info
        self.requests: list[ModelRequest] = []
        self.closed = 0
        self.streams_closed = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        self.requests.append(request)
        try:
            for item in self.streams.pop(0):
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.streams_closed += 1

    async def list_models(self) -> list[ModelInfo]:
        return [ModelInfo("m", self.provider)]

    async def describe(self, model: str) -> ModelInfo:
        if isinstance(self.info, Exception):
            raise self.info
        return self.info or ModelInfo(model, self.provider)

    async def aclose(self) -> None:
        self.closed += 1


def said(text: str, message_id: str | None = "msg_1", **more: Any) -> ModelReply:
    return ModelReply(AssistantMessage.new_response(message_id, text), Usage(3, 2), **more)


def called(*uses: AssistantToolUse, **more: Any) -> ModelReply:
    return ModelReply(AssistantMessage.new_tool_use("msg_1", "I look.", list(uses)), Usage(3, 2), **more)


def use(name: str, args: dict[str, Any], use_id: str = "call_1") -> AssistantToolUse:
    return AssistantToolUse(use_id, name, name, args, args)


def request(*messages: Message, tools: Sequence[ToolSpec] = TOOLS, **more: Any) -> ModelRequest:
    return ModelRequest("m", **{"system": "Be brief.", "messages": messages or (ASK,), "tools": tools, **more})


async def heard(model: JsonDialect | DialectWhereNeeded, asked: ModelRequest) -> list[StreamItem]:
    return [item async for item in model.stream(asked)]


ANSWER = '{"final_answer": "done"}'

# asking


def an_object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def a_call(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return an_object(["name", "parameters"], name={"type": "string", "enum": [name]}, parameters=parameters)


WRITE_FILE = {
    "type": "object",
    "properties": {"path": TEXT, "content": TEXT, "mode": {"type": "string", "enum": ["create", "overwrite"]}},
    "required": ["path", "content", "mode"],
}
EDIT_FILE = {"type": "object", "properties": {"path": TEXT, "changes": TEXT}, "required": ["path", "changes"]}
OFFERED = (
    ToolSpec("read_file", "Read a file.", READ.parameters),
    ToolSpec("write_file", "Make a file. Use write_file with mode overwrite to change one.", WRITE_FILE),
    ToolSpec("edit_file", "Change parts of a file.", EDIT_FILE),
    ToolSpec("mcpThing", "Something foreign ☃; not for read_file.", {"type": "object"}),
)


def test_the_tools_as_they_are_offered() -> None:
    offer = make_offer(TOOLS)
    assert offer.specs == OFFERED
    assert offer.schemas == {spec.name: spec.parameters for spec in (*TOOLS, *OFFERED)}
    assert offer.readers == {"readFile", "read_file"}
    assert list(offer.by_name) == ["read_file", "write_file", "edit_file"]
    assert offer.said == {
        "readFile": "read_file",
        "writeFile": "write_file with mode create",
        "editFile": "write_file with mode overwrite",
        "new_content": "content",
        "edits": "changes",
    }
    assert offer.phrases == {
        "`editFile` with `new_content`": "`write_file` with mode overwrite and `content`",
        "`editFile` with `edits`": "`edit_file` with `changes`",
    }


def test_under_their_own_names_nothing_is_said_otherwise() -> None:
    offer = make_offer(TOOLS, under_own_names=True)
    assert offer.specs == tuple(ToolSpec(spec.name, spec.description, spec.parameters) for spec in TOOLS)
    assert (dict(offer.by_name), dict(offer.said), offer.readers) == ({}, {}, {"readFile"})
    assert offer.in_its_words("readFile `edits`") == "readFile `edits`"


def test_a_tool_that_only_reads_in_one_of_its_forms_is_no_reader() -> None:
    both = replace(READ, forms=(DialectForm("write_file", "look"),))
    assert make_offer((WRITE, both)).readers == {"readFile"}


WORDS = {
    "Use readFile.": "Use read_file.",
    "Use `readFile`, then `writeFile`.": "Use `read_file`, then `write_file` with mode create.",
    "Use `editFile` with `edits` or `editFile` with `new_content`.": (
        "Use `edit_file` with `changes` or `write_file` with mode overwrite and `content`."
    ),
    "edits are many; `edits` is one.": "edits are many; `changes` is one.",
    "Give new_content.": "Give content.",
    "myreadFile readFiles": "myreadFile readFiles",
    'Say readFile {"path": "ä"}.': 'Say read_file {"path": "ä"}.',
    'Say editFile {"path": "a", "edits": "b"}, or so.': 'Say edit_file {"path": "a", "changes": "b"}, or so.',
    'Say editFile {"path": "a", "new_content": "b"}': (
        'Say write_file {"path": "a", "content": "b", "mode": "overwrite"}'
    ),
    'Say other {"path": "a"}.': 'Say other {"path": "a"}.',
    "Say readFile {path}.": "Say read_file {path}.",
}


@each_row("text", WORDS)
def test_a_text_of_ours_in_the_words_of_the_offer(text: str) -> None:
    assert make_offer(TOOLS).in_its_words(text) == WORDS[text]


def test_a_call_there_and_back() -> None:
    offer = make_offer(TOOLS)
    for ours, args, theirs, spoken in (
        ("readFile", {"path": "a"}, "read_file", {"path": "a"}),
        ("writeFile", {"path": "a", "content": "x"}, "write_file", {"path": "a", "content": "x", "mode": "create"}),
        ("editFile", {"path": "a", "new_content": "x"}, "write_file", {"path": "a", "content": "x", "mode": "overwrite"}),
        ("editFile", {"path": "a", "edits": "x"}, "edit_file", {"path": "a", "changes": "x"}),
        ("mcpThing", {"e": 1}, "mcpThing", {"e": 1}),
    ):  # fmt: skip
        assert offer.spoken(ours, args) == (theirs, spoken)
        makes = {"makes": True} if spoken.get("mode") == "overwrite" else {}
        assert offer.translate(theirs, spoken) == (ours, args | makes, None)
        assert offer.spoken(ours, args | makes) == (theirs, spoken)
    assert offer.spoken("editFile", {"odd": 1}) == ("write_file", {"odd": 1, "mode": "overwrite"})
    assert offer.translate("write_file", {"path": "a", "content": "x"}) == (
        "writeFile",
        {"path": "a", "content": "x"},
        None,
    )
    assert offer.translate("write_file", {"path": "a", "mode": "append"}) == (
        "write_file",
        {"path": "a"},
        "mode of write_file must be create or overwrite. Nothing was run.",
    )


def test_the_schema_of_a_reply_holds_the_model_to_the_tools() -> None:
    calls = [a_call(spec.name, {**spec.parameters, "additionalProperties": False}) for spec in OFFERED]
    names = [spec.name for spec in OFFERED]
    any_call = an_object(["name", "parameters"], name={"type": "string", "enum": names}, parameters={"type": "object"})
    assert reply_schema(make_offer(TOOLS)) == an_object(
        ["thought", "tool_calls", "final_answer"],
        thought=TEXT,
        tool_calls={"type": "array", "items": {**any_call, "anyOf": calls}},
        final_answer=TEXT,
    )
    pointing = ToolSpec("points", "", {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}})
    only = reply_schema(make_offer((pointing,)))["properties"]["tool_calls"]["items"]
    assert only == a_call("points", {"type": "object"})


async def test_the_request_in_the_dialect() -> None:
    model = Told([said(ANSWER)], [said(ANSWER)], [said(ANSWER)])
    dialect = JsonDialect(model)
    listed = "\n".join(json.dumps(spec.to_json(), ensure_ascii=False) for spec in OFFERED)
    prompt = PROMPT.format(shape=SHAPE, tools=listed)
    await heard(dialect, request(system="Use readFile.", temperature=0.5, seed=1, max_output_tokens=9))
    await heard(dialect, request(system=""))
    await heard(dialect, request(json_schema={"type": "object"}))
    first, second, third = model.requests
    assert first == ModelRequest(
        "m", f"Use read_file.\n\n{prompt}", [ASK], (), 0.5, 1, 9, reply_schema(make_offer(TOOLS))
    )
    assert second.system == prompt
    assert third.json_schema == {"type": "object"}


async def test_without_tools_all_passes_through_as_it_is() -> None:
    items: list[StreamItem] = [TextDelta("ju"), TextDelta("st"), said("just")]
    model = Told(items)
    asked = request(tools=())
    assert await heard(JsonDialect(model), asked) == items
    assert model.requests == [asked]
    assert model.streams_closed == 1


async def test_another_offer_is_another_prompt() -> None:
    model = Told([said(ANSWER)], [said(ANSWER)], [said(ANSWER)])
    dialect = JsonDialect(model)
    for tools in (TOOLS, TOOLS[:1], TOOLS[:1]):
        await heard(dialect, request(tools=tools, system=""))
    first, second, third = (asked.system for asked in model.requests)
    assert "write_file" in first
    assert "write_file" not in second
    assert second is third


RESULTS = (
    ToolUseResult("call_1", (Json({"success": True}),), ToolResultStatus.Success),
    ToolUseResult("call_2", (Json({"error": "Use readFile first."}),), ToolResultStatus.Error),
    ToolUseResult("call_3", (Text("使 readFile"), Json([1])), ToolResultStatus.Error),
    ToolUseResult("call_4", (Json({"error": "Use readFile.", "more": 1}),), ToolResultStatus.Error),
    ToolUseResult("call_5", (Json({"error": "readFile"}),), ToolResultStatus.Success),
    ToolUseResult("call_9", (Text("{}"),), ToolResultStatus.Success),
)


def history() -> list[Message]:
    edits = [use("editFile", {"path": "a", "new_content": "é"}, "call_1"), use("read_file", {"path": "b"}, "call_2")]
    more = [use("mcpThing", {}, f"call_{number}") for number in (3, 4, 5)]
    return [
        ASK,
        AssistantMessage.new_tool_use("msg_1", "Now.", [*edits, *more]),
        UserMessage.new_tool_use_results(RESULTS),
        AssistantMessage.new_response("msg_2", "Dóne."),
        UserMessage.new_prompt("More?"),
    ]


BLOCKS = """\
<tool_response>
{"name": "editFile", "content": {"success": true}}
</tool_response>
<tool_response>
{"name": "read_file", "content": {"error": "Use read_file first."}}
</tool_response>
<tool_response>
{"name": "mcpThing", "content": "使 readFile\\n[1]"}
</tool_response>
<tool_response>
{"name": "mcpThing", "content": {"error": "Use readFile.", "more": 1}}
</tool_response>
<tool_response>
{"name": "mcpThing", "content": {"error": "readFile"}}
</tool_response>
<tool_response>
{"content": "{}"}
</tool_response>"""
SPOKEN = (
    '{"thought": "Now.", "tool_calls": [{"name": "write_file", "parameters": {"path": "a", "content": "é", "mode": '
    '"overwrite"}}, {"name": "read_file", "parameters": {"path": "b"}}, {"name": "mcpThing", "parameters": {}}, '
    '{"name": "mcpThing", "parameters": {}}, {"name": "mcpThing", "parameters": {}}], "final_answer": ""}'
)


async def test_the_history_as_the_model_would_have_said_it() -> None:
    model = Told([said(ANSWER)])
    await heard(JsonDialect(model), request(*history()))
    told = model.requests[0].messages
    assert told == [
        ASK,
        AssistantMessage.new_response("msg_1", SPOKEN),
        UserMessage.new_prompt(BLOCKS),
        AssistantMessage.new_response("msg_2", '{"thought": "", "tool_calls": [], "final_answer": "Dóne."}'),
        UserMessage.new_prompt("More?"),
    ]


async def test_results_where_the_template_has_a_role_for_them() -> None:
    model = Told([said(ANSWER)])
    await heard(JsonDialect(model, tool_role=True), request(*history()))
    renamed = ToolUseResult("call_2", (Json({"error": "Use read_file first."}),), ToolResultStatus.Error)
    assert model.requests[0].messages[2] == UserMessage.new_tool_use_results([RESULTS[0], renamed, *RESULTS[2:]])


async def test_what_the_user_said_instead_of_a_result_comes_behind_the_results() -> None:
    cancelled = UserMessage.new_steered_results(RESULTS[:1], "Stop that.")
    for tool_role in (False, True):
        model = Told([said(ANSWER)])
        await heard(JsonDialect(model, tool_role=tool_role), request(*history()[:2], cancelled))
        first = BLOCKS.partition("\n<tool_response>")[0]
        told = cancelled if tool_role else UserMessage.new_prompt(f"{first}\nStop that.")
        assert model.requests[0].messages[2] == told


async def test_each_message_is_translated_once() -> None:
    model = Told([said(ANSWER)], [said(ANSWER)])
    dialect, past = JsonDialect(model), history()
    await heard(dialect, request(*past))
    await heard(dialect, request(*past, AssistantMessage.new_response("msg_3", "x")))
    before, after = (asked.messages for asked in model.requests)
    assert all(one is other for one, other in zip(before, after, strict=False))
    assert len(after) == len(before) + 1


async def test_another_beginning_is_another_message() -> None:
    model, other = Told([said(ANSWER)], [said(ANSWER)]), UserMessage.new_prompt("Again.")
    dialect = JsonDialect(model)
    for message in (ASK, other):
        await heard(dialect, request(message))
    assert [asked.messages for asked in model.requests] == [[ASK], [other]]


async def test_a_result_is_translated_anew_behind_another_message() -> None:
    model = Told([said(ANSWER)], [said(ANSWER)])
    dialect, past = JsonDialect(model), history()
    await heard(dialect, request(*past[:3]))
    renamed = AssistantMessage.new_tool_use("msg_1", "Now.", [use("readFile", {}, "call_1")])
    await heard(dialect, request(past[0], renamed, past[2]))
    assert '{"name": "readFile", "content": {"success": true}}' in str(model.requests[1].messages[2].prompt)


# what becomes of a reply


async def test_an_answer_is_shown_once_and_the_raw_text_never() -> None:
    notice = ModelNotice(Sentence("waiting"))
    model = Told([TextDelta("{"), notice, said(ANSWER, stop="end")])
    items = await heard(JsonDialect(model), request())
    assert items == [Working("writing", 1), notice, TextDelta("done"), said("done", rung="json", stop="end")]
    assert model.streams_closed == 1


async def test_calls_come_out_as_native_ones_would() -> None:
    text = json.dumps(
        {
            "thought": "I look.",
            "tool_calls": [
                {"name": "edit_file", "parameters": {"path": "a", "changes": "x"}},
                {"name": "write_file", "parameters": {"path": "a", "mode": "append"}},
            ],
            "final_answer": "provisional",
        }
    )
    items = await heard(JsonDialect(Told([said(text)])), request(*history()))
    reason = "mode of write_file must be create or overwrite. Nothing was run."
    uses = [
        AssistantToolUse(
            "call_10", "edit_file", "editFile", {"path": "a", "changes": "x"}, {"path": "a", "edits": "x"}
        ),
        AssistantToolUse("call_11", "write_file", "write_file", {"path": "a", "mode": "append"}, {"path": "a"}),
    ]
    message = AssistantMessage.new_tool_use("msg_1", "I look.", uses)
    ids = [each.id for each in items[-1].message.tool_uses]  # type: ignore[union-attr]
    assert len({*ids, *(each.id for each in history()[1].tool_uses)}) == 7  # type: ignore[union-attr]
    named = [replace(each, id=new) for each, new in zip(uses, ids, strict=True)]
    whole = ModelReply(replace(message, tool_uses=named), Usage(3, 2), "json", "tool_calls", {ids[1]: reason})
    assert items == [TextDelta("I look."), whole]


async def test_calls_without_a_thought_show_nothing() -> None:
    items = await heard(JsonDialect(Told([said('{"name": "read_file", "parameters": {"path": "a"}}')])), request())
    assert [type(item) for item in items] == [ModelReply]


async def test_calls_that_the_server_found_itself() -> None:
    model = Told([called(use("functions.read_file:0", {"path": "a"}))])
    (delta, reply) = await heard(JsonDialect(model), request())
    assert delta == TextDelta("I look.")
    assert isinstance(reply, ModelReply)
    assert (reply.rung, reply.stop) == ("native", "tool_calls")
    (found,) = reply.message.tool_uses or ()
    assert (found.name, found.orig_name, found.args) == ("read_file", "readFile", {"path": "a"})


PLAIN_TEXT = "the reply is plain text; one JSON object was asked for"
LIMIT = "{failure}; it reached the output limit, so write less at a time"
UNREAD = {
    "plain text": (said("Hello!"), PLAIN_TEXT),
    "an invalid call": (called(use("read_file", {}), invalid_calls={"call_1": "broken", "call_2": "x"}), "broken"),
    "held back": (said(" ", stop="filter"), "the provider held the reply back"),
    "held back behind words": (said("Hello!", stop="filter"), PLAIN_TEXT),
    "the limit": (said("Hello!", stop="length"), Sentence(LIMIT, failure=PLAIN_TEXT)),
    "nothing": (said(""), "the reply is empty"),
}


@each_row("kind", UNREAD)
async def test_what_cannot_be_read_is_asked_for_again_with_the_reason(kind: str) -> None:
    reply, problem = UNREAD[kind]
    model = Told([reply], [said(ANSWER, "msg_2")])
    items = await heard(JsonDialect(model), request())
    reason = Sentence("The reply could not be read: {problem}.", problem=problem)
    again = replace(said("done", "msg_2", rung="json"), usage=Usage(6, 4))
    assert items == [Retrying(reason, 2, 0.0, 2, "bad_reply"), TextDelta("done"), again]
    first, second = model.requests
    complaint = COMPLAINT.format(reason=problem, shape=SHAPE)
    quoted = AssistantMessage.new_response(None, reply.message.content or "(nothing)")
    assert second == replace(first, messages=(*first.messages, quoted, UserMessage.new_prompt(complaint)))
    assert model.streams_closed == 2


async def test_of_a_long_reply_the_beginning_is_quoted() -> None:
    model = Told([said("x" * 2 * MAX_QUOTED_REPLY)], [said(ANSWER)])
    await heard(JsonDialect(model), request())
    assert model.requests[1].messages[-2].content == "x" * MAX_QUOTED_REPLY


async def test_what_cannot_be_read_twice_is_an_error() -> None:
    model = Told([said("Hello!")], [said("")])
    with pytest.raises(FormatError) as error:
        await heard(JsonDialect(model), request())
    assert str(error.value) == (
        "m did not keep to the JSON dialect, even after it was given the reason: the reply is empty. Try a larger "
        "model, or one with tool calls of its own."
    )


async def test_a_stream_without_a_reply_is_an_error() -> None:
    with pytest.raises(BadReplyError) as error:
        await heard(JsonDialect(Told([TextDelta("x")])), request())
    assert str(error.value) == "The model's stream ended without a reply. Ask again, or choose another model."


async def test_writes_of_an_object_cut_at_the_output_limit_are_not_run() -> None:
    calls = (
        '{"tool_calls": [{"name": "read_file", "parameters": {"path": "a"}}, {"name": "write_file", "parameters": {}}]}'
    )
    model = Told([said(calls, stop="length")])
    reply = (await heard(JsonDialect(model), request()))[-1]
    assert isinstance(reply, ModelReply)
    uses = reply.message.tool_uses or ()
    assert [each.id in reply.invalid_calls for each in uses] == [False, True]


# when it is spoken

PRINTED = '{"name": "readFile", "arguments": {"path": "a"}}'
PRINTS = Sentence(
    "{model} prints its tool calls as text. They were understood; until it answers in prose it is asked in the JSON "
    "dialect.",
    model="m",
)


async def test_a_native_reply_passes_as_it_is() -> None:
    for reply in (said("Just words."), called(use("readFile", {"path": "a"})), said(PRINTED.replace("readFile", "x"))):
        model = Told([TextDelta("J"), reply])
        assert await heard(DialectWhereNeeded(model), request()) == [TextDelta("J"), reply]
        assert model.requests == [request()]
        assert model.streams_closed == 1


async def test_a_model_without_tool_calls_is_asked_in_the_dialect() -> None:
    for tool_role in (None, True, False):
        model = Told([said(ANSWER)], info=ModelInfo("m", "told", tools=False, tool_role=tool_role))
        items = await heard(DialectWhereNeeded(model), request(*history()))
        assert items == [TextDelta("done"), said("done", rung="json")]
        assert model.requests[0].tools == ()
        told = model.requests[0].messages[2]
        assert (told.tool_use_results is None) is (tool_role is False)


async def test_without_tools_it_is_asked_plainly_whatever_it_is_able_to_do() -> None:
    model = Told([said("x")], info=ModelInfo("m", "told", tools=False))
    assert await heard(DialectWhereNeeded(model), request(tools=())) == [said("x")]
    assert model.requests[0].system == "Be brief."


async def test_a_server_that_cannot_be_asked_is_left_to_the_request() -> None:
    model = Told([said("x")], info=ModelError("no"))
    assert await heard(DialectWhereNeeded(model), request()) == [said("x")]


async def test_a_model_that_prints_its_calls_is_understood_and_asked_in_the_dialect() -> None:
    model = Told([said(PRINTED)], [said(ANSWER)])
    dialect = DialectWhereNeeded(model, reads_printed_calls=True)
    notice, reply = await heard(dialect, request())
    assert notice == ModelNotice(PRINTS)
    assert isinstance(reply, ModelReply)
    assert reply == replace(
        called(use("readFile", {"path": "a"})), message=reply.message, rung="json", stop="tool_calls"
    )
    assert [(each.name, each.orig_args) for each in reply.message.tool_uses or ()] == [("readFile", {"path": "a"})]
    assert await heard(dialect, request()) == [TextDelta("done"), said("done", rung="json")]
    assert [bool(asked.tools) for asked in model.requests] == [True, False]


@pytest.mark.parametrize(
    "printed",
    [
        '{"name": "write_file", "arguments": {"path": "a", "content": "x", "mode": "create"}}',
        '{"thought": "", "tool_calls": [{"name": "write_file", "parameters": {"path": "a", "content": "x", "mode": '
        '"create"}}], "final_answer": ""}',
        '<tool_call>{"name": "write_file", "arguments": {"path": "a", "content": "x", "mode": "create"}}</tool_call>',
    ],
)
async def test_a_call_printed_under_the_dialects_name_is_understood_too(printed: str) -> None:
    model = Told([said(printed)], [said(ANSWER)])
    dialect = DialectWhereNeeded(model, reads_printed_calls=True)
    notice, reply = await heard(dialect, request())
    assert notice == ModelNotice(PRINTS)
    assert isinstance(reply, ModelReply)
    [made] = reply.message.tool_uses or ()
    assert (made.name, made.orig_name) == ("write_file", "writeFile")
    assert made.orig_args == {"path": "a", "content": "x"}
    assert await heard(dialect, request()) == [TextDelta("done"), said("done", rung="json")]


async def test_the_first_prose_of_a_model_that_printed_a_call_is_its_answer_and_it_is_native_again() -> None:
    model = Told([said(PRINTED)], [said(PRINTED)], [said("Just words.")], [said("Native.")])
    dialect = DialectWhereNeeded(model, reads_printed_calls=True)
    for _ in range(2):
        await heard(dialect, request())
    assert await heard(dialect, request()) == [TextDelta("Just words."), said("Just words.")]
    assert await heard(dialect, request()) == [said("Native.")]
    assert [bool(asked.tools) for asked in model.requests] == [True, False, False, True]


async def test_a_broken_object_of_a_model_that_printed_a_call_is_asked_for_once_more() -> None:
    model = Told([said(PRINTED)], [said('{"tool_calls": [{"name":')], [said(ANSWER)])
    dialect = DialectWhereNeeded(model, reads_printed_calls=True)
    await heard(dialect, request())
    reply = (await heard(dialect, request()))[-1]
    assert isinstance(reply, ModelReply)
    assert (reply.message.content, reply.rung) == ("done", "json")


async def test_a_printed_call_is_an_answer_where_models_have_tool_calls() -> None:
    model = Told([said(PRINTED)], [said("Native.")])
    dialect = DialectWhereNeeded(model)
    assert await heard(dialect, request()) == [said(PRINTED)]
    assert await heard(dialect, request()) == [said("Native.")]
    assert all(asked.tools for asked in model.requests)


@pytest.mark.parametrize("words", ["does not support tools", "tool choice requires", "tools param requires"])
async def test_a_server_that_refuses_tools_is_asked_in_the_dialect_from_then_on(words: str) -> None:
    model = Told([BadReplyError(f"x {words} y")], [said(ANSWER)], [said("prose")], [said(ANSWER)])
    dialect = DialectWhereNeeded(model, reads_printed_calls=True)
    assert await heard(dialect, request()) == [TextDelta("done"), said("done", rung="json")]
    reply = (await heard(dialect, request()))[-1]  # prose is no answer of such a model
    assert isinstance(reply, ModelReply)
    assert (reply.message.content, reply.rung) == ("done", "json")
    assert [bool(asked.tools) for asked in model.requests] == [True, False, False, False]


async def test_any_other_refusal_is_one() -> None:
    model = Told([BadReplyError("x")], [said("Native.")])
    dialect = DialectWhereNeeded(model)
    with pytest.raises(BadReplyError, match="x"):
        await heard(dialect, request())
    assert await heard(dialect, request()) == [said("Native.")]


async def test_a_remark_is_said_once_before_the_first_reply() -> None:
    dialect = DialectWhereNeeded(Told([said("a")], [said("b")]), Sentence("Mind it."))
    assert await heard(dialect, request()) == [ModelNotice(Sentence("Mind it.")), said("a")]
    assert await heard(dialect, request()) == [said("b")]


async def test_all_else_is_the_wrapped_models() -> None:
    model = Told(info=ModelInfo("x", "told"))
    dialect = DialectWhereNeeded(model)
    assert dialect.provider == "told"
    assert await dialect.list_models() == [ModelInfo("m", "told")]
    assert await dialect.describe("x") == ModelInfo("x", "told")
    await dialect.aclose()
    assert model.closed == 1


async def test_a_name_with_tokens_left_on_it_is_freed_of_them() -> None:
    reply = called(use("functions.readFile:0", {"path": "a"}), use("unheard", {}, "call_2"))
    (found,) = await heard(DialectWhereNeeded(Told([reply])), request())
    freed = [use("readFile", {"path": "a"}), use("unheard", {}, "call_2")]
    assert found == called(*freed)
    assert with_known_names(reply, request()) == found


LOOKS = {
    PRINTED: True,
    f"  {PRINTED}\n": True,
    f"[{PRINTED}]": True,
    "<readFile>": True,
    PRINTED.replace("readFile", "read_file"): True,
    f"```json\n{PRINTED}\n```": True,
    f"```json\n{PRINTED}\n``` ": True,
    f"```json\n{PRINTED}\n```x": False,
    f"x```json\n{PRINTED}\n```": False,
    f"```\n{PRINTED}\n```\n```": False,
    f"So: {PRINTED}": False,
    '{"name": "other"}': False,
    "": False,
}


@each_row("text", LOOKS)
def test_a_cheap_look_at_a_text_that_may_be_calls(text: str) -> None:
    assert may_print_calls(said(text), request()) is LOOKS[text]
    assert not may_print_calls(said(text), request(tools=()))
    assert not may_print_calls(replace(called(use("readFile", {})), usage=Usage()), request())


def test_a_name_that_was_not_offered() -> None:
    assert not has_unknown_names(said("x"), request())
    assert not has_unknown_names(called(use("readFile", {}), use("mcpThing", {})), request())
    assert has_unknown_names(called(use("readFile", {}), use("read_file", {})), request())


@each_row(
    "text",
    [
        "Hello!",
        ANSWER,
        '{"name": "unheard", "arguments": {"a": 1}}',
        f'[{PRINTED}, {{"name": "unheard", "arguments": {{"a": 1}}}}]',
        f"So: {PRINTED}",
        "{'name': 'readFile', 'arguments': {'path': 'a'}}",
        PRINTED[:-1],
    ],
)
def test_a_text_that_is_no_plain_call_of_an_offered_tool_stays(text: str) -> None:
    reply = said(text)
    assert with_printed_calls(reply, request()) is reply
