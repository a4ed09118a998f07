"""One exchange of a chat: the context is built, the model answers, and both become a node."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from nebula.graph.context.preview import ContextPreview, preview_context
from nebula.graph.context.text import asked_ids
from nebula.graph.errors import GraphError
from nebula.graph.tokens import counter
from nebula.graph.values import Text, Usage
from nebula.language import explain, translate, translate_count
from nebula.llm.contract import ModelNotice, ModelReply, ModelRequest, Retrying, TextDelta
from nebula.llm.errors import BadReplyError
from nebula.messages import UserMessage, strip_hidden_characters
from nebula.messages.redaction import Redactor

if TYPE_CHECKING:
    from nebula.graph.graph import Graph
    from nebula.graph.values import Node
    from nebula.llm.choose import ChosenModel

MAX_DETAILS = 2
"""How often in one exchange the model may ask for a node in full."""


class Audience(Protocol):
    """Who hears the exchange as it goes on."""

    def piece(self, text: str) -> None:
        """A part of the answer, not final yet."""

    def void(self, reason: str) -> None:
        """The pieces so far do not count; a new answer begins."""

    def remark(self, text: str) -> None: ...


@dataclass(slots=True)
class Exchange:
    graph: Graph
    model: ChosenModel
    audience: Audience
    budget: int
    lang: str
    redactor: Redactor
    """What becomes a node is meant for git: no key goes into it."""

    async def ask(
        self, prompt: str, parents: Sequence[str], flow: Callable[[], str], branch: str | None = None
    ) -> Node:
        """Raises ModelError; then nothing is stored. `flow` names the flow once there is something to put in it."""
        full: list[str] = []
        while True:
            preview = await asyncio.to_thread(self._context, parents, prompt, full)
            if preview.left_out:
                self.audience.remark(
                    translate_count(
                        len(preview.left_out),
                        "{count} earlier node did not fit and was left out.",
                        "{count} earlier nodes did not fit and were left out.",
                    )
                )
            heard = await self._answer(prompt, preview)
            wanted = await asyncio.to_thread(self._wanted, heard.text, preview, full)
            if not wanted or len(full) >= MAX_DETAILS:
                break
            full += wanted[: MAX_DETAILS - len(full)]
            self.audience.remark(translate("The model asked for the details of {ids}.", ids=", ".join(wanted)))
            self.audience.void("")
        count = counter(self.model.name)
        texts = (
            Text("user", self.redactor.text(prompt), count(prompt), heard.first_s),
            Text("assistant", self.redactor.text(heard.text), heard.output or count(heard.text), heard.rest_s),
        )
        return await asyncio.to_thread(
            lambda: self.graph.add_turn(
                texts=texts,
                parents=parents,
                flow=flow(),
                branch=branch,
                model=self.model.name,
                usage=Usage(heard.input, heard.output),
            )
        )

    def _context(self, parents: Sequence[str], prompt: str, full: Sequence[str]) -> ContextPreview:
        return preview_context(
            self.graph, parents, prompt, budget=self.budget, full=full, model=self.model.name, lang=self.lang
        )

    async def _answer(self, prompt: str, preview: ContextPreview) -> Heard:
        said = UserMessage.new_prompt(strip_hidden_characters(prompt))
        request = ModelRequest(model=self.model.name, system=preview.system, messages=[said])
        start = time.monotonic()
        first = 0.0
        async for item in self.model.connector.stream(request):
            if isinstance(item, TextDelta):
                first = first or time.monotonic() - start
                self.audience.piece(item.text)
            elif isinstance(item, Retrying):
                self.audience.void(explain(item.reason))
            elif isinstance(item, ModelNotice):
                continue
            elif isinstance(item, ModelReply):
                whole = time.monotonic() - start
                text, usage = item.message.content, item.usage
                if empty := item.why_empty:
                    raise BadReplyError(empty.sentence, **empty.values)
                return Heard(text, first or whole, whole - first, usage.input_tokens, usage.output_tokens)
        raise BadReplyError("The model's stream ended without a reply. Ask again, or choose another model.")

    def _wanted(self, answer: str, preview: ContextPreview, full: Sequence[str]) -> list[str]:
        """Nodes whose details the answer asks for, in the words that the context offered."""
        have = {part.node_id for part in preview.parts if part.form == "full"} | set(full)
        known = []
        for node_id in asked_ids(answer):
            try:
                if node_id not in have and self.graph.get_node(node_id):
                    known.append(node_id)
            except GraphError:
                continue  # an id that the model made up
        return known


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer, how long the first word and the rest took, and what it cost."""

    text: str
    first_s: float
    rest_s: float
    input: int
    output: int
