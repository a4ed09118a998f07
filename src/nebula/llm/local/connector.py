"""Provider `local`: a GGUF file is the model; llama.cpp serves it in a child process, on loopback, with a random key.

The process starts with the first request and ends with the session. From then on it is an OpenAI-compatible server
like any other.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from functools import partial
from importlib.util import find_spec
from typing import Any

from nebula.files.home import nebula_home
from nebula.files.system.machine import usable_cores
from nebula.language import Sentence
from nebula.llm.catalog import short_name
from nebula.llm.contract import ModelInfo, ModelNotice, ModelRequest, StreamItem
from nebula.llm.errors import NotFoundError
from nebula.llm.http.client import Timeouts
from nebula.llm.http.waiting import with_waiting_notices
from nebula.llm.local.gguf import ModelFile, read_model_file
from nebula.llm.local.process import LocalServer, missing_package, serve, stop_serving
from nebula.llm.local.resources import chosen_resources, free_memory
from nebula.llm.openai import OpenAIModel
from nebula.value import replace

SUFFIX = ".gguf"
GB = 1_000_000_000
PATIENT = Timeouts(connect_s=10.0, first_byte_s=900.0, idle_s=600.0)
"""A long prompt takes minutes on a processor before the first word comes."""
LOADING_NOTICE_S = 5.0
SHARE_OF_ANSWER = 8
LONGEST_AT_LEAST = 1024
"""Tokens. A small model may say one thing over and over until its context is full, which takes minutes: an answer ends
at this share of the context, and the turn says so."""


class LlamaModel(OpenAIModel):
    """The connector to one child process."""

    provider = "local"


class LocalModel:
    provider = "local"

    def __init__(
        self,
        base_url: str = "",
        api_key: str = "",
        *,
        timeouts: Timeouts = PATIENT,
        environ: Mapping[str, str] | None = None,
        **limits: Any,
    ) -> None:
        self._folder = base_url or os.path.join(nebula_home(os.environ if environ is None else environ), "models")
        self._limits = {"timeouts": timeouts, **limits}
        self._files: dict[str, ModelFile] = {}
        self._connected: dict[str, LlamaModel] = {}
        """By the address of the process that it talks to."""

    async def list_models(self) -> list[ModelInfo]:
        names = model_names(self._folder)
        if not names:
            raise NotFoundError(
                "There is no GGUF file in {folder}. Put one there, or name one as local/PATH.", folder=self._folder
            )
        if find_spec("xllamacpp") is None:
            raise missing_package()
        return [ModelInfo(name, self.provider) for name in names]

    async def describe(self, model: str) -> ModelInfo:
        """Return what the file says, without loading it; once it is loaded, what llama.cpp makes of it."""
        file = self._file(model)
        context = chosen_resources(file, free_memory(), usable_cores()).context
        info = ModelInfo(model, self.provider, context, tools=file.takes_tools, tool_role=file.takes_tools)
        for connected in self._connected.values():
            known = await connected.describe(model)
            if known.tools is not None:
                return known
        return info

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        server = serve(self._file(request.model), request.model, self)
        if not server.is_loaded:
            loading = with_waiting_notices(_loading(server), partial(_still_loading, server), LOADING_NOTICE_S)
            async with aclosing(loading):
                async for notice in loading:
                    yield notice
        connected = self._connector_to(await server.address(), server.key)
        if request.max_output_tokens is None:
            context = (await self.describe(request.model)).context_length or 0
            request = replace(request, max_output_tokens=max(LONGEST_AT_LEAST, context // SHARE_OF_ANSWER))
        async with aclosing(connected.stream(request)) as items:
            async for item in items:
                yield item

    async def aclose(self) -> None:
        for connected in self._connected.values():
            await connected.aclose()
        self._connected.clear()
        stop_serving(self)

    def _connector_to(self, address: str, key: str) -> LlamaModel:
        if address not in self._connected:
            self._connected[address] = LlamaModel(f"{address}/v1", key, environ={}, **self._limits)
        return self._connected[address]

    def _file(self, model: str) -> ModelFile:
        if model not in self._files:
            self._files[model] = read_model_file(model_path(model, self._folder))
        return self._files[model]


async def _loading(server: LocalServer) -> AsyncGenerator[StreamItem]:
    """Yield a notice that the model is being loaded, wait for that, and yield how it ended."""
    size = server.model.size / GB
    yield ModelNotice(Sentence("Loading {model} ({size:.1f} GB).", model=short_name(server.name), size=size), "loading")
    if not server.resources.fits:
        said = "{model} is larger than the free memory of this machine; it will be slow, or fail to load."
        yield ModelNotice(Sentence(said, model=short_name(server.name)), "loading")
    await server.address()
    said = "{model} is loaded: room for {context:,} tokens, threads: {threads}."
    found = server.resources
    yield ModelNotice(
        Sentence(said, model=short_name(server.name), context=found.context, threads=found.threads), "loading"
    )


def _still_loading(server: LocalServer, seconds: float) -> ModelNotice:
    said = Sentence(
        "Still loading {model}: {done:.1f} of {size:.1f} GB in memory ({seconds:.0f} s).",
        model=short_name(server.name),
        done=server.bytes_in_memory() / GB,
        size=server.model.size / GB,
        seconds=seconds,
    )
    return ModelNotice(said, "loading")


def model_names(folder: str) -> list[str]:
    """Return the models in the folder and below it. A model in several files goes by its first."""
    found = []
    for place, _, files in os.walk(folder):
        for file in files:
            is_later_part = "-of-" in file and "-00001-of-" not in file
            if file.endswith(SUFFIX) and not file.startswith("mmproj") and not is_later_part:
                found.append(os.path.relpath(os.path.join(place, file), folder).removesuffix(SUFFIX))
    return sorted(found)


def model_path(model: str, folder: str) -> str:
    """Return the file that a name means: one in the folder, with or without its ending, or a path of its own."""
    for name in (model, model + SUFFIX):
        inside = os.path.join(folder, name)
        if not os.path.isabs(name) and os.path.isfile(inside):
            return os.path.realpath(inside)
    return os.path.realpath(os.path.expanduser(model))
