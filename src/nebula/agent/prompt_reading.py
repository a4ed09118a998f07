"""Read a prompt before its turn begins: the nodes and files it names, and what changed since the last turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nebula.agent.recording.turn_archive import TurnArchive
from nebula.agent.remarks import Remarks
from nebula.agent.workbench import Workbench
from nebula.attachments import Attachment
from nebula.events import Notice, Task
from nebula.graph.errors import AmbiguousId, NotFound
from nebula.language import sentence_of
from nebula.llm.choose import ChosenModel
from nebula.value import replace, value
from nebula.workspace.contract import Workspace

if TYPE_CHECKING:
    from nebula.agent.attached.gather import Gathered

REFERENCE_SIGNS = ("@", "#", "[")
"""Characters of which every reference in a prompt has one."""


@value
class PromptReader:
    """Reads through the bench's guarded files; what cannot be attached is reported."""

    bench: Workbench
    archive: TurnArchive
    chosen: ChosenModel
    remarks: Remarks

    async def read(self, task: Task, leaf: str | None, trace_id: str, room: int) -> tuple[Task, list[Notice]]:
        """Return the task with what its prompt names, files within `room` bytes, and notices about that. `leaf` is the
        turn that it continues: changes since then are attached, too."""
        prompt, notices = task.prompt, []
        files = self.bench.readable_files(trace_id)
        if any(sign in prompt for sign in REFERENCE_SIGNS):
            named = await asyncio.to_thread(self.find_references, prompt, task.references)
            task = replace(task, references=named)
        if task.attachments or "@" in prompt:
            found = await self._gather(prompt, task.attachments, files, room)
            task, notices = replace(task, attachments=tuple(found.attachments)), found.notices()
        if leaf and files is not None:
            from nebula.agent.past.since_last_turn import changes_since

            since = await asyncio.to_thread(changes_since, self.bench.project, self.archive.find, leaf)
            task = replace(task, attachments=(*task.attachments, *since))
        return task, notices

    def find_references(self, prompt: str, references: Sequence[str]) -> tuple[str, ...]:
        """Return `references` and the nodes that the prompt names; an ambiguous name becomes a remark."""
        graph = self.archive.graph
        if graph is None or not any(sign in prompt for sign in REFERENCE_SIGNS):
            return tuple(references)
        from nebula.graph.context.references import mentioned_nodes, mentions

        found = list(references)
        for word in mentions(prompt):
            try:
                found += mentioned_nodes(graph, word)
            except AmbiguousId as several:
                self.remarks.add(sentence_of(several))
            except NotFound:
                continue
        return tuple(dict.fromkeys(found))

    async def _gather(self, prompt: str, given: Sequence[Attachment], files: Workspace | None, room: int) -> Gathered:
        """Read the attachments of the prompt that the model takes; a file that is attached whole counts as read."""
        from nebula.agent.attached.gather import gather

        found = await asyncio.to_thread(gather, prompt, given, files, room)
        found.teach(self.bench.ledger)
        if any(each.kind == "image" for each in found.attachments) and not await self.chosen.takes_images():
            found.leave_out_images(self.chosen.name)
        return found
