"""A tool of an MCP server as the model is offered it: `server__tool`, with a question before each call."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from nebula.events import Activity, Approval, Event, new_trace_id
from nebula.files.digest import digest
from nebula.language import Sentence
from nebula.messages import MAX_IMAGES_PER_MESSAGE, ImageBlock, ToolSpec
from nebula.tools.approval import Approvals
from nebula.tools.contract import Call, Outcome, ToolFailure, whole_characters
from nebula.tools.external.connection import ServerConnection, ServerFailed
from nebula.tools.external.content import MAX_RESULT, Block, clean_text, make_outcome, read_blocks
from nebula.tools.permissions import Permission

if TYPE_CHECKING:
    from mcp.types import Tool as ServerTool

SEPARATOR = "__"
MAX_NAME = 64
MAX_DESCRIPTION = 4_000
DESCRIBED_ANEW = (
    "The server of this tool was started again and describes it otherwise now. It can be called from the user's next "
    "prompt on; go on without it."
)
PROGRESS_EVERY_S = 0.25
"""A server may report progress as often as it likes; it is shown at most this often."""
MAX_PROGRESS = 100
NOT_ALLOWED = "The user did not allow this call. Do not try it again; go on without it or ask what is wanted."


async def takes_images() -> bool:
    """Return True: the model takes images, where nobody knows better."""
    return True


def offered_name(server: str, tool: str) -> str:
    """Return the name of a tool with the characters that all providers accept: letters, digits, _ and -."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"{server}{SEPARATOR}{tool}")[:MAX_NAME]


class ProgressReport:
    """Shows the server's progress on a call of `tool`, no faster than a person can read it."""

    def __init__(self, tool: str, show: Callable[[Event], Any]) -> None:
        self._tool = tool
        self._show = show
        self._due = 0.0

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        moment = time.monotonic()
        if moment < self._due:
            return
        self._due = moment + PROGRESS_EVERY_S
        amount = f"{progress:g}/{total:g}" if total else f"{progress:g}"
        said = " ".join(clean_text(message or "").split())[:MAX_PROGRESS]
        self._show(Activity(Sentence("{tool}: {said}", tool=self._tool, said=" ".join(filter(None, (amount, said))))))


class ExternalTool:
    def __init__(
        self,
        connection: ServerConnection,
        tool: ServerTool,
        approvals: Approvals | None,
        takes_images: Callable[[], Awaitable[bool]] = takes_images,
    ) -> None:
        self._connection = connection
        self._takes_images = takes_images
        self._tool = tool.name
        self._approvals = approvals
        about = clean_text(tool.description or tool.title or tool.name)[:MAX_DESCRIPTION]
        self.spec = ToolSpec(offered_name(connection.server.name, tool.name), about, dict(tool.input_schema))
        self.permission = Permission("call", self.spec.name, _describe(connection, tool))

    @property
    def reads_only(self) -> bool:
        """Return whether the user declared it read-only. What the server says of its own tools does not count."""
        return self._tool in self._connection.server.read_only

    @property
    def is_allowed(self) -> bool:
        """The user said yes to it for the session, as it is described."""
        return self._approvals is not None and self._approvals.permissions.has(self.permission)

    async def run(self, args: Mapping[str, Any], call: Call) -> Outcome:
        said = whole_characters(json.dumps(args, ensure_ascii=False, indent=2), "What the tool is given")
        try:
            await self._open_same()
            if not self.reads_only:
                await self._ask(said, call)
                await self._open_same()  # it may have ended before the answer came
            result = await self._connection.call(self._tool, dict(args), ProgressReport(self.spec.name, call.show))
        except ServerFailed as problem:
            raise ToolFailure(str(problem), code=502) from None
        blocks = read_blocks(result)
        most, why_none = await self._most_images(blocks, call)
        room = min(MAX_RESULT, call.room)
        return make_outcome(blocks, is_error=bool(result.is_error), room=room, most_images=most, why_none=why_none)

    async def _most_images(self, blocks: list[Block], call: Call) -> tuple[int, str]:
        """Return how many images of a result the model gets, and why no more."""
        if not any(isinstance(each, ImageBlock) for each in blocks):
            return 0, ""
        if not await self._takes_images():
            return 0, "because this model takes no images"
        share = MAX_IMAGES_PER_MESSAGE // max(1, len(call.peers))
        return share, f"because a message takes {MAX_IMAGES_PER_MESSAGE} images"

    async def _open_same(self) -> None:
        """Start a server that has ended. Raise ToolFailure if it now describes the tool differently than when it was
        offered."""
        await self._connection.open()
        now = [each for each in self._connection.tools if each.name == self._tool]
        if [_describe(self._connection, each) for each in now] != [self.permission.described]:
            raise ToolFailure(DESCRIBED_ANEW, code=409)

    async def _ask(self, said: str, call: Call) -> None:
        approvals = self._approvals
        if approvals is None:
            raise ToolFailure(NOT_ALLOWED, code=403, policy=True)
        if self.is_allowed:
            return
        question = Approval(new_trace_id(), "call", self.spec.name, text=said)
        decision = await approvals.ask(question, call, self.permission)
        if not decision.allowed:
            raise decision.refusal(NOT_ALLOWED)


def _describe(connection: ServerConnection, tool: ServerTool) -> str:
    """Return a digest of everything that the user and the model know of a tool."""
    known = [connection.server.name, tool.name, tool.title, tool.description, tool.input_schema]
    return digest(json.dumps(known, sort_keys=True).encode())
