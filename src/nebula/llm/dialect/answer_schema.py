"""Answers that have to be JSON of the user's own schema: the model is told, and asked once more where it is not."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final

from nebula.errors import EXIT_USAGE, NebulaError
from nebula.files.untrusted_json import parse_json
from nebula.language import Sentence
from nebula.llm.contract import Model, ModelReply, ModelRequest, Retrying, StreamItem, Usage, WrappedModel
from nebula.llm.errors import BadReplyError, FormatError
from nebula.messages import AssistantMessage, UserMessage
from nebula.value import replace

ATTEMPTS: Final = 2
MOST_BYTES: Final = 1 << 20
_TOLD: Final = """\
# The form of your answer

Your last message, the one in which you call no more tools, is JSON of this schema and nothing else: no words around \
it, no code fence.

{schema}"""
_COMPLAINT: Final = "That is not JSON of the schema: {problem}. Answer once more, with the JSON alone."


class BadSchema(NebulaError):
    """Raised when the file of a schema cannot be used."""

    kind = "start"
    exit_code = EXIT_USAGE


class AnswerSchema:
    """A JSON schema. Nothing is fetched for it: what it refers to stands in it. Making one raises BadSchema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        import jsonschema  # type: ignore[import-untyped]
        from referencing import Registry

        self.text = json.dumps(schema, ensure_ascii=False)
        if not isinstance(schema.get("$schema", ""), str):
            raise BadSchema("The schema is not a valid JSON Schema: {problem}", problem="$schema")
        kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
        try:
            kind.check_schema(schema)
        except jsonschema.SchemaError as problem:
            raise BadSchema("The schema is not a valid JSON Schema: {problem}", problem=problem.message) from None
        _require_references(schema)
        self._validator = kind(schema, registry=Registry())
        self.read("null")  # a schema that goes round in a circle does so for any answer

    def read(self, text: str) -> tuple[str, Sentence | str | None]:
        """Return an answer without a fence around it, and what is wrong with it; None where nothing is."""
        bare = _without_fence(text)
        try:
            found = parse_json(bare)
        except ValueError:
            return bare, Sentence("it is not JSON")
        try:
            first = next(iter(self._validator.iter_errors(found)), None)
        except RecursionError:
            raise BadSchema("The schema refers to itself without end.") from None
        return bare, None if first is None else f"{first.json_path}: {first.message}"


def _require_references(schema: Mapping[str, Any]) -> None:
    """Raise BadSchema where the schema refers to something that it does not hold, before a model is asked."""
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    whole = Resource.from_contents(schema, default_specification=DRAFT202012)
    pending = [(whole, Registry().resolver_with_root(whole))]
    while pending:
        part, resolver = pending.pop()
        if isinstance(part.contents, Mapping):
            for key in ("$ref", "$dynamicRef"):
                ref = part.contents.get(key)
                try:
                    if isinstance(ref, str):
                        resolver.lookup(ref)
                except Unresolvable:
                    raise BadSchema("The schema refers to {ref}, which is not in it.", ref=ref) from None
        pending += [(each, resolver.in_subresource(each)) for each in part.subresources()]


def read_schema(path: str) -> AnswerSchema:
    """Return the schema in a file. Raises BadSchema."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(MOST_BYTES + 1)
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise BadSchema("{path} cannot be read: {reason}", path=path, reason=reason) from None
    try:
        schema = parse_json(text) if len(text) <= MOST_BYTES else None
    except ValueError:
        schema = None
    if not isinstance(schema, dict):
        raise BadSchema("{path} does not hold a JSON Schema (a JSON object).", path=path)
    return AnswerSchema(schema)


def _without_fence(text: str) -> str:
    bare = text.strip()
    if bare.startswith("```") and bare.endswith("```") and "\n" in bare:
        bare = bare.partition("\n")[2].removesuffix("```").strip()
    return bare


class AnswersInSchema(WrappedModel):
    """A model whose last messages are JSON of a schema."""

    def __init__(self, model: Model, schema: AnswerSchema) -> None:
        super().__init__(model)
        self._schema = schema

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        told = _TOLD.format(schema=self._schema.text)
        asked = replace(request, system=f"{request.system}\n\n{told}" if request.system else told)
        used = Usage()
        for attempt in range(1, ATTEMPTS + 1):
            reply: ModelReply | None = None
            async with aclosing(self._model.stream(asked)) as items:
                async for item in items:
                    if isinstance(item, ModelReply):
                        reply = item
                    else:
                        yield item
            if reply is None:
                raise BadReplyError("The model's stream ended without a reply. Ask again, or choose another model.")
            used += reply.usage
            reply = replace(reply, usage=used)
            if reply.message.tool_uses:
                yield reply
                return
            bare, problem = self._schema.read(reply.message.content)
            if problem is None:
                yield replace(reply, message=AssistantMessage.new_response(reply.message.message_id, bare))
                return
            if attempt == ATTEMPTS:
                raise FormatError(
                    "{model} did not answer with JSON that matches the schema, even when asked again: {problem}.",
                    model=request.model,
                    problem=problem,
                    usage=used,
                )
            reason = Sentence("The answer is not JSON that matches the schema: {problem}.", problem=problem)
            yield Retrying(reason, attempt + 1, 0.0, ATTEMPTS, "bad_reply")
            complaint = UserMessage.new_prompt(_COMPLAINT.format(problem=problem))
            said = (reply.message,) if reply.message.content.strip() else ()  # no server takes one without a word
            asked = replace(asked, messages=(*asked.messages, *said, complaint))
