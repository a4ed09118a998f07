"""The conversation as Markdown: a heading for each turn, the prompt as a quotation, the answer as it was written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from nebula.exchange.export.excerpt import Excerpt, shorten_ids
from nebula.graph.values import Connection, Node, Utterance
from nebula.language import translate
from nebula.messages import AssistantMessage, MessageFormatError, ToolUseResult
from nebula.messages.json_forms import own_json

MOST_OF_A_RESULT = 2000
"""Characters of what a tool returned that are shown; JSON has all of it."""


def write_markdown(excerpt: Excerpt) -> str:
    parents, short = excerpt.parents(), shorten_ids(excerpt)
    parts = [f"# {one_line(excerpt.title)}"]
    if excerpt.description:
        parts.append(excerpt.description)
    before = ""
    for number, node in enumerate(excerpt.nodes, 1):
        parts.append("\n\n".join(_turn(number, node, parents.get(node.id, ()), before, short)))
        before = node.id
    return "\n\n".join(parts) + "\n"


def _turn(
    number: int, node: Node, parents: Sequence[Connection], before: str, short: Mapping[str, str]
) -> Iterator[str]:
    yield f"## {number}. {' · '.join(headline(node, short))}"
    if place := tell_place(parents, before, short):
        yield f"*{place}*"
    for name in dict.fromkeys(each.name for each in node.attachments):
        yield f"*{translate('attached: {name}', name=one_line(name))}*"
    yield "\n".join(f"> {line}".rstrip() for line in node.prompt.splitlines()) or "> "
    for text in node.texts:
        if text.role == "tool":
            yield "\n\n".join(fence(told) for told in tell_tool(text))
    yield node.response.strip("\n")
    if node.files:
        yield "\n".join(f"- `{each.path}` ({kind_of_change(each.before, each.after)})" for each in node.files)


def headline(node: Node, short: Mapping[str, str]) -> list[str]:
    """Return what stands beside a turn's number: its id, time, model and tags, those that are known."""
    told = [short.get(node.id, node.id), node.timestamp[:16].replace("T", " "), one_line(node.model)]
    return [*filter(None, told), *(f"#{one_line(tag)}" for tag in node.tags)]


def tell_place(parents: Sequence[Connection], before: str, short: Mapping[str, str]) -> str:
    """Return what a turn continues, where that is not simply the one shown before it."""
    named = ", ".join(each.branch for each in parents if each.branch)
    sources = [each.source for each in parents]
    branch = translate("branch {name}", name=one_line(named)) if named else ""
    if not sources:
        return translate("a new beginning") if before else ""
    if sources == [before]:
        return branch
    after = translate("continues {turns}", turns=", ".join(short.get(each, each) for each in sources))
    return f"{after}, {branch}" if branch else after


def kind_of_change(before: str, after: str) -> str:
    if not before and not after:
        return translate("touched")
    return translate("created") if not before else translate("deleted") if not after else translate("changed")


def tell_tool(text: Utterance) -> Iterator[str]:
    """Yield what a round of tools did, a text for each: the calls, then what came of them."""
    try:
        held = json.loads(text.text)
        message = AssistantMessage.from_json(held["message"])
        results = [ToolUseResult.from_json(each) for each in held["results"]]
    except (ValueError, KeyError, TypeError, MessageFormatError, RecursionError):
        yield _cut(text.text)  # of another agent, or edited
        return
    for use in message.tool_uses or ():
        yield _cut(f"{use.orig_name} {json.dumps(own_json(use.args), ensure_ascii=False)}")
    for result in results:
        yield _cut("\n".join(block.as_text() for block in result.content))


def _cut(text: str) -> str:
    rest = len(text) - MOST_OF_A_RESULT
    return text if rest <= 0 else f"{text[:MOST_OF_A_RESULT]}\n… ({rest:,})"


def fence(text: str) -> str:
    """Return the text as a block of code that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}\n{text}\n{marks}"


def one_line(text: str) -> str:
    return " ".join(text.split())
