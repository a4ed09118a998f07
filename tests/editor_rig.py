"""An editor that drives `nebula acp` by the protocol's own Python library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp import spawn_agent_process
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    ReadTextFileResponse,
    RequestPermissionResponse,
    WriteTextFileResponse,
)

from conftest import BIN, Bench
from scripted_model import ScriptedModel


class Editor:
    """Records what it is told, and answers questions with the options of its choice: in their order, the last of them
    for all further ones. `buffers` are the texts that it has open; where there are any it offers its files. What is
    shown while something is waited for depends on how long that takes, and lies apart (`waits`)."""

    def __init__(self, *answers: str, buffers: dict[str, str] | None = None) -> None:
        self.answers = list(answers or ("yes",))
        self.buffers = buffers
        self.updates: list[dict[str, Any]] = []
        self.waits: list[str] = []
        self.questions: list[Any] = []
        self.written: list[str] = []
        self.changed = asyncio.Condition()

    @property
    def capabilities(self) -> ClientCapabilities:
        has_files = self.buffers is not None
        return ClientCapabilities(fs=FileSystemCapabilities(read_text_file=has_files, write_text_file=has_files))

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        async with self.changed:
            told = update.model_dump(by_alias=True, exclude_none=True)
            if told.get("toolCallId", "").startswith("progress-"):
                self.waits.append(told["title"])
            else:
                self.updates.append(told)
            self.changed.notify_all()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **_: Any
    ) -> RequestPermissionResponse:
        self.questions.append(tool_call)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer == "closed":
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        assert answer in {each.option_id for each in options}
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=answer))

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> ReadTextFileResponse:
        assert self.buffers is not None
        if path in self.buffers:
            return ReadTextFileResponse(content=self.buffers[path])
        return ReadTextFileResponse(content=(await asyncio.to_thread(Path(path).read_bytes)).decode())

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> WriteTextFileResponse:
        """Change the buffer and save it, as editors do."""
        assert self.buffers is not None
        self.written.append(path)
        self.buffers.pop(path, None)
        await asyncio.to_thread(Path(path).write_bytes, content.encode())
        return WriteTextFileResponse()

    def on_connect(self, _: Any) -> None:
        return None

    def said(self, kind: str = "agent_message_chunk") -> str:
        return "".join(each["content"]["text"] for each in self.updates if each["sessionUpdate"] == kind)

    def kinds(self) -> list[str]:
        return [each["sessionUpdate"] for each in self.updates]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [each for each in self.updates if each["sessionUpdate"] == kind]

    async def wait_for(self, kind: str) -> dict[str, Any]:
        """Return the first update of a kind, once it is there."""
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(lambda: kind in self.kinds()), 30)
        return self.of_kind(kind)[0]


@asynccontextmanager
async def connected(bench: Bench, server: ScriptedModel, editor: Editor, *argv: str, **env: str) -> AsyncIterator[Any]:
    environ = bench.env(**server.env(), **env)
    async with spawn_agent_process(
        editor,
        str(BIN / "nebula"),
        "acp",
        *argv,
        env=environ,
        cwd=bench.project,
        transport_kwargs={"shutdown_timeout": 60.0},  # type: ignore[arg-type]
    ) as (connection, process):
        found = await connection.initialize(protocol_version=1, client_capabilities=editor.capabilities)
        assert found.protocol_version == 1 and found.agent_info.name == "nebula"
        yield connection
    assert process.returncode == 0


def titles(calls: Sequence[Any]) -> list[str]:
    return [each.title for each in calls]
