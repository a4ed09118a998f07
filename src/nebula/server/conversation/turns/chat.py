"""Plain chat over the graph, for `vizprompt serve`: the path to a node is the context, and there are no tools."""

from __future__ import annotations

import asyncio

from nebula.agent.loop import Turn, run_turn
from nebula.agent.turn_archive import NodeWriter, TurnArchive
from nebula.config import Settings
from nebula.events import EventStream, Reader, Task, now
from nebula.graph.context.preview import ContextPreview, preview_context
from nebula.graph.graph import Graph
from nebula.llm.choose import choose_model
from nebula.messages import UserMessage, strip_hidden_characters
from nebula.messages.redaction import Redactor
from nebula.server.conversation.turns.context_size import ContextSize
from nebula.server.conversation.turns.turns import Ask, Job
from nebula.tools.toolset import ToolSet

SHARE_FOR_CONTEXT = 0.6
"""How much of the model's context the path may fill; the rest is for prompt and answer."""


class ChatTurns:
    def __init__(self, settings: Settings, graph: Graph) -> None:
        self._settings = settings
        self._archive = TurnArchive(lambda: graph)
        self._redactor = Redactor(settings.secrets)
        self._graph = graph
        self._size = ContextSize(settings)

    async def run(self, job: Job, hear: Reader, _ask: Ask) -> None:
        chosen = await choose_model(self._settings)
        try:
            context = await asyncio.to_thread(self._context, job, chosen.name, chosen.context)
            writer = NodeWriter(self._archive, "", chosen, job.flow)
            turn = Turn(
                stream=EventStream("", job.trace_id, (writer,), (hear,), self._redactor),
                model=chosen.connector,
                model_name=chosen.name,
                system=context.system,
                history=[],
                tools=ToolSet.of(()),
                max_rounds=self._settings.max_rounds,
                node_id=job.trace_id,
            )
            task = Task(job.prompt, "chat", chosen.name, chosen.provider, job.parents, job.references)
            await run_turn(turn, task, UserMessage.new_prompt(strip_hidden_characters(job.prompt), now()))
        finally:
            await chosen.connector.aclose()

    async def preview(self, job: Job) -> ContextPreview:
        return await asyncio.to_thread(self._context, job, *await self._size.known())

    def _context(self, job: Job, model: str, tokens: int) -> ContextPreview:
        return preview_context(
            self._graph,
            job.parents,
            job.prompt,
            references=job.references,
            budget=int(tokens * SHARE_FOR_CONTEXT),
            flow=job.known_flow,
            model=model,
            lang=self._settings.lang,
        )

    async def close(self) -> None:
        """Nothing is kept between turns."""
