"""The child processes that serve models: one for a file, shared by all who ask it, ended with the last of them."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from nebula.config.settings import TABLE
from nebula.files.system.machine import memory_of, usable_cores
from nebula.llm.errors import UnavailableError
from nebula.llm.local.gguf import ModelFile
from nebula.llm.local.resources import Resources, chosen_resources, free_memory

CHILD = os.path.join(os.path.dirname(__file__), "child.py")
MAX_QUOTED = 300
_running: dict[str, LocalServer] = {}


class LocalServer:
    """llama.cpp at work on one file. `address` is there once the model is loaded."""

    def __init__(self, model: ModelFile, name: str) -> None:
        self.model = model
        self.name = name
        self.key = secrets.token_urlsafe(32)
        self.resources: Resources = chosen_resources(model, free_memory(), usable_cores())
        self._address: Future[str] = Future()
        self._log: Any = tempfile.TemporaryFile()  # noqa: SIM115 - the child writes to it for as long as it lives
        self._users: set[int] = set()
        self._process = subprocess.Popen(
            [sys.executable, "-P", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=_environment(os.environ),
            start_new_session=True,  # Ctrl-C is for the turn, not for the model
        )
        self._send()
        threading.Thread(target=self._await_address, daemon=True).start()

    @property
    def process_id(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def is_loaded(self) -> bool:
        return self._address.done() and self.is_alive

    async def address(self) -> str:
        """Wait for the model to be loaded, and return the address. Raises UnavailableError if it cannot be loaded."""
        # Whoever stops waiting does not stop the loading: the next to ask finds it further on.
        return await asyncio.shield(asyncio.wrap_future(self._address))

    def bytes_in_memory(self) -> int:
        """Return how far the loading is, where the system tells."""
        return min(memory_of(self.process_id), self.model.size)

    def acquire(self, user: object) -> None:
        self._users.add(id(user))

    def release(self, user: object) -> bool:
        """Let go of the process; return whether nobody uses it any more, and it has ended."""
        self._users.discard(id(user))
        if self._users:
            return False
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._log):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        return True

    def _send(self) -> None:
        wanted = {
            "path": self.model.path,
            "name": self.name,
            "key": self.key,
            "context": self.resources.context,
            "threads": self.resources.threads,
            "cache_mb": self.resources.cache_mb,
        }
        assert self._process.stdin is not None  # noqa: S101 - asked for above
        with suppress(BrokenPipeError):  # it died at once; whoever waits for the address is told why
            self._process.stdin.write(json.dumps(wanted).encode() + b"\n")
            self._process.stdin.flush()

    def _await_address(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - asked for above
        line = self._process.stdout.readline()
        try:
            self._address.set_result(str(json.loads(line)["address"]))
        except (ValueError, KeyError, TypeError):
            self._address.set_exception(self._failure())

    def _failure(self) -> UnavailableError:
        self._process.wait()
        said = self._last_words()
        if "No module named 'xllamacpp'" in said:
            return missing_package()
        return UnavailableError(
            "llama.cpp could not load {model}: {reason}. Choose another file, or free some memory.",
            model=self.name,
            reason=said or f"status {self._process.returncode}",
            retryable=False,
        )

    def _last_words(self) -> str:
        try:
            self._log.seek(0)
            lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        except (OSError, ValueError):
            return ""  # closed meanwhile: nobody waits any more
        errors = [line for line in lines if " E " in line] or lines
        return errors[-1][-MAX_QUOTED:].strip().rstrip(".") if errors else ""


def serve(model: ModelFile, name: str, user: object) -> LocalServer:
    """Return the process that serves this file to `user`, started where there is none."""
    server = _running.get(model.path)
    if server is None or not server.is_alive:
        server = _running[model.path] = LocalServer(model, name)
    server.acquire(user)
    return server


def stop_serving(user: object) -> None:
    """End the processes that only `user` still holds."""
    for path, server in list(_running.items()):
        if server.release(user):
            del _running[path]


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without keys: a model has no use for them."""
    keys = {variable for each in TABLE.values() if each.secret for variable in each.variables}
    return {name: each for name, each in environ.items() if name not in keys}


def missing_package() -> UnavailableError:
    return UnavailableError("Models in files need the package xllamacpp: `pip install xllamacpp`.", retryable=False)
