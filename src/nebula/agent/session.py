"""A session: one conversation in one project, turn by turn.

Front doors hold a session and read the events of its turns. It has a place in the conversation, a workbench and a
model; memory, graph and journal are passed in, ready to use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING

from nebula.agent.context.building import build_context, shortened_references
from nebula.agent.context.context_budget import SHORT_TURN, ContextBudget, TurnContext, count_fixed
from nebula.agent.conversation import Conversation, PastTurn
from nebula.agent.loop import Turn, errors_as_events, final_of, run_rounds
from nebula.agent.past.kept_state import KeptState, SessionState
from nebula.agent.past.summaries import MOST_SUMMARIES, Summaries, without_summary
from nebula.agent.place import Place
from nebula.agent.prompt_reading import PromptReader
from nebula.agent.recording.turn_archive import FlowChoice, NodeWriter, TurnArchive
from nebula.agent.remarks import Remarks
from nebula.agent.workbench import ProjectAccess, Workbench
from nebula.attachments import Attachment, attach
from nebula.config import Settings
from nebula.errors import NebulaError
from nebula.events import Activity, EventStream, Final, Notice, Reader, Task, new_trace_id, now
from nebula.language import Sentence, sentence_of
from nebula.llm.choose import ChosenModel
from nebula.llm.errors import ModelError
from nebula.messages import UserMessage, strip_hidden_characters
from nebula.messages.redaction import Redactor
from nebula.tools.contract import in_thread
from nebula.tools.permissions import NETWORK, PAGES, Permission
from nebula.value import field, record, replace

if TYPE_CHECKING:
    from nebula.memory.session_lock import SessionLock
    from nebula.memory.sessions import Sessions

MODES = ("agent", "plan")
"""The modes that a user of the project may switch between."""
CHAT = "chat"
"""The mode of a conversation over the graph alone; its workbench is a `ChatBench`."""


@record
class Session:
    id: str
    settings: Settings
    chosen: ChosenModel
    bench: Workbench
    archive: TurnArchive
    recorders: tuple[Reader, ...]
    """Readers that record every turn."""
    summaries: Summaries
    memory: Sessions | None = None
    lock: SessionLock | None = None
    kept: KeptState | None = None
    mode: str = "agent"
    place: Place = field(default_factory=Place)
    plan: str = ""
    """The plan that the user accepted: sent to the model with every turn, never summarised."""
    past_tokens: int | None = None
    """The most tokens for the past, where somebody set it; the model's context limits it in any case."""
    last: Final | None = None
    turn_ids: set[str] = field(default_factory=set)
    """What changed files in this process, by the journal's names: turns, and restores."""
    remarks: Remarks = field(default_factory=Remarks)
    _fixed_tokens: int = 0
    """The tokens of the system prompt and tools, as counted last."""

    async def turn(
        self,
        prompt: str,
        audience: Sequence[Reader] = (),
        *,
        parents: Sequence[str] | None = None,
        trace_id: str | None = None,
        flow: FlowChoice | None = None,
        branch: str | None = None,
        references: Sequence[str] = (),
        without: Sequence[str] = (),
        attachments: Sequence[Attachment] = (),
        steering: Callable[[], str] = str,
        watchers: Sequence[Reader] = (),
        said: list[Sentence] | None = None,
    ) -> Final:
        """Run one turn, whose events go to `audience` as they happen. Cancel the task to interrupt it: it still ends
        with `Final`.

        `references` are nodes to send beside the path, with those that the prompt itself names as `@ID` or `#tag`;
        `branch` names the branch that begins here. `without`: turns of the path that this request leaves out.
        `attachments` come with the prompt, beside the files it names as `@path`. `steering` is called before each
        further round and returns what the user has said in the meantime. `watchers` are shown what happens between two
        events. `said`: sentences for the user beside the answer, as far as `audience` has them; `Final` holds all of
        them.
        """
        turn = self._new_turn(audience, trace_id, flow, branch)
        turn.steering, turn.stream.watchers = steering, tuple(watchers)
        turn.stream.said = [] if said is None else said
        begun = self._new_task(prompt, parents, references, attachments)
        with errors_as_events(turn.stream) as work:
            try:
                room = self.budget.attachment_bytes
                begun, notices = await self.reader.read(begun, self.place.leaf, turn.stream.trace_id, room)
            finally:
                turn.tell(begun)  # before anything that can fail
            self._tell_remarks(turn, notices)
            turn.say(attach(UserMessage.new_prompt(strip_hidden_characters(prompt), now()), begun.attachments))
            await self._prepare(turn, prompt, without)
            await run_rounds(turn)
            await self._check(turn)
            await self._count_citations(turn)
        final = turn.result.final(work.ending, turn.node_id)
        final = self.last = final_of(turn.stream.emit(final, must_record=False))
        self._finish(turn, final)
        return final

    def _new_turn(
        self, audience: Sequence[Reader], trace_id: str | None, flow: FlowChoice | None, branch: str | None
    ) -> Turn:
        chosen = self.chosen
        files, beginning = self.project.workspace, self.place.beginning
        writer: Reader = NodeWriter(self.archive, self.id, flow, branch, files, self.redactor, beginning=beginning)
        recorders = (writer, *self.recorders)
        stream = EventStream(self.id, trace_id or new_trace_id(), recorders, tuple(audience), self.redactor)
        self.turn_ids.add(stream.trace_id)
        node_id = stream.trace_id if self.archive.keeps_turns else None
        return Turn(stream, chosen.connector, chosen.name, max_rounds=self.settings.max_rounds, node_id=node_id)

    def _new_task(
        self, prompt: str, parents: Sequence[str] | None, references: Sequence[str], attachments: Sequence[Attachment]
    ) -> Task:
        continued = self.place.next_parents() if parents is None else tuple(parents)
        model = self.chosen.name, self.chosen.provider
        return Task(prompt, self.mode, *model, continued, tuple(references), tuple(attachments))

    async def _prepare(self, turn: Turn, prompt: str, without: Sequence[str]) -> None:
        """Build the system prompt, the tools and the past for the turn."""
        for problem in await self.bench.open_servers(turn.stream.show):
            self.remarks.add(problem)
        if self.settings.past == "summaries":
            turn.stream.show(Activity(Sentence("writing summaries")))
            await self.compact(shortest=SHORT_TURN)
        here, beside = self.conversation.without(without), turn.result.references
        turn.stream.show(Activity(Sentence("looking at the project")))
        context = await in_thread(self.build_context, turn.stream.trace_id, prompt, here, beside)
        if count := shortened_references(context.past, beside):
            said = "{count} of the turns that you refer to are sent as summaries, since they do not fit in full."
            self.remarks.add(Sentence(said, count=count))
        turn.system, turn.tools, turn.fit = context.system_with_past, context.tools, context.fit()
        turn.room_for_results = context.result_bytes
        self._tell_remarks(turn)

    async def _check(self, turn: Turn) -> None:
        """Run the configured checks after a turn that changed files; failures go back to the model."""
        project = self.project
        if not (self.settings.repair and self.mode == "agent" and turn.result.files and project.checks.commands):
            return
        from nebula.agent.checks.repair import Repairer

        async def ask(report: str, _: int) -> bool:
            turn.history.append(UserMessage.new_prompt(report))
            await run_rounds(turn)
            return True

        files = project.read_only.for_turn(turn.stream.trace_id)
        layers = await asyncio.to_thread(lambda: project.layers)
        rounds, approvals = self.settings.repair_rounds, project.approvals
        await Repairer(turn.tell, turn.stream.show, project.checks, layers, files, ask, rounds, approvals).verify()

    async def _count_citations(self, turn: Turn) -> None:
        files = self.bench.readable_files(turn.stream.trace_id)
        answer = turn.result.answer
        if files is None or "L" not in answer:
            return
        from nebula.agent.code.citations import check_citations

        shown = turn.result.results_of("searchCode")
        turn.result.citations = await asyncio.to_thread(check_citations, answer, files, shown)

    def _finish(self, turn: Turn, final: Final) -> None:
        """Add the finished turn to the conversation."""
        if turn.history:
            result = turn.result
            attached = result.attachments
            self.place.add(PastTurn(tuple(turn.history), final.node_id, parents=result.parents, attachments=attached))
        if final.node_id:
            self.summaries.begin(self.conversation, self.budget.past, self.chosen, self._keep)

    @property
    def budget(self) -> ContextBudget:
        return ContextBudget(self.chosen.context, self._fixed_tokens, self.past_tokens)

    def build_context(
        self, trace_id: str, prompt: str = "", conversation: Conversation | None = None, references: Sequence[str] = ()
    ) -> TurnContext:
        """Return what a turn that begins now would send beside its prompt. This reads files and asks git, so do not
        call it in the event loop. `conversation` is the past to send, by default the session's own."""
        system, problems = self.bench.system_prompt(self.settings, self.mode, trace_id, prompt, self.plan)
        for problem in problems:
            self.remarks.add(problem)
        tools = self.bench.tools(trace_id, self.mode)
        self._fixed_tokens = count_fixed(system, tools)
        budget = self.budget
        here = self.conversation if conversation is None else conversation
        past = build_context(here, budget.past, self.archive.find, references, budget.references, budget.predecessor)
        return TurnContext(system, tools, past, budget)

    @property
    def project(self) -> ProjectAccess:
        return self.bench.project

    @property
    def redactor(self) -> Redactor:
        return self.bench.redactor

    @property
    def reader(self) -> PromptReader:
        return PromptReader(self.bench, self.archive, self.chosen, self.remarks)

    @property
    def conversation(self) -> Conversation:
        return self.place.conversation

    def made(self, turn_id: str) -> bool:
        """Return whether this session took the turn, in this process or an earlier one."""
        return turn_id in self.turn_ids or turn_id in {node.node_id for node in self.archive.session_nodes(self.id)}

    def _tell_remarks(self, turn: Turn, notices: Sequence[Notice] = ()) -> None:
        turn.tell(*map(Notice, self.remarks.take()), *notices)

    def accept_plan(self) -> str:
        """Accept the plan of the last turn, to be carried out from now on. Returns the prompt that starts that."""
        self.plan = self.last.text if self.last else ""
        self.mode = "agent"
        self._keep()
        return "Carry out the plan." if self.settings.lang != "ja" else "計画を実行してください。"

    async def compact(self, focus: str = "", *, shortest: int = 0) -> int:
        """Send all turns but the newest as summaries from now on; return how many turns that adds. Missing summaries
        are made now, except for turns of at most `shortest` tokens. With a focus the model also writes down what is to
        be kept. Where the model cannot be asked, turns are sent as extracts, and the problem becomes a remark."""
        turns = self.conversation.turns[: self.conversation.predecessor]
        if turns:
            newest = [turn for turn in turns[-MOST_SUMMARIES:] if turn.tokens > shortest]
            due = await asyncio.to_thread(without_summary, newest, self.archive.find)
            await self.summaries.make(due, self.chosen)
        try:
            if focus and turns:
                self.conversation.digest = await self.summaries.make_digest(self.conversation, focus, self.chosen)
        except ModelError as problem:
            self.remarks.add(sentence_of(problem))
        count = self.conversation.compact()
        self._keep()
        return count

    def recall(self) -> None:
        """Restore what an earlier run of this session kept."""
        state = self.kept.read() if self.kept is not None else SessionState()
        self.plan = state.plan
        state.compact_again(self.conversation)
        self.summaries.count += state.summaries
        self.summaries.spend(state.usage)

    def _keep(self) -> None:
        if self.kept is not None:
            with suppress(OSError):  # it can be typed again; the turn matters more
                self.kept.write(SessionState.of(self.plan, self.conversation, self.summaries, self.mode))

    def switch_mode(self, mode: str) -> None:
        """Work in this mode from now on, also when the session is resumed."""
        self.mode = mode
        self._keep()

    def continue_from(self, node_ids: Sequence[str], flow: str | None = None) -> None:
        """Move to these nodes; the next turn has them as its parents. Several nodes are merged."""
        self.go_to(Place.at_nodes(self.archive, node_ids, flow))

    def go_to(self, place: Place) -> None:
        self.place = place
        self.bench.ledger = place.ledger

    def use_model(self, chosen: ChosenModel) -> None:
        self.chosen = chosen
        self.settings = replace(self.settings, model=chosen.name)
        if self.memory is not None:
            self.memory.switch_model(self.id, self.redactor.text(chosen.name))

    def use_checks(self, settings: Settings) -> None:
        """Use the checks of these settings from now on, if they are trusted."""
        self.settings = settings
        self.project.checks = replace(self.project.checks, commands=settings.allowed_checks)

    def revoke(self, name: str = "") -> tuple[Permission, ...]:
        """Take back what goes without asking under this name, or all of it, and return it."""
        taken = self.project.approvals.revoke(name)
        if NETWORK in taken or PAGES in taken:
            self.settings = replace(self.settings, allow_network=False)  # nor for tries and delegates
        folders = [each.name for each in taken if each.kind == "folder"]
        if folders and self.project.commands is not None:
            try:
                self.project.commands.hide(folders)
            except (NebulaError, OSError) as problem:
                said = "{folders} could not be taken out of your settings: {problem}"
                self.remarks.add(Sentence(said, folders=", ".join(folders), problem=sentence_of(problem)))
        return taken

    async def close(self) -> None:
        """Close all parts of the session, each even if another fails; the session can be resumed."""
        async with AsyncExitStack() as closing:
            closing.push_async_callback(self.chosen.connector.aclose)
            closing.push_async_callback(self.bench.close)
            if self.lock is not None:
                closing.callback(self.lock.release)
            if self.memory is not None:
                closing.callback(self.memory.close)
                closing.callback(self.memory.end, self.id)
            closing.push_async_callback(self.summaries.close)
