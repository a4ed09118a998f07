"""The methods of the protocol: sessions of ours, opened, asked and cancelled by an editor."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any

from nebula import __version__
from nebula.agent.assembly import open_session
from nebula.agent.session import MODES, Session
from nebula.config import Settings
from nebula.events import Approval, Final
from nebula.language import translate, use_language
from nebula.memory.sessions import Sessions
from nebula.messages import UserMessage
from nebula.server.acp.peer import Handler, Peer, RequestRefused, RpcError
from nebula.server.acp.permission import decision, options, shown
from nebula.server.acp.prompts import read_prompt
from nebula.server.acp.servers import with_editors_servers
from nebula.server.acp.view import EditorView, message
from nebula.stage import StageOptions, neutralise
from nebula.tools.approval import Decision
from nebula.value import record

PROTOCOL_VERSION = 1
STOP_REASONS = {"ok": "end_turn", "refused": "end_turn", "interrupted": "cancelled", "limit": "max_turn_requests"}
MODE_NAMES = {"agent": "Agent", "plan": "Plan"}


class TurnFailed(RpcError):
    """A turn that ended with an error; its sentence is the turn's remark."""

    code = -32603


@record
class OpenSession:
    session: Session
    turn: asyncio.Task[Final] | None = None
    view: EditorView | None = None


class AcpAgent:
    def __init__(self, load: Callable[[str], Settings], send: Callable[[bytes], None]) -> None:
        """`load` gives the settings of a project by its folder, the command line considered."""
        self._load_settings = load
        self._peer = Peer(send, self._handlers())
        self._open: dict[str, OpenSession] = {}
        self._loading = asyncio.Lock()

    async def serve(self, lines: asyncio.StreamReader) -> None:
        """Until the editor goes; what is under way then is interrupted, and recorded so."""
        try:
            await self._peer.read(lines)
        finally:
            for each in self._open.values():
                if each.turn is not None:
                    each.turn.cancel()
            await self._peer.finish()
            for each in self._open.values():
                await each.session.close()

    def _handlers(self) -> Mapping[str, Handler]:
        return {
            "initialize": self._initialize,
            "authenticate": _nothing,
            "session/new": self._new,
            "session/load": self._load,
            "session/list": self._list,
            "session/prompt": self._prompt,
            "session/cancel": self._cancel,
            "session/set_mode": self._set_mode,
        }

    async def _initialize(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": True, "sse": False},
                "sessionCapabilities": {"list": {}},
            },
            "agentInfo": {"name": "nebula", "title": "nebula", "version": __version__},
            "authMethods": [],
        }

    async def _new(self, params: Mapping[str, Any]) -> dict[str, Any]:
        session = await self._opened(params, None)
        return {"sessionId": session.id, "modes": _modes(session)}

    async def _load(self, params: Mapping[str, Any]) -> dict[str, Any]:
        async with self._loading:  # of two loads of one session the second closes what the first opened
            session = await self._opened(params, _text(params, "sessionId"))
        for turn in session.conversation.turns:
            for said in turn.messages:
                kind = "user_message_chunk" if isinstance(said, UserMessage) else "agent_message_chunk"
                text = said.prompt if isinstance(said, UserMessage) else said.content
                if text and text.strip():
                    self._update(session.id, message(kind, neutralise(text)))
        return {"modes": _modes(session)}

    async def _list(self, params: Mapping[str, Any]) -> dict[str, Any]:
        settings = self._load_settings(_folder(params))
        with Sessions(settings.memory_path) as memory:
            found = [info for info in memory.of_project(settings.root) if info.messages]
        return {
            "sessions": [
                {
                    "sessionId": info.id,
                    "cwd": settings.root,
                    "title": neutralise(info.last_words),
                    "updatedAt": (info.ended_at or info.started_at).isoformat(),
                }
                for info in found
            ]
        }

    async def _opened(self, params: Mapping[str, Any], resume: str | None) -> Session:
        settings = with_editors_servers(self._load_settings(_folder(params)), params.get("mcpServers"))
        use_language(settings.lang)
        asked: list[str] = []

        async def approver(question: Approval) -> Decision:
            return await self._ask(asked[0], question)

        if resume is not None:
            await self._leave(resume)
        session = await open_session(settings, approver=approver, resume=resume)
        asked.append(session.id)
        self._open[session.id] = OpenSession(session)
        return session

    async def _leave(self, session_id: str) -> None:
        """Closes a session that is loaded again, as nobody else would."""
        earlier = self._open.get(session_id)
        if earlier is None:
            return
        _refuse_during_turn(earlier)
        del self._open[session_id]
        await earlier.session.close()

    async def _prompt(self, params: Mapping[str, Any]) -> dict[str, Any]:
        place = self._place(params)
        session = place.session
        prompt = read_prompt(params.get("prompt"), session.settings.root)
        _refuse_during_turn(place)
        settings = session.settings
        stage = StageOptions(settings.lang, settings.curtain, settings.backstage)
        place.view = EditorView(stage, lambda update: self._update(session.id, update))
        readers = [place.view.read]
        turn = session.turn(prompt.text, readers, attachments=prompt.attachments, watchers=readers)
        place.turn = asyncio.create_task(turn)
        try:
            final = await place.turn
        except asyncio.CancelledError:
            if not place.turn.cancelled():
                raise  # the connection ends, not this turn alone
            return {"stopReason": STOP_REASONS["interrupted"]}  # before its first step: there was no turn
        finally:
            place.turn = None
        if final.status not in STOP_REASONS:
            raise TurnFailed("{remark}", remark=place.view.last_remark or final.remark)
        return {"stopReason": STOP_REASONS[final.status]}

    async def _cancel(self, params: Mapping[str, Any]) -> None:
        place = self._place(params)
        if place.turn is not None:
            place.turn.cancel()

    async def _set_mode(self, params: Mapping[str, Any]) -> None:
        session, mode = self._place(params).session, _text(params, "modeId")
        if mode not in MODES:
            raise RpcError("'modeId' must be one of {modes}", modes=", ".join(MODES))
        session.mode = mode
        self._update(session.id, {"sessionUpdate": "current_mode_update", "currentModeId": mode})

    async def _ask(self, session_id: str, question: Approval) -> Decision:
        settings = self._open[session_id].session.settings
        call = {"toolCallId": question.approval_id, **shown(question, settings.root, settings.lang)}
        self._update(session_id, {"sessionUpdate": "tool_call", "status": "pending", **call})
        params = {"sessionId": session_id, "toolCall": call, "options": options(question)}
        try:
            answer = decision(await self._peer.request("session/request_permission", params))
        except RequestRefused:
            answer = Decision(False)
        ended = "completed" if answer.allowed else "failed"
        update = {"sessionUpdate": "tool_call_update", "toolCallId": question.approval_id, "status": ended}
        self._update(session_id, update)
        return answer

    def _place(self, params: Mapping[str, Any]) -> OpenSession:
        found = self._open.get(_text(params, "sessionId"))
        if found is None:
            raise RpcError("there is no such session open here")
        return found

    def _update(self, session_id: str, update: Mapping[str, Any]) -> None:
        self._peer.notify("session/update", {"sessionId": session_id, "update": update})


def _refuse_during_turn(place: OpenSession) -> None:
    if place.turn is not None:
        raise RpcError("a turn is under way in this session; wait for its end, or cancel it")


async def _nothing(_: Mapping[str, Any]) -> None:
    return None


def _modes(session: Session) -> dict[str, Any]:
    available = [{"id": mode, "name": translate(MODE_NAMES[mode])} for mode in MODES]
    return {"currentModeId": session.mode, "availableModes": available}


def _folder(params: Mapping[str, Any]) -> str:
    folder = _text(params, "cwd")
    if not os.path.isabs(folder) or not os.path.isdir(folder):
        raise RpcError("'cwd' must be the absolute path of a folder")
    return folder


def _text(params: Mapping[str, Any], name: str) -> str:
    found = params.get(name)
    if not isinstance(found, str) or not found:
        raise RpcError("'{name}' must be a string that is not empty", name=name)
    return found
