"""One session of an editor: its running turn or command, its questions, and what the editor shows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from nebula.agent.session import Session
from nebula.attachments import Attachment
from nebula.events import Approval, Final
from nebula.language import explain
from nebula.server.acp.buffers import EditorBuffers, FileAccess
from nebula.server.acp.commands import CommandsOf, EditorCommands
from nebula.server.acp.options import SessionOptions
from nebula.server.acp.peer import Peer, RequestRefused, RpcError
from nebula.server.acp.permission import agreement, chosen_option, in_fence
from nebula.server.acp.progress import Progress
from nebula.server.acp.questions import Question
from nebula.server.acp.tool_calls import ToolCalls
from nebula.server.acp.view import EditorView, PlanView, message
from nebula.stage import Curtain, StageOptions
from nebula.tools.approval import Decision, allow_all
from nebula.workspace.wrapped.buffered import with_buffers

STOP_REASONS = {"ok": "end_turn", "refused": "end_turn", "interrupted": "cancelled", "limit": "max_turn_requests"}


class TurnFailed(RpcError):
    """Raised for a turn that ended with an error; its sentence is the turn's remark."""

    code = -32603


class EditorSession:
    """`session`, `commands` and `options` are set by `use`, before the first prompt."""

    session: Session
    commands: EditorCommands
    options: SessionOptions

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._work: asyncio.Task[None] | None = None
        self._buffers: EditorBuffers | None = None
        self._cancelled = False
        self._final: Final | None = None
        self._in_turn = False
        """A turn is running, which will report the result of a call; what a command asks about ends with the answer."""
        self._view: EditorView | None = None
        self._progress = Progress(self.update)
        self.calls = ToolCalls(self.update)
        self.plan_reader = PlanView(self.update).read

    def use(self, session: Session, commands_of: CommandsOf) -> None:
        """Use this session from now on."""
        self.session = session
        self.commands = commands_of(self)
        self.options = SessionOptions(session, self.update)

    def use_files(self, access: FileAccess, folder: str) -> None:
        """From now on read the editor's unsaved texts, and send it what is written; `folder` is its name of the
        root."""
        project = self.session.project
        buffers = self._buffers = EditorBuffers(self._peer, self.session.id, folder, access)
        project.workspace = with_buffers(project.workspace, buffers)
        project.read_only = with_buffers(project.read_only, buffers)

    async def close(self) -> None:
        async with AsyncExitStack() as closing:
            closing.push_async_callback(self.session.close)
            closing.push_async_callback(self.options.close)

    def update(self, update: Mapping[str, Any]) -> None:
        self._peer.notify("session/update", {"sessionId": self.session.id, "update": update})

    # What the editor asks for

    async def prompt(self, text: str, attachments: Sequence[Attachment]) -> str:
        """Run a command or a turn, and return why it stopped, as the protocol names it. Raises TurnFailed."""
        self.refuse_during_turn()
        self._cancelled, self._final = False, None
        if self._buffers is not None:
            self._buffers.begin()
        work = self._work = asyncio.create_task(self.commands.prompt(text, attachments))
        try:
            async with self._progress.ticking():
                self._progress.show(Curtain())
                await work
        except asyncio.CancelledError:
            if not work.cancelled():
                raise  # the connection ends, not only this turn
        finally:
            self._work = None
            self._progress.end()
            await self.options.turn_over()
        if self._cancelled or work.cancelled():
            return STOP_REASONS["interrupted"]
        return self._stop_reason(self._final)

    def _stop_reason(self, final: Final | None) -> str:
        if final is None:
            return STOP_REASONS["ok"]
        if final.status not in STOP_REASONS:
            said = self._view.last_remark if self._view is not None else ""
            raise TurnFailed("{remark}", remark=said or explain(final.remark or ""))
        return STOP_REASONS[final.status]

    def cancel(self) -> None:
        """Interrupt what is running; it counts as cancelled even if a command continues after that."""
        if self._work is not None:
            self._cancelled = True
            self._work.cancel()
            if self._buffers is not None:
                self._buffers.hurry()

    async def interrupted(self) -> None:
        """Interrupt what is running and wait until it has ended."""
        self.cancel()
        if self._work is not None:
            await asyncio.wait([self._work])

    def refuse_during_turn(self) -> None:
        if self._work is not None:
            raise RpcError("a turn is under way in this session; wait for its end, or cancel it")

    def advertise(self) -> None:
        """Send the editor the list of commands, and ask the providers for their models."""
        listed = [each.to_json() for each in self.commands.listed()]
        self.update({"sessionUpdate": "available_commands_update", "availableCommands": listed})
        self.options.look_for_models()

    # What commands may do

    async def take_turn(self, prompt: str, attachments: Sequence[Attachment]) -> Final:
        session, settings = self.session, self.session.settings
        self.options.tell_changes()
        stage = StageOptions(settings.lang, settings.curtain, settings.backstage)
        view = self._view = EditorView(stage, self.update, self.calls, settings.root, self._progress)
        readers = [view.read, self.plan_reader]
        self._in_turn = True
        try:
            self._final = await session.turn(prompt, readers, attachments=attachments, watchers=readers)
        finally:
            self._in_turn = False
        self.options.tell_usage(self._final)
        return self._final

    def show_output(self, text: str) -> None:
        self.update(message("agent_message_chunk", f"\n\n{in_fence(text)}\n\n"))

    def show_words(self, text: str) -> None:
        self.update(message("agent_message_chunk", f"\n\n{text}\n\n"))

    async def confirm(self, question: str) -> bool:
        """Ask a yes-or-no question of a command; without an answer it is a no."""
        call = self.calls.announce(self.calls.new_id(), {"title": question, "kind": "other"}, "pending")
        answer = await self._choose(call, agreement())
        self.calls.end(call["toolCallId"], answer == "yes")
        return answer == "yes"

    # Questions of a turn

    async def ask(self, asked: Approval) -> Decision:
        """Ask the user a question of the agent, part by part if they choose that; an answer that is not understood is a
        no."""
        if asked.decision is not None:
            return await allow_all(asked)
        settings = self.session.settings
        question = Question(asked, settings.root, settings.lang)
        call_id = self.calls.find_id(asked.tool_use_id or asked.approval_id)
        call = self.calls.announce(call_id, question.shown, "pending", is_question=True)

        async def choose(shown: Mapping[str, Any], options: Sequence[Mapping[str, str]]) -> str:
            return await self._choose({**call, **shown}, options)

        answer = await question.decide(choose)
        if answer.allowed and self._in_turn:
            self.calls.change(call_id, question.shown, "in_progress")
        else:
            self.calls.end(call_id, answer.allowed)
        return answer

    async def _choose(self, call: Mapping[str, Any], options: Sequence[Mapping[str, str]]) -> str:
        """Return the id of the chosen option; empty if the question was closed, or the answer is none of them."""
        self._progress.end()
        params = {"sessionId": self.session.id, "toolCall": call, "options": list(options)}
        try:
            return chosen_option(await self._peer.request("session/request_permission", params), options)
        except RequestRefused:
            return ""
