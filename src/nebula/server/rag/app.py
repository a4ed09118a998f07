"""The code index over REST (the seed's "RAG Server"), behind the same gate as the gateway.

Searches and changes each have a thread and an index of their own, so that a long ingest delays no search.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from nebula.index.errors import IndexFailed, IndexStopped, OutsideRoot
from nebula.index.index import Index
from nebula.server.asgi import App
from nebula.server.bodies import RequestBody, read_body
from nebula.server.gate import PASSAGE, Gate, Passage, Rules, recorder
from nebula.server.rag import bodies, operations
from nebula.server.rag.keeper import Keeper, OpenIndex
from nebula.server.refusals import Refusal
from nebula.server.rest import RestApi, json_response
from nebula.tools.code.code_index import STATE_HEADER
from nebula.workspace.audit import AuditLog

_DESCRIPTION = """\
The lines of a project that a question is about. Send `x-trace-id` (a UUID) to tie requests to a task; it is returned in
every response.

The index follows commits by itself; /ingest answers when a change is searchable. A hit is compared with its file before
it is given out, so its text is what stands there now."""
_ERRORS: Final = {400: "A path leads out of the root."}
_CHUNK: Final = {
    "path": "app/session.py", "span": "L10-L24", "text": "def save(self): …", "score": 1.62, "symbol": "Session.save",
    "language": "python", "blob": "5f0c…", "commit": "9d1e…",
}  # fmt: skip


class _Worker:
    """One thread with its own index."""

    def __init__(self, open_index: OpenIndex, stop: threading.Event) -> None:
        self._index = open_index()
        self._index.stop_by(stop)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rag")

    async def run(self, work: Callable[[Index], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._index)

    def close(self) -> None:
        self._thread.shutdown()
        self._index.close()


def create_rag(
    open_index: OpenIndex, rules: Rules, audit: AuditLog | None = None, stop: threading.Event | None = None
) -> App:
    """Return the ASGI app. Whoever sets `stop` wants it to end soon: what is under way then is answered 503.

    Raises IndexFailed where the index cannot be opened."""
    stop = stop or threading.Event()
    searching, changing = _Worker(open_index, stop), _Worker(open_index, stop)
    loops: list[asyncio.AbstractEventLoop] = []
    looked = asyncio.Event()

    def note() -> None:
        if keeper.has_looked:
            with suppress(RuntimeError):  # the server has ended, and one of its threads did so later
                loops[0].call_soon_threadsafe(looked.set)

    keeper = Keeper(open_index, note, stop)

    @asynccontextmanager
    async def lifespan(_: RestApi) -> Any:
        loops.append(asyncio.get_running_loop())
        keeper.start()
        yield
        keeper.stop()
        searching.close()
        changing.close()

    async def status(_: Request) -> Response:
        found = await searching.run(lambda index: operations.status(index, keeper.is_ready, keeper.problem))
        return json_response(to_json(found), {})

    api = RestApi("EverContext index", _DESCRIPTION, lifespan, {})
    add = partial(_add, api, partial(_wait_for_index, keeper, looked))
    add(
        "ingest", "Bring files in step; answers when they are searchable", changing, operations.ingest,
        bodies.IngestBody, bodies.IngestReply, {"ingested": 1, "skipped": [], "deleted": 0, "renamed": 0},
    )  # fmt: skip
    add(
        "prune", "Take files out of the index, until they are ingested again", changing, operations.prune,
        bodies.PruneBody, bodies.PruneReply, {"deleted": 1},
    )  # fmt: skip
    add(
        "search", "The chunks that a question is about, the best first", searching, operations.search,
        bodies.ChunkSearchBody, bodies.ChunkSearchReply, {"chunks": [_CHUNK]},
    )  # fmt: skip
    add(
        "outline", "The files that count most, each with what it defines", searching, operations.outline,
        bodies.OutlineBody, bodies.OutlineReply, {"files": [{"path": "app/session.py", "symbols": "Session, open"}]},
    )  # fmt: skip
    api.add("status", status, "What is indexed, what waits, what was skipped", bodies.StatusReply, errors={})
    return Gate(api, rules, recorder(audit))


async def _wait_for_index(keeper: Keeper, looked: asyncio.Event) -> None:
    """Wait for the first look at all files: before it no answer would be true. Raises Refusal if it failed."""
    await looked.wait()
    if not keeper.is_ready:
        raise Refusal(
            "The index is not ready yet: {problem}", problem=keeper.problem, status=503, code="index_not_ready"
        )


def _add(
    api: RestApi,
    wait_for_index: Callable[[], Awaitable[None]],
    name: str,
    summary: str,
    worker: _Worker,
    run: Callable[[Index, Any], dict[str, Any]],
    kind: type[RequestBody],
    reply_kind: type[BaseModel],
    example: dict[str, Any],
) -> None:
    async def endpoint(request: Request) -> Response:
        passage: Passage = request.scope[PASSAGE]
        passage.method = name
        asked: Any = read_body(kind, passage.body, passage.content_type)
        await wait_for_index()
        try:
            reply, state = await worker.run(lambda index: (run(index, asked), index.state()))
            if isinstance(asked, bodies.IngestBody) and asked.diff is not None and asked.diff.renamed:
                passage.renames = (len(asked.diff.renamed), reply["renamed"])
            return json_response(to_json(reply), {STATE_HEADER: state})
        except OutsideRoot as error:
            raise Refusal("{problem}", problem=error, status=400, code="path_escape") from None
        except IndexStopped as stopped:
            raise Refusal("{problem}", problem=stopped, status=503, code="stopped") from None
        except IndexFailed as error:
            raise Refusal("{problem}", problem=error, status=500, code="index_failed") from None

    api.add(name, endpoint, summary, reply_kind, request=kind, example=example, errors=_ERRORS)
