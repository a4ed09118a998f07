"""What a GGUF file says about its model, read from its header alone: nothing of the weights is touched."""

from __future__ import annotations

import mmap
import os
import re
import struct
from collections.abc import Mapping
from typing import Any

from nebula.llm.errors import NotFoundError
from nebula.value import value

MAGIC = b"GGUF"
VERSIONS = (2, 3)
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
STRING, ARRAY = 8, 9
MAX_ENTRIES = 100_000
MAX_KEPT = 1024
"""Longer arrays are vocabularies, which nobody here asks for."""
BYTES_PER_VALUE = 2
"""Of the cache of keys and values: half precision."""
SHARD = re.compile(r"-00001-of-(\d{5})\.gguf$")


@value
class ModelFile:
    path: str
    size: int
    """Of all its parts."""
    context_length: int
    template: str
    cache_bytes_per_token: int

    @property
    def takes_tools(self) -> bool | None:
        """Return whether its chat template takes tools; None where it has no template of its own."""
        return bool(re.search(r"\btools\b", self.template)) if self.template else None


def read_model_file(path: str) -> ModelFile:
    """Return what a model file says of itself. Raises NotFoundError where there is no such file, or it holds no model
    that can chat."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            facts = _Header(data).read()
        size = sum(os.path.getsize(part) for part in _parts(path))
    except (OSError, ValueError, struct.error, IndexError) as problem:
        raise NotFoundError(
            "{path} cannot be used as a model: {reason}. Name a GGUF file.", path=path, reason=_reason(problem)
        ) from None
    return _described(path, size, facts)


def _reason(problem: Exception) -> str:
    if isinstance(problem, struct.error | IndexError):  # there is less of it than its header tells
        return "it is cut off"
    return (problem.strerror if isinstance(problem, OSError) else None) or str(problem)


def _parts(path: str) -> list[str]:
    """Return the files of a model that was cut into several, by the name of the first."""
    found = SHARD.search(path)
    if found is None:
        return [path]
    count, stem = int(found[1]), path[: found.start()]
    return [f"{stem}-{number:05d}-of-{found[1]}.gguf" for number in range(1, count + 1)]


def _described(path: str, size: int, facts: Mapping[str, Any]) -> ModelFile:
    architecture = str(facts.get("general.architecture", ""))

    def fact(name: str) -> Any:
        return facts.get(f"{architecture}.{name}")

    context = fact("context_length")
    if not isinstance(context, int) or context <= 0:
        raise NotFoundError("{path} holds no model that answers in text. Name another GGUF file.", path=path)
    heads = fact("attention.head_count") or 1
    widest = max(heads) if isinstance(heads, list) else heads
    width = (fact("embedding_length") or 0) // max(widest, 1)
    keys, values = (fact(f"attention.{each}_length") or width for each in ("key", "value"))
    groups = fact("attention.head_count_kv") or heads
    layers = fact("block_count") or 1
    total = sum(groups) if isinstance(groups, list) else groups * layers
    template = str(facts.get("tokenizer.chat_template", ""))
    return ModelFile(path, size, context, template, total * (keys + values) * BYTES_PER_VALUE)


class _Header:
    """Walks the key-value pairs at the beginning of the file."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0

    def read(self) -> dict[str, Any]:
        if self._data[:4] != MAGIC:
            raise ValueError("it is not a GGUF file")
        self._at = 4
        version, _, count = self._number("<I"), self._number("<Q"), self._number("<Q")
        if version not in VERSIONS or count > MAX_ENTRIES:
            raise ValueError("its version is not known")
        return {self._string(): self._value(self._number("<I")) for _ in range(count)}

    def _number(self, form: str) -> Any:
        found = struct.unpack_from(form, self._data, self._at)[0]
        self._at += struct.calcsize(form)
        return found

    def _string(self) -> str:
        return self._bytes().decode("utf-8", "replace")

    def _bytes(self) -> bytes:
        length = self._number("<Q")
        if length > len(self._data) - self._at:
            raise ValueError("it is cut off")
        self._at += length
        return self._data[self._at - length : self._at]

    def _value(self, kind: int) -> Any:
        if kind == STRING:
            return self._string()
        if kind == ARRAY:
            return self._array()
        if kind not in SCALARS:
            raise ValueError("its header is damaged")
        return self._number(SCALARS[kind])

    def _array(self) -> list[Any] | None:
        kind, count = self._number("<I"), self._number("<Q")
        if count > len(self._data):
            raise ValueError("it is cut off")
        if kind in SCALARS and count > MAX_KEPT:
            self._at += count * struct.calcsize(SCALARS[kind])
            return None
        if kind == STRING and count > MAX_KEPT:
            self._skip_strings(count)
            return None
        return [self._value(kind) for _ in range(count)]

    def _skip_strings(self, count: int) -> None:
        """Skip the strings of a vocabulary: a hundred thousand lengths, one after the other."""
        at, data, length = self._at, self._data, struct.Struct("<Q").unpack_from
        for _ in range(count):
            at += 8 + length(data, at)[0]
        self._at = at
