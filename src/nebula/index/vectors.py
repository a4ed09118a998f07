"""Vectors as they are kept: of length one, a byte a number, with the factor that gives the numbers back.

A byte is enough: what is compared are angles, and the error of a rounded vector is far below the noise of a model.
"""

from __future__ import annotations

import math
from array import array
from operator import mul

from nebula.index.embedders.contract import Vector

Packed = tuple[float, bytes]


def pack(vector: Vector) -> Packed:
    length = math.sqrt(sum(map(mul, vector, vector))) or 1.0
    largest = max(map(abs, vector), default=0.0) or 1.0
    step = largest / 127
    return step / length, array("b", [round(number / step) for number in vector]).tobytes()


def cosine(question: array[float], packed: Packed) -> float:
    """`question` has length one."""
    scale, data = packed
    numbers = array("b", data)
    return scale * sum(map(mul, question, numbers)) if len(numbers) == len(question) else 0.0


def unit(vector: Vector) -> array[float]:
    length = math.sqrt(sum(map(mul, vector, vector))) or 1.0
    return array("d", [number / length for number in vector])
