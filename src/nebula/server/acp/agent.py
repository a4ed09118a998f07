"""The methods of the protocol: an editor opens our sessions, sends prompts to them and cancels turns."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any

from nebula import __version__
from nebula.agent.assembly import open_session
from nebula.agent.past.session_names import as_listed
from nebula.config import Settings
from nebula.language import use_language
from nebula.memory.sessions import Sessions
from nebula.server.acp.buffers import FileAccess
from nebula.server.acp.commands import CommandsOf
from nebula.server.acp.editor_session import EditorSession
from nebula.server.acp.peer import Handler, Peer, RpcError
from nebula.server.acp.prompts import read_prompt
from nebula.server.acp.replay import replay
from nebula.server.acp.servers import with_editors_servers
from nebula.stage import neutralise

PROTOCOL_VERSION = 1


class AcpAgent:
    def __init__(self, load: Callable[[str], Settings], send: Callable[[bytes], None], commands_of: CommandsOf) -> None:
        """`load` returns the settings of a project, with the options of the command line, given its directory;
        `commands_of` makes the commands of a session."""
        self._load_settings = load
        self._commands_of = commands_of
        self._peer = Peer(send, self._handlers())
        self._open: dict[str, EditorSession] = {}
        self._loading = asyncio.Lock()
        self._files = FileAccess()

    async def serve(self, lines: asyncio.StreamReader) -> None:
        """Serve until the editor closes the connection; a turn that is under way then is interrupted, and recorded as
        such."""
        try:
            await self._peer.read(lines)
        finally:
            for each in self._open.values():
                each.cancel()
            await self._peer.finish()
            for each in self._open.values():
                await each.close()

    def _handlers(self) -> Mapping[str, Handler]:
        return {
            "initialize": self._initialize,
            "authenticate": _nothing,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/close": self._close,
            "session/list": self._list,
            "session/prompt": self._prompt,
            "session/cancel": self._cancel,
            "session/set_mode": self._set_mode,
            "session/set_model": self._set_model,
            "session/set_config_option": self._set_option,
        }

    async def _initialize(self, params: Mapping[str, Any]) -> dict[str, Any]:
        self._files = FileAccess.read(params)
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": True, "sse": False},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
            },
            "agentInfo": {"name": "nebula", "title": "nebula", "version": __version__},
            "authMethods": [],
        }

    async def _new(self, params: Mapping[str, Any]) -> dict[str, Any]:
        opened = await self._opened(params, None)
        return {"sessionId": opened.session.id, **self._introduce(opened)}

    async def _load(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Open an earlier session, and show its past before answering."""
        async with self._loading:
            opened = await self._reopened(params)
            for update in await asyncio.to_thread(lambda: list(replay(opened.session, opened.calls))):
                opened.update(update)
        return self._introduce(opened)

    async def _resume(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Open an earlier session whose past the editor already has."""
        async with self._loading:
            return self._introduce(await self._reopened(params))

    def _introduce(self, opened: EditorSession) -> dict[str, Any]:
        """Return the options of a session; once that was sent, send the editor the session's commands."""
        asyncio.get_running_loop().call_soon(opened.advertise)
        return opened.options.state()

    async def _list(self, params: Mapping[str, Any]) -> dict[str, Any]:
        settings = self._load_settings(_folder(params))
        with Sessions(settings.memory_path) as memory:
            found = as_listed((info for info in memory.of_project(settings.root) if info.messages), settings)
        return {
            "sessions": [
                {
                    "sessionId": info.id,
                    "cwd": settings.root,
                    "title": neutralise(info.name or info.first_prompt or info.last_words),
                    "updatedAt": (info.ended_at or info.started_at).isoformat(),
                }
                for info in found
            ]
        }

    async def _reopened(self, params: Mapping[str, Any]) -> EditorSession:
        """Open an earlier session. Call it with `_loading` held, and read from the session before releasing that: when
        one session is loaded twice, the second load closes what the first opened."""
        opened = await self._opened(params, _text(params, "sessionId"))
        opened.options.recall_mode()
        return opened

    async def _opened(self, params: Mapping[str, Any], resume: str | None) -> EditorSession:
        settings = with_editors_servers(self._load_settings(_folder(params)), params.get("mcpServers"))
        use_language(settings.lang)
        opened = EditorSession(self._peer)
        if resume is not None:
            await self._leave(resume)
        opened.use(await open_session(settings, approver=opened.ask, resume=resume), self._commands_of)
        if self._files.reads:
            opened.use_files(self._files, _editors_root(_folder(params), settings.root))
        self._open[opened.session.id] = opened
        return opened

    async def _leave(self, session_id: str) -> None:
        """Close a session that is being loaded again, since nobody else would."""
        earlier = self._open.get(session_id)
        if earlier is None:
            return
        earlier.refuse_during_turn()
        del self._open[session_id]
        await earlier.close()

    async def _prompt(self, params: Mapping[str, Any]) -> dict[str, Any]:
        found = self._find(params)
        text, attachments = read_prompt(params.get("prompt"), found.session.settings.root)
        return {"stopReason": await found.prompt(text, attachments)}

    async def _cancel(self, params: Mapping[str, Any]) -> None:
        self._find(params).cancel()

    async def _close(self, params: Mapping[str, Any]) -> None:
        """Interrupt what is under way in a session and close it."""
        found = self._find(params)
        await found.interrupted()
        del self._open[found.session.id]
        await found.close()

    async def _set_mode(self, params: Mapping[str, Any]) -> None:
        found = self._find(params)
        found.options.set_mode(_text(params, "modeId"))
        found.commands.mode_changed()
        found.options.tell_changes()

    async def _set_model(self, params: Mapping[str, Any]) -> None:
        found = self._find(params)
        await found.options.set("model", _text(params, "modelId"))

    async def _set_option(self, params: Mapping[str, Any]) -> dict[str, Any]:
        found = self._find(params)
        told = await found.options.set(_text(params, "configId"), _text(params, "value"))
        found.commands.mode_changed()
        return told

    def _find(self, params: Mapping[str, Any]) -> EditorSession:
        found = self._open.get(_text(params, "sessionId"))
        if found is None:
            raise RpcError("there is no such session open here")
        return found


async def _nothing(_: Mapping[str, Any]) -> None:
    return None


def _folder(params: Mapping[str, Any]) -> str:
    folder = _text(params, "cwd")
    if not os.path.isabs(folder) or not os.path.isdir(folder):
        raise RpcError("'cwd' must be the absolute path of a folder")
    return folder


def _editors_root(folder: str, root: str) -> str:
    """Return the root under the editor's name for it: a link to the root is opened in the editor under the link's
    name."""
    return folder if os.path.realpath(folder) == os.path.realpath(root) else root


def _text(params: Mapping[str, Any], name: str) -> str:
    found = params.get(name)
    if not isinstance(found, str) or not found:
        raise RpcError("'{name}' must be a string that is not empty", name=name)
    return found
