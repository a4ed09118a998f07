"""A tiny embedding model as an ONNX file with its tokenizer: words of one meaning have one vector.

The few messages of the format that it needs are written here by hand, so that no package is needed to make them.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

MEANINGS = (("car", "automobile", "garage"), ("doctor", "clinic", "physician"), ("water", "kettle", "boil"))
_FLOAT, _INT64 = 1, 7


def write_model(folder: Path, name: str = "model.onnx") -> Path:
    """`last_hidden_state[batch, token, 4] = table[input_ids]`"""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {"[PAD]": 0, "[UNK]": 1}
    table = [[0.0] * 4, [0.0, 0.0, 0.0, 0.1]]
    for number, words in enumerate(MEANINGS):
        for word in words:
            vocabulary[word] = len(table)
            table.append([float(number == i) for i in range(4)])
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer(vocabulary)))
    node = _text(1, "table") + _text(1, "input_ids") + _text(2, "last_hidden_state") + _text(4, "Gather")
    data = b"".join(struct.pack("<4f", *row) for row in table)
    initializer = _number(1, len(table)) + _number(1, 4) + _number(2, _FLOAT) + _text(8, "table") + _bytes(9, data)
    graph = (
        _bytes(1, node) + _text(2, "tiny") + _bytes(5, initializer)
        + _bytes(11, _value("input_ids", _INT64, ("batch", "tokens")))
        + _bytes(12, _value("last_hidden_state", _FLOAT, ("batch", "tokens", "size")))
    )  # fmt: skip
    path = folder / name
    path.write_bytes(_number(1, 8) + _bytes(7, graph) + _bytes(8, _text(1, "") + _number(2, 13)))
    return path


def _tokenizer(vocabulary: dict[str, int]) -> dict[str, object]:
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[^a-z]+"}, "behavior": "Removed", "invert": False},
        "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }  # fmt: skip


def _value(name: str, kind: int, dimensions: tuple[str, ...]) -> bytes:
    shape = b"".join(_bytes(1, _text(2, each)) for each in dimensions)
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, shape)))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes((*out, number))


def _number(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())
