"""Plain chat over the graph, for `vizprompt serve`: the path to a node is the context, and there are no tools."""

from __future__ import annotations

import asyncio

from nebula.agent.assembly import secrets_of
from nebula.agent.loop import Turn, run_turn
from nebula.agent.turn_archive import NodeWriter, TurnArchive
from nebula.config import Settings
from nebula.events import EventStream, Reader, Task, now
from nebula.graph.context.preview import preview_context
from nebula.graph.graph import Graph
from nebula.llm.choose import choose_model
from nebula.messages import UserMessage, strip_hidden_characters
from nebula.messages.redaction import Redactor
from nebula.server.conversation.turns.turns import Ask, Job
from nebula.tools.toolset import ToolSet

SHARE_FOR_CONTEXT = 0.6
"""How much of the model's context the path may fill; the rest is for prompt and answer."""


class ChatTurns:
    takes_references = True

    def __init__(self, settings: Settings, graph: Graph) -> None:
        self._settings = settings
        self._archive = TurnArchive(lambda: graph)
        self._redactor = Redactor(secrets_of(settings))
        self._graph = graph

    async def run(self, job: Job, hear: Reader, _ask: Ask) -> None:
        chosen = await choose_model(self._settings)
        try:
            budget = int(chosen.context * SHARE_FOR_CONTEXT)
            system = await asyncio.to_thread(self._context, job, chosen.name, budget)
            writer = NodeWriter(self._archive, "", chosen, job.flow)
            turn = Turn(
                stream=EventStream("", job.trace_id, (writer,), (hear,), self._redactor),
                model=chosen.connector,
                model_name=chosen.name,
                system=system,
                history=[],
                tools=ToolSet.of(()),
                max_rounds=self._settings.max_rounds,
                node_id=job.trace_id,
            )
            task = Task(job.prompt, "chat", chosen.name, chosen.provider, job.parents)
            await run_turn(turn, task, UserMessage.new_prompt(strip_hidden_characters(job.prompt), now()))
        finally:
            await chosen.connector.aclose()

    def _context(self, job: Job, model: str, budget: int) -> str:
        if not job.parents and not job.references:
            return ""
        return preview_context(
            self._graph,
            job.parents,
            job.prompt,
            references=job.references,
            budget=budget,
            model=model,
            lang=self._settings.lang,
        ).system

    async def close(self) -> None:
        """Nothing is kept between turns."""
