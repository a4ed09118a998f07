"""Ask an editor for its texts of files, from the threads that read and write ours."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from typing import Any

from nebula.server.acp.peer import Peer, RequestRefused
from nebula.value import value

ANSWER_S = 10.0
"""An editor that has not answered by then is not asked for texts again: the disk has them."""

HURRIED_S = 1.0
"""The same once the turn was cancelled, which the user waits for: until its end the disk has them."""


@value
class FileAccess:
    """What an editor declares that it can do with files."""

    reads: bool = False
    writes: bool = False

    @classmethod
    def read(cls, params: Mapping[str, Any]) -> FileAccess:
        """Return what `initialize` declares; anything that is not understood counts as missing."""
        capabilities = params.get("clientCapabilities")
        files = capabilities.get("fs") if isinstance(capabilities, Mapping) else None
        if not isinstance(files, Mapping):
            return cls()
        return cls(files.get("readTextFile") is True, files.get("writeTextFile") is True)


class EditorBuffers:
    """It is made on the event loop and used in any other thread, since a call waits for the editor."""

    def __init__(self, peer: Peer, session_id: str, folder: str, access: FileAccess) -> None:
        self._peer = peer
        self._session_id = session_id
        self._folder = folder
        self._access = access
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._answers = True
        self._asked: set[Future[Any]] = set()
        self._hurry: asyncio.TimerHandle | None = None
        self._given_up = threading.Event()

    def hurry(self) -> None:
        """Wait for no answer much longer: the turn was cancelled."""
        if self._hurry is None:
            self._hurry = self._loop.call_later(HURRIED_S, self._give_up)

    def begin(self) -> None:
        """Wait for answers again, in a new turn."""
        if self._hurry is not None:
            self._hurry.cancel()
        self._hurry = None
        self._given_up.clear()

    def _give_up(self) -> None:
        self._given_up.set()
        for each in tuple(self._asked):
            each.cancel()

    @property
    def writes(self) -> bool:
        return self._access.writes and self._answers and not self._given_up.is_set()

    def read(self, path: str) -> str | None:
        answer = self._ask("fs/read_text_file", path) if self._access.reads else None
        text = answer.get("content") if isinstance(answer, Mapping) else None
        return text if isinstance(text, str) else None

    def write(self, path: str, content: str) -> None:
        if self._access.writes:
            self._ask("fs/write_text_file", path, content=content)

    def _ask(self, method: str, path: str, **more: str) -> Any:
        if not self._answers or self._given_up.is_set() or threading.get_ident() == self._thread:
            return None
        params = {"sessionId": self._session_id, "path": os.path.join(self._folder, path), **more}
        asked = asyncio.run_coroutine_threadsafe(self._peer.request(method, params), self._loop)
        self._asked.add(asked)
        if self._given_up.is_set():  # in this moment
            asked.cancel()
        try:
            return asked.result(ANSWER_S)
        except TimeoutError:
            asked.cancel()
            self._answers = False
        except (RequestRefused, CancelledError):
            pass  # it has no such file, or is gone, or the turn is over: the disk counts
        finally:
            self._asked.discard(asked)
        return None
