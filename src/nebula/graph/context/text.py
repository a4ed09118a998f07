"""The words of a context (seed §7.3): how a node is shown in full, as a summary, by its tags, and what is around.

Japanese is the seed's own wording, letter for letter; English says the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nebula.graph.summaries.extract import cut, extracted_summary, is_extract
from nebula.graph.tokens import estimate_tokens
from nebula.graph.values import Node
from nebula.value import replace, value


@value
class Words:
    opening: str
    current: str
    flow: str
    references: str
    prompt: str
    answer: str
    left_out: str
    ask: str


JAPANESE = Words(
    opening="以下の情報を参照して回答してください：",
    current="1. 現在のフロー:",
    flow="2. 会話の流れ:",
    references="3. 参照情報:",
    prompt="[プロンプト]",
    answer="[回答]",
    left_out="（トークン予算のため {count} 個のノードを省略）",
    ask="詳細情報が必要な場合は「[ノードID]の詳細を知りたい」と指示できます。",
)
ENGLISH = Words(
    opening="Answer with the following information in mind:",
    current="1. Current flow:",
    flow="2. The conversation so far:",
    references="3. References:",
    prompt="[prompt]",
    answer="[answer]",
    left_out="({count} nodes left out to stay within the token budget)",
    ask='If you need more, say "I want to know the details of [node id]".',
)

AGENT = replace(
    ENGLISH,
    opening="# Earlier in this conversation",
    flow="Turns that are not shown in full, oldest first:",
    references="Turns that the user refers to:",
    left_out="({count} more were left out)",
    ask="`readNode` with an id gives that turn in full; with a range (turns 1-100) or with words it lists turns.",
)

_SEAMS = 6
"""Pieces put together can cost a little more than each alone."""

ID = r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_MENTION = re.compile(rf"(?<![0-9A-Za-z-])({ID})(?![0-9A-Za-z-])")


def words(lang: str) -> Words:
    return ENGLISH if lang == "en" else JAPANESE


def mentioned_ids(text: str) -> list[str]:
    """Node ids that stand in a string, each once."""
    return list(dict.fromkeys(match.lower() for match in _MENTION.findall(text)))


def full_text(node: Node, say: Words) -> str:
    return f"[{node.id}]\n{say.prompt}\n{node.prompt}\n{say.answer}\n{node.response}"


def summary_text(node: Node, room: int) -> str:
    """Return the node's summary; where there is none that a model or a person wrote, as much of its text as `room`
    takes."""
    head = f"[{node.id}]: "
    if node.summary and not node.updated and not is_extract(node.summary):
        return head + one_line(node.summary)
    whole = f"{one_line(node.prompt)} → {one_line(node.response)}"
    room -= estimate_tokens(head)
    if len(whole) < room * 6 and estimate_tokens(whole) <= room:  # no text of that length costs less
        return head + whole
    return head + extracted_summary(node.prompt, node.response, max(room, 1))


def shortened_text(node: Node, room: int, say: Words) -> str:
    """Return a node too large to be shown in full: the beginning of its prompt, beginning and end of its answer."""
    room -= estimate_tokens(f"[{node.id}]\n{say.prompt}\n\n{say.answer}\n\n") + _SEAMS
    prompt = cut(node.prompt, max(room // 4, 1))
    room -= estimate_tokens(prompt)
    head = cut(node.response, max(room * 2 // 3, 1))
    tail = "" if head == node.response else cut(node.response[::-1], max(room - estimate_tokens(head), 1))[::-1]
    return f"[{node.id}]\n{say.prompt}\n{prompt}\n{say.answer}\n{head}{tail}"


def tags_text(node: Node) -> str:
    return f"[{node.id}]: {hashtags(node)}"


def reference_text(node: Node, room: int) -> str:
    return f"{summary_text(node, room)} {hashtags(node)}".rstrip()


def hashtags(node: Node) -> str:
    return " ".join("#" + tag.replace(" ", "_") for tag in node.tags)


def one_line(text: str) -> str:
    return " ".join(text.split())


def layout(say: Words, prompt: str, flow: Sequence[str], references: Sequence[str], left_out: int) -> str:
    """Return the whole context as text. `prompt` may be empty: then it is sent as a message of its own, and section 1
    is missing."""
    sections = [say.opening]
    if prompt:
        sections.append(f"{say.current}\n{prompt}")
    if flow or left_out:
        lines = [say.left_out.format(count=left_out)] if left_out else []
        sections.append("\n".join([say.flow, *lines, *flow]))
    if references:
        sections.append("\n".join([say.references, *references]))
    sections.append(say.ask)
    return "\n\n".join(sections)
