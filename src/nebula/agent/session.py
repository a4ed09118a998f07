"""A session: one conversation in one project, turn by turn.

Front doors hold one of these and read the events of its turns. It keeps the path that led here, the mode and the
model; what was recorded elsewhere (memory, graph, journal) is handed in ready made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from nebula.agent.budget import message_tokens, tool_tokens
from nebula.agent.code.project_map import project_map
from nebula.agent.context import PastContext, build_context
from nebula.agent.conversation import Conversation, Fit, PastTurn
from nebula.agent.loop import Turn, errors_as_events, final_of, run_rounds
from nebula.agent.nodes import turn_of
from nebula.agent.past.kept_state import KeptState, SessionState
from nebula.agent.past.summaries import SummaryWork, soon_needed, summarise
from nebula.agent.project_context import gather_project_context
from nebula.agent.system_prompt import chat_prompt, system_prompt
from nebula.agent.turn_archive import FlowChoice, NodeWriter, TurnArchive
from nebula.agent.turn_result import TurnResult
from nebula.attachments import Attachment, attach
from nebula.config import Settings
from nebula.errors import EXIT_INTERRUPTED
from nebula.events import Citations, EventStream, Final, Notice, Reader, Task, Usage, new_trace_id, now
from nebula.graph.tokens import estimate_tokens
from nebula.language import Sentence
from nebula.llm.choose import ChosenModel
from nebula.llm.errors import ModelError
from nebula.messages import MAX_USER_MESSAGE_SIZE, UserMessage, strip_hidden_characters
from nebula.messages.redaction import Redactor
from nebula.tools.approval import Approvals
from nebula.tools.contract import AppliedChange, Call
from nebula.tools.declaration import Checks, ToolKit
from nebula.tools.ledger import ReadLedger
from nebula.tools.registry import agent_tools, chat_tools, learn_from, plan_tools
from nebula.tools.toolset import CallAudit, ToolSet
from nebula.value import field, record, replace, value
from nebula.workspace.contract import Workspace

if TYPE_CHECKING:
    from nebula.agent.attached.gather import Gathered
    from nebula.graph.context.preview import ContextPreview
    from nebula.memory.session_lock import SessionLock
    from nebula.memory.sessions import Sessions
    from nebula.tools.code_index import CodeSearch
    from nebula.tools.commands.layers import CommandLayers
    from nebula.tools.external.servers import ExternalServers
    from nebula.workspace.audit import AuditLog

MODES = ("agent", "plan")
"""Those that a user of the project may switch between."""
CHAT = "chat"
"""A conversation over the graph alone: no files, no project, one tool that reads earlier turns."""
RECENT_FILES = 10
"""Files read last, which weigh in the outline of the project."""
SHARE_FOR_PAST = 0.6
"""How much of the model's context the past may fill; the rest is for this turn and the answer."""
SHARE_OF_ANSWER = 12
"""So much of the context is left for what the model says."""
TOKENS_PER_SUMMARY = 60
"""About what a turn takes that goes as its summary."""
SURE_BYTES_PER_TOKEN = 2
"""Text of any language that has so many bytes for each token there is room for fits, and the prompt with it."""


@record
class ProjectAccess:
    """The project as this session may touch it."""

    root: str
    workspace: Workspace
    read_only: Workspace
    approvals: Approvals
    checks: Checks = field(default_factory=Checks)
    audit: AuditLog | None = None
    """Where each call leaves a line; None where a gateway does that."""
    commands: CommandLayers | None = None
    """None where the files are on another machine."""
    code: CodeSearch | None = None
    """None where no index knows these files."""
    external: ExternalServers | None = None
    """MCP servers, where any are configured."""

    @property
    def layers(self) -> CommandLayers | None:
        """Where checks leave nothing behind; None where this machine has none."""
        return self.commands if self.commands is not None and self.commands.available else None

    def close(self) -> None:
        """Everything that it holds open. For whoever is done with the project; nothing may use it after that."""
        if self.commands is not None:
            self.commands.close()
        if self.audit is not None:
            self.audit.close()
        if self.code is not None:
            self.code.close()
        for files in (self.workspace, self.read_only):
            close: Callable[[], None] | None = getattr(files, "close", None)
            if close is not None:
                close()


@value
class ConversationPlace:
    """Where a session stands in its conversation."""

    conversation: Conversation
    ledger: ReadLedger
    parents_of_next: tuple[str, ...] | None


@record
class Session:
    id: str
    settings: Settings
    chosen: ChosenModel
    project: ProjectAccess
    archive: TurnArchive
    recorders: tuple[Reader, ...]
    """Those that write down every turn."""
    redactor: Redactor = field(default_factory=Redactor)
    """Keeps what it learns from one turn to the next."""
    memory: Sessions | None = None
    lock: SessionLock | None = None
    mode: str = "agent"
    conversation: Conversation = field(default_factory=Conversation)
    ledger: ReadLedger = field(default_factory=ReadLedger)
    plan: str = ""
    """The plan that the user accepted; sent to the model with every turn, never summarised."""
    past_tokens: int | None = None
    """Most that the past may cost, where somebody set it; the model's size limits it in any case."""
    last: Final | None = None
    turn_ids: set[str] = field(default_factory=set)
    """What changed files in this process, in the journal's words: turns, and states that were put back."""
    _pending_remarks: list[Sentence] = field(default_factory=list)
    _remarked: set[str] = field(default_factory=set)
    _parents_of_next: tuple[str, ...] | None = None
    summarises_ahead: bool = False
    """Whether turns that will soon not fit are summarised in the background: for sessions that go on for long."""
    summaries: SummaryWork = field(default_factory=SummaryWork)
    kept: KeptState | None = None
    _chores: list[asyncio.Task[None]] = field(default_factory=list)
    _fixed_tokens: int = 0
    """System prompt and tools, as they were counted last."""

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
    ) -> Final:
        """One turn, read by `audience` as it happens. Cancel the task to interrupt it: it still ends with `Final`.

        `references` are nodes to show beside the path, with those that the prompt itself names as `@ID` or `#tag`;
        `branch` names what begins here. `without` are turns of the path that the model does not get this time.
        `attachments` come with the prompt, beside the files it names as `@path`. `steering` is asked before each
        further round for what the user has said meanwhile.
        """
        writer: Reader = NodeWriter(self.archive, self.id, flow, branch)
        recorders = (writer, *self.recorders)
        stream = EventStream(self.id, trace_id or new_trace_id(), recorders, tuple(audience), self.redactor)
        self.turn_ids.add(stream.trace_id)
        beside = await asyncio.to_thread(self._referenced, prompt, references)
        found = await self._gather(prompt, attachments, stream.trace_id) if attachments or "@" in prompt else None
        attached, notices = (tuple(found.attachments), found.notices()) if found else ((), [])
        path = tuple(self._parents(parents))
        task = Task(prompt, self.mode, self.chosen.name, self.chosen.provider, path, beside, attached)
        try:
            await self._open_external()
        except asyncio.CancelledError:
            return self._interrupted_early(stream, task)
        tools = self.tools(stream.trace_id)
        system = await asyncio.to_thread(self.system, stream.trace_id, prompt)
        past = await asyncio.to_thread(self._past, self.conversation.without(without), system, tools, beside)
        room = self._room_for_turn(system, tools, past)
        turn = Turn(
            stream=stream,
            model=self.chosen.connector,
            model_name=self.chosen.name,
            system=_joined(system, past),
            history=[],
            tools=tools,
            max_rounds=self.settings.max_rounds,
            room_for_results=min(MAX_USER_MESSAGE_SIZE, room * SURE_BYTES_PER_TOKEN),
            fit=Fit(past.messages, self._tool_names(tools), room),
            steering=steering,
            node_id=stream.trace_id if self.archive.keeps_turns else None,
        )
        said = attach(UserMessage.new_prompt(strip_hidden_characters(prompt), now()), attached)
        with errors_as_events(stream) as work:
            turn.tell(task, *(Notice(each.sentence, each.values) for each in self.take_remarks()), *notices)
            turn.say(said)
            await run_rounds(turn)
            await self._check(turn)
            turn.result.citations = await self._count_citations(turn.result)
        ended = turn.result.final(work.ending, turn.node_id)
        final = final_of(stream.emit(ended, must_record=False))
        if turn.history:
            past_turn = PastTurn(tuple(turn.history), final.node_id, parents=task.parents, attachments=attached)
            self.conversation.turns.append(past_turn)
        if final.node_id:
            self._parents_of_next = None
        self.last = final
        if final.node_id:
            self._summarise_later(system, tools)
        return final

    def _interrupted_early(self, stream: EventStream, task: Task) -> Final:
        """A turn that was given up while servers were started ends like any other: nothing was asked yet."""
        self.last = Final("", "interrupted", EXIT_INTERRUPTED)
        for event in (task, self.last):
            stream.emit(event, must_record=False)
        return self.last

    def made(self, turn_id: str) -> bool:
        """Whether a turn is one of this session's, in this process or an earlier one."""
        return turn_id in self.turn_ids or turn_id in {node.node_id for node in self.archive.session_nodes(self.id)}

    def remark(self, sentence: Sentence) -> None:
        """Something the user should know, once: reported with the next turn, unless a door asks for it before."""
        if str(sentence) not in self._remarked:
            self._remarked.add(str(sentence))
            self._pending_remarks.append(sentence)

    def take_remarks(self) -> list[Sentence]:
        """What there is to report at this moment; whoever takes it shows it."""
        pending, self._pending_remarks = self._pending_remarks, []
        return pending

    def _referenced(self, prompt: str, references: Sequence[str]) -> tuple[str, ...]:
        """These, and what the prompt names. A word that only looks so names nothing; an ambiguous one is reported."""
        if "@" not in prompt and "#" not in prompt:
            return tuple(references)
        from nebula.graph.context.references import mentions, referenced_nodes
        from nebula.graph.errors import AmbiguousId, NotFound

        found = list(references)
        for word in mentions(prompt):
            if self.archive.graph is None:
                break
            try:
                found += referenced_nodes(self.archive.graph, [word])
            except AmbiguousId as several:
                self.remark(Sentence(several.sentence, **several.values))
            except NotFound:
                continue
        return tuple(dict.fromkeys(found))

    async def _gather(self, prompt: str, given: Sequence[Attachment], trace_id: str) -> Gathered:
        """What comes with the prompt, as far as the model takes it; what is shown whole counts as read."""
        from nebula.agent.attached.gather import gather

        files = None if self.mode == CHAT else self.project.read_only.for_turn(trace_id)
        found = await asyncio.to_thread(gather, prompt, given, files, self._room_for_attachments())
        found.teach(self.ledger)
        if any(each.kind == "image" for each in found.attachments):
            with suppress(ModelError):  # the request itself meets the same problem, and reports it
                if (await self.chosen.connector.describe(self.chosen.name)).images is False:
                    found.leave_out_images(self.chosen.name)
        return found

    def _room_for_attachments(self) -> int:
        """Bytes; the rest of the turn's room is for the prompt and for results."""
        room = int(self.chosen.context * (1 - SHARE_FOR_PAST)) * SURE_BYTES_PER_TOKEN
        return min(MAX_USER_MESSAGE_SIZE, room) * 2 // 3

    def _summarise_later(self, system: str, tools: ToolSet) -> None:
        """In the background: the turn just made where `auto_summary` says so, and those that will soon not fit."""
        self._chores = [chore for chore in self._chores if not chore.done()]
        if self._chores or self.summaries.is_hopeless or self.archive.graph is None:
            return
        due: list[PastTurn] = []
        if self.summarises_ahead:
            due = soon_needed(self.conversation, self._room_for_past(system, tools), self.archive.find)
        if self.settings.auto_summary and self.conversation.turns[-1] not in due:
            due.insert(0, self.conversation.turns[-1])
        if due:
            self._chores.append(asyncio.create_task(self._summarise(due)))

    async def _summarise(self, due: Sequence[PastTurn]) -> None:
        if self.archive.graph is not None:
            await summarise(due, self.archive.graph, self.chosen, self.summaries)
            self._keep()

    def system(self, trace_id: str, prompt: str = "") -> str:
        """The system prompt of a turn begun now; what of the project cannot be read is remarked on."""
        settings = self.settings
        if self.mode == CHAT:
            return chat_prompt(home=settings.home, lang=settings.lang)
        context = gather_project_context(self.project.read_only.for_turn(trace_id), self.project.root)
        outline = project_map(settings, prompt, self.ledger.recent(RECENT_FILES))
        context = replace(context, outline=outline)
        for problem in context.unreadable:
            self.remark(Sentence(problem.sentence, **problem.values))
        return system_prompt(self.mode, context, home=settings.home, lang=settings.lang, plan=self.plan)

    def preview(self) -> tuple[str, PastContext, int]:
        """What a turn begun now would send beside the prompt: the system prompt, the past, and the tools' tokens."""
        system, tools = self.system("preview"), self.tools("preview")
        return system, self._past(self.conversation, system, tools), tool_tokens(tools.specs)

    def preview_context(
        self,
        node_ids: Sequence[str],
        prompt: str = "",
        references: Sequence[str] = (),
        flow: str | None = None,
        without: Sequence[str] = (),
        attachments: Sequence[Attachment] = (),
    ) -> ContextPreview:
        """The context of a prompt that continues from these nodes, as `turn` would send it. Raises NotFound."""
        from nebula.graph.context.preview import ContextPreview

        here = self.conversation
        if tuple(node_ids) != (here.leaf,):
            here = Conversation([turn_of(node) for node in self.archive.path_to(node_ids, flow)])
        system, tools = self.system("preview", prompt), self.tools("preview")
        past = self._past(
            here.without(without), system, tools, self._referenced(prompt, self.archive.known(references))
        )
        parts = past.parts()
        from nebula.agent.attached.gather import gather

        files = None if self.mode == CHAT else self.project.read_only
        found = gather(prompt, attachments, files, self._room_for_attachments()).attachments
        alone = UserMessage.new_prompt(prompt)
        said = attach(alone, found)
        attached = tuple(
            {
                "name": each.name,
                "kind": each.kind,
                "tokens": message_tokens(attach(alone, [each])) - message_tokens(alone),
            }
            for each in found
        )
        frame = estimate_tokens(system) + tool_tokens(tools.specs) + message_tokens(said)
        words = said.content_with_context()
        text = "\n\n".join((_joined(system, past), *(part.text for part in parts if part.form == "full"), words))
        room = self._room_for_past(system, tools)
        return ContextPreview(parts, list(past.left_out), frame, room, text, _joined(system, past), attached)

    def accept_plan(self) -> str:
        """The plan of the last turn is agreed on: from now on it is carried out. Returns the prompt that does so."""
        self.plan = self.last.text if self.last else ""
        self.mode = "agent"
        self._keep()
        return "Carry out the plan." if self.settings.lang != "ja" else "計画を実行してください。"

    async def compact(self, focus: str = "") -> int:
        """From now on all turns but the newest go as summaries, made now where there are none; how many more those are.

        With a focus the model also writes down what is to be kept in sight. Where it cannot be asked, the turns go as
        extracts, and what was wrong is remarked on.
        """
        from nebula.agent.past import compaction
        from nebula.agent.past.summaries import without_summary

        turns = self.conversation.turns[: self.conversation.predecessor]
        if turns:
            await self._summarise(
                await asyncio.to_thread(without_summary, turns[-compaction.MOST_SUMMARIES :], self.archive.find)
            )
        try:
            if focus and turns:
                self.conversation.digest = await compaction.make_digest(
                    self.conversation, focus, self.chosen, self.summaries
                )
        except ModelError as problem:
            self.remark(Sentence(problem.sentence, **problem.values))
        count = self.conversation.compact()
        self._keep()
        return count

    def recall(self) -> None:
        """What an earlier run of this session kept."""
        from nebula.agent.past.compaction import place_of

        state = self.kept.read() if self.kept is not None else SessionState()
        self.plan = state.plan
        self.conversation.compact_until = place_of(self.conversation.turns, state.compacted)
        self.conversation.digest = state.digest if self.conversation.compact_until else ""
        self.summaries.count += state.summaries
        self.summaries.spend(Usage(state.summary_input, state.summary_output))

    def _keep(self) -> None:
        if self.kept is None:
            return
        here = self.conversation
        compacted = next((each.node_id for each in reversed(here.turns[: here.compact_until]) if each.node_id), None)
        with suppress(OSError):  # it can be typed again; the turn counts
            made, spent = self.summaries.count, self.summaries.usage
            tokens = spent.input_tokens, spent.output_tokens
            self.kept.write(SessionState(self.plan, compacted or "", here.digest, made, *tokens))

    def step_back(self) -> PastTurn | None:
        """Leaves the last turn aside, so that the next one becomes its sibling. Nothing is deleted."""
        if not self.conversation.turns:
            return None
        turn = self.conversation.turns.pop()
        self._parents_of_next = turn.parents
        return turn

    def continue_from(self, node_ids: Sequence[str], flow: str | None = None) -> None:
        """Goes to these nodes; the next turn has them as its parents. Several of them merge."""
        path = self.archive.path_to(node_ids, flow)
        self.conversation = Conversation([turn_of(node) for node in path])
        self.ledger = ReadLedger()
        learn_from(self.ledger, self.conversation.messages())
        self._parents_of_next = tuple(node_ids)

    @property
    def place(self) -> ConversationPlace:
        return ConversationPlace(self.conversation, self.ledger, self._parents_of_next)

    def go_to(self, place: ConversationPlace) -> None:
        """Back to where this session has been."""
        self.conversation, self.ledger, self._parents_of_next = place.conversation, place.ledger, place.parents_of_next

    def use_model(self, chosen: ChosenModel) -> None:
        self.chosen = chosen
        self.settings = replace(self.settings, model=chosen.name)
        if self.memory is not None:
            self.memory.switch_model(self.id, self.redactor.text(chosen.name))

    def use_checks(self, settings: Settings) -> None:
        """The checks of these settings from now on, as far as they are trusted."""
        self.settings = settings
        checks = self.project.checks
        self.project.checks = replace(checks, commands=settings.allowed_checks)

    async def close(self) -> None:
        """Closes the session; it can be resumed."""
        await asyncio.gather(*self._chores)
        if self.memory is not None:
            self.memory.end(self.id)
            self.memory.close()
        if self.lock is not None:
            self.lock.release()
        if self.project.external is not None:
            await self.project.external.close()
        await asyncio.to_thread(self.project.close)
        await self.chosen.connector.aclose()

    async def _open_external(self) -> None:
        if self.project.external is not None and self.mode != CHAT:
            for problem in await self.project.external.open():
                self.remark(problem)

    def _parents(self, parents: Sequence[str] | None) -> Sequence[str]:
        if parents is not None:
            return parents
        if self._parents_of_next is not None:
            return self._parents_of_next
        leaf = self.conversation.leaf
        return (leaf,) if leaf else ()

    def tools(self, trace_id: str) -> ToolSet:
        """What the present mode offers, its calls recorded under that id."""
        project = self.project
        plan = self.mode == "plan"
        files = (project.read_only if plan else project.workspace).for_turn(trace_id)
        kit = ToolKit(files, self.ledger, project.checks, self.archive.find, plan, project.commands, project.approvals)
        external = project.external.tools(project.approvals, plan=plan) if project.external is not None else {}
        kit = replace(kit, code=project.code, trace_id=trace_id, look_up=self._look_up, external=external)
        audit = CallAudit(project.audit, trace_id, self.redactor.text) if project.audit is not None else None
        if self.mode == CHAT:
            return chat_tools(kit, audit=audit)
        if plan:
            return plan_tools(kit, audit=audit)
        return agent_tools(kit, project.approvals, audit=audit, after_change=(self._tell_index,))

    async def _check(self, turn: Turn) -> None:
        """Run the configured checks after a turn that changed files; what fails goes back to the model."""
        project = self.project
        if not (self.settings.repair and self.mode == "agent" and turn.result.files and project.checks.commands):
            return
        from nebula.agent.checks.repair import Repairer

        async def ask(report: str, _: int) -> bool:
            turn.history.append(UserMessage.new_prompt(report))
            await run_rounds(turn)
            return True

        files = project.read_only.for_turn(turn.stream.trace_id)
        rounds = self.settings.repair_rounds
        layers = await asyncio.to_thread(lambda: project.layers)
        await Repairer(turn.tell, project.checks, layers, files, ask, rounds).verify()

    def _look_up(self, asked: str) -> list[str]:
        from nebula.agent.past.chapters import look_up

        return look_up(self.conversation.turns, asked)

    async def _tell_index(self, change: AppliedChange, _: Call) -> None:
        if self.project.code is not None:
            await asyncio.to_thread(self.project.code.changed, change.path)

    async def _count_citations(self, result: TurnResult) -> Citations | None:
        if self.mode == CHAT or "L" not in result.answer:
            return None
        from nebula.agent.code.citations import check_citations

        found = result.results_of("searchCode")
        return await asyncio.to_thread(check_citations, result.answer, self.project.read_only, found)

    def _tool_names(self, tools: ToolSet) -> frozenset[str]:
        return frozenset((*tools.tools, *tools.missing))

    def _past(
        self, conversation: Conversation, system: str, tools: ToolSet, references: Sequence[str] = ()
    ) -> PastContext:
        return build_context(conversation, self._room_for_past(system, tools), self.archive.find, references)

    def tokens_at_hand(self) -> int:
        """About what the next request takes beside its prompt; nothing is read for it."""
        here = self.conversation
        small = here.compact_until * TOKENS_PER_SUMMARY + estimate_tokens(here.digest)
        whole = sum(turn.tokens for turn in here.turns[here.compact_until :])
        most = max(self._fixed_tokens, int(self.chosen.context * SHARE_FOR_PAST))
        return min(self._fixed_tokens + small + whole, most)

    def _room_for_turn(self, system: str, tools: ToolSet, past: PastContext) -> int:
        """What the turn itself may grow to: its share, or less where system prompt and tools alone take more of it."""
        taken = estimate_tokens(system) + tool_tokens(tools.specs) + past.tokens
        left = self.chosen.context - taken - self.chosen.context // SHARE_OF_ANSWER
        return max(0, min(int(self.chosen.context * (1 - SHARE_FOR_PAST)), left))

    def _room_for_past(self, system: str, tools: ToolSet) -> int:
        self._fixed_tokens = estimate_tokens(system) + tool_tokens(tools.specs)
        room = max(0, int(self.chosen.context * SHARE_FOR_PAST) - self._fixed_tokens)
        return room if self.past_tokens is None else min(room, self.past_tokens)


def _joined(system: str, past: PastContext) -> str:
    return f"{system}\n\n{past.earlier}" if past.earlier else system
