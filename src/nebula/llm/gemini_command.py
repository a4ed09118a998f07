"""The `gemini` command (Gemini CLI) as a model: for planning alone, since it brings tools of its own and takes none.

It is run headless, once for each request, in an empty folder: the prompt holds all that it is to know of the project,
and nothing that it might do with its tools can reach the user's files. Its log-in, key and address are its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import tempfile
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from nebula.language import sentence_of
from nebula.llm.contract import ModelInfo, ModelReply, ModelRequest, Retrying, StreamItem, Usage
from nebula.llm.errors import BadReplyError, ModelError, NotFoundError, UnavailableError
from nebula.llm.wire import counted
from nebula.messages import AssistantMessage, Message, UserMessage
from nebula.programs import kill_group

PROGRAM = "gemini"
TIMEOUT_S = 180.0
ATTEMPTS = 2
ASK = "Answer the request on standard input. Use no tools."
MOST_SAID = 300
MOST_PLACES = 50


class GeminiCommand:
    provider = "gemini-cli"

    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        self._timeout_s = timeout_s

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                yield await self._run(request)
                return
            except (UnavailableError, BadReplyError) as problem:
                if attempt == ATTEMPTS:
                    raise
                yield Retrying(sentence_of(problem), attempt + 1, 0.0, ATTEMPTS, problem.kind)

    async def list_models(self) -> list[ModelInfo]:
        return [ModelInfo(self.provider, self.provider, tools=False)]

    async def describe(self, model: str) -> ModelInfo:
        return ModelInfo(model, self.provider, tools=False)

    async def aclose(self) -> None:
        return None

    async def _run(self, request: ModelRequest) -> ModelReply:
        program = shutil.which(PROGRAM)
        if program is None:
            raise NotFoundError(
                "The command `gemini` is not installed. Install Gemini CLI, or choose another planner with --planner."
            )
        model = [] if request.model == self.provider else ["--model", request.model]
        with tempfile.TemporaryDirectory(prefix="nebula-gemini-") as nowhere:
            argv = [program, *model, "--output-format", "json", "--prompt", ASK]
            code, out, err = await self._finished(argv, _prompt(request), nowhere)
        return _reply(code, out, err)

    async def _finished(self, argv: list[str], prompt: str, folder: str) -> tuple[int, bytes, bytes]:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=folder,
                # It refuses a folder nobody has trusted; this one is ours, and empty.
                env=os.environ | {"GEMINI_CLI_TRUST_WORKSPACE": "true", "NO_COLOR": "1"},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as problem:
            raise NotFoundError("The command `gemini` cannot be started: {problem}", problem=problem.strerror) from None
        try:
            async with asyncio.timeout(self._timeout_s):
                out, err = await process.communicate(prompt.encode("utf-8", "replace"))
        except TimeoutError:
            raise UnavailableError(
                "The command `gemini` gave no answer in {seconds} seconds.", seconds=f"{self._timeout_s:g}"
            ) from None
        finally:
            kill_group(process.pid)  # it starts itself anew, and cancelling must end that, too
            await process.wait()
        return process.returncode or 0, out, err


def _prompt(request: ModelRequest) -> str:
    return "\n\n".join([request.system, *(_said(message) for message in request.messages)])


def _said(message: Message) -> str:
    if isinstance(message, UserMessage):
        return f"# The request\n\n{message.prompt or ''}"
    return f"# Your last answer\n\n{message.content}"


def _reply(code: int, out: bytes, err: bytes) -> ModelReply:
    found = _object(out)
    text = found.get("response") if found else None
    if code != 0 or not isinstance(text, str):
        raise _problem(code, found or _object(err), out, err)
    return ModelReply(
        AssistantMessage.new_response(None, text), _usage(found or {}), None, "end" if text else "missing"
    )


def _object(raw: bytes) -> dict[str, Any] | None:
    """Return the JSON object that ends the output; remarks may stand before it."""
    text = raw.decode("utf-8", "replace")
    for start in list(re.finditer(r"^\{", text, re.MULTILINE))[:MOST_PLACES]:
        try:
            found = json.loads(text[start.start() :])
        except (ValueError, RecursionError):
            continue
        return found if isinstance(found, dict) else None
    return None


def _problem(code: int, found: Mapping[str, Any] | None, out: bytes, err: bytes) -> ModelError:
    error = (found or {}).get("error")
    said = str(error.get("message") or "") if isinstance(error, Mapping) else ""
    if not said:
        lines = (err or out).decode("utf-8", "replace").strip().splitlines()
        said = lines[-1].strip() if lines else ""
    return BadReplyError(
        "The command `gemini` failed (exit code {code}): {problem}", code=code, problem=said[:MOST_SAID] or "-"
    )


def _usage(found: Mapping[str, Any]) -> Usage:
    """Return what was used, summed over the models that it asked; zero where it does not say."""
    stats = found.get("stats")
    models = stats.get("models") if isinstance(stats, Mapping) else None
    total = Usage()
    for each in models.values() if isinstance(models, Mapping) else ():
        tokens = each.get("tokens") if isinstance(each, Mapping) else None
        prompt = counted(tokens, "prompt")
        output = counted(tokens, "candidates", "thoughts")
        total += Usage(prompt, output, min(prompt, counted(tokens, "cached")))
    return total
