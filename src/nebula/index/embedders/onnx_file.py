"""An embedder in a file: `onnx/PATH/model.onnx`, with its `tokenizer.json` beside it. Nothing leaves the machine.

Needs the extra `onnx`. The file is one that the user points at; no model is ever fetched.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from nebula.index.constants import EMBED_TEXT_LETTERS, ONNX_BATCH, ONNX_TOKENS
from nebula.index.embedders.contract import Vector, with_prefix
from nebula.index.errors import IndexFailed

_MARK_BYTES = 65_536
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class OnnxEmbedder:
    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(os.path.expanduser(path))
        self._tokenizer_path = os.path.join(os.path.dirname(self._path), "tokenizer.json")
        for each in (self._path, self._tokenizer_path):
            if not os.path.isfile(each):
                raise IndexFailed("The embedder's file {path} is not there.", path=each)
        self.name = f"onnx/{self._path}#{_mark(self._path)}"
        self._kind = "/".join(self._path.split("/")[-2:])

    def embed(self, texts: Sequence[str], *, is_question: bool = False) -> list[Vector]:
        prepared = [with_prefix(self._kind, text[:EMBED_TEXT_LETTERS], is_question) for text in texts]
        vectors: list[Vector] = []
        for start in range(0, len(prepared), ONNX_BATCH):
            vectors += self._embedded(prepared[start : start + ONNX_BATCH])
        return vectors

    def _embedded(self, texts: list[str]) -> list[Vector]:
        import numpy

        tokenizer, session = self._model
        encoded = tokenizer.encode_batch(texts)
        columns = zip(*((each.ids, each.attention_mask, each.type_ids) for each in encoded), strict=True)
        arrays = {name: numpy.array(column, numpy.int64) for name, column in zip(_INPUTS, columns, strict=True)}
        wanted = {each.name for each in session.get_inputs()}
        found = session.run(None, {name: array for name, array in arrays.items() if name in wanted})[0]
        if found.ndim == 3:  # a vector for each token: their mean is the text's
            mask = arrays["attention_mask"][:, :, None]
            found = (found * mask).sum(axis=1) / numpy.maximum(mask.sum(axis=1), 1)
        rows: list[Vector] = found.astype(float).tolist()
        return rows

    @cached_property
    def _model(self) -> tuple[Any, Any]:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError:
            raise IndexFailed("An ONNX embedder needs `pip install onnxruntime tokenizers numpy`.") from None
        try:
            tokenizer = Tokenizer.from_file(self._tokenizer_path)
            session = onnxruntime.InferenceSession(self._path, providers=["CPUExecutionProvider"])
        except Exception as error:  # noqa: BLE001 - both raise what they like
            raise IndexFailed("The embedder {path} cannot be loaded: {reason}", path=self._path, reason=error) from None
        tokenizer.enable_truncation(ONNX_TOKENS)
        tokenizer.enable_padding()
        return tokenizer, session


def _mark(path: str) -> str:
    """Return what tells one model from another under the same path, without reading all of it."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(_MARK_BYTES)
        file.seek(max(0, size - _MARK_BYTES))
        return hashlib.sha256(b"%d " % size + head + file.read()).hexdigest()[:12]
