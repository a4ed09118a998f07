"""The parts of a chunk's score, each between 0 and about 1; `PART_WEIGHTS` says how much each counts."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import mul

from nebula.index.constants import OTHERS, PART_WEIGHTS, RARE_SHARE, UNIT_NAME, UNIT_PATH
from nebula.index.ranking.kinds import CODE, DATA, DECLARATION, EXAMPLE, GENERATED, PROSE, TEST, VENDORED
from nebula.index.ranking.scoring import Scored, highest
from nebula.index.stores.rows import Candidate, CodeLines
from nebula.index.terms.words import parts_of

Parts = dict[str, float]
"""Name of a part → how far it is true of a chunk; what is not named is 0."""

KIND_NAMES = {
    TEST: "test",
    PROSE: "prose",
    DATA: "data",
    VENDORED: "vendored",
    GENERATED: "generated",
    EXAMPLE: "example",
    DECLARATION: "declaration",
}
_FAMILIES = {"cpp": "c", "tsx": "typescript"}
"""Languages that are written side by side in one program, and share their header files."""
_LONG_CHUNK = 3.0
_MANY_NAMES = 5
_REMEMBERED_NAMES = 20_000


OF_CHUNK = ("words", "name", "best of its file", "length", "no definition", "many definitions")
"""The parts that every chunk has. A search adds up hundreds of them: they are kept in this order, without names."""
OF_FILE = ("path", "whole file", "next chunks", "references", "file name", "whole file name")
"""The parts that the chunks of a file share, in the same way."""
Six = tuple[float, float, float, float, float, float]
_Kind = tuple[str, int]
"""(language, kind) of a file."""


def total_of(parts: Parts, others: float = 0) -> float:
    """Return the score of a chunk with these parts, and with `others` that are added up already."""
    return float(sum(map(mul, map(PART_WEIGHTS.__getitem__, parts), parts.values()), others))


def _totals_of_six(names: Sequence[str], every: Iterable[Six]) -> list[float]:
    """Return the score of each six parts that have these names. Written out: hundreds are added up for each search."""
    u, v, w, x, y, z = (PART_WEIGHTS[name] for name in names)
    return [u * a + v * b + w * c + x * d + y * e + z * f for a, b, c, d, e, f in every]


class Measured:
    """The candidates of a question with the parts of their scores; those of a file are the same for all its chunks."""

    def __init__(
        self,
        candidates: list[Candidate],
        of_chunks: Sequence[Six],
        best: set[int],
        of_files: Mapping[int, Six],
        of_kinds: Mapping[_Kind, Parts],
    ) -> None:
        self.candidates = candidates
        self.best = best
        """Which candidates, by number, score best in their file."""
        self._of_chunks = of_chunks
        self._of_files = of_files
        self._of_kinds = of_kinds
        self._more: dict[int, Parts] = {}

    def add(self, number: int, name: str, amount: float) -> None:
        """Add a part that only some candidates have."""
        self._more.setdefault(number, {})[name] = amount

    def totals(self) -> list[float]:
        """Return the score of each candidate."""
        of_chunks = _totals_of_six(OF_CHUNK, self._of_chunks)
        for number, parts in self._more.items():
            of_chunks[number] = total_of(parts, of_chunks[number])
        of_files = dict(zip(self._of_files, _totals_of_six(OF_FILE, self._of_files.values()), strict=True))
        of_kinds = {
            kind: [PART_WEIGHTS[name] * amount for name, amount in parts.items()]
            for kind, parts in self._of_kinds.items()
        }
        return [
            of_chunk + sum(of_kinds[c.language, c.kind], of_files[c.file])
            for of_chunk, c in zip(of_chunks, self.candidates, strict=True)
        ]

    def parts(self) -> list[Parts]:
        """Return the parts of each candidate by their names."""
        return [
            dict(zip(OF_CHUNK, of_chunk, strict=True))
            | self._more.get(i, {})
            | dict(zip(OF_FILE, self._of_files[c.file], strict=True))
            | self._of_kinds[c.language, c.kind]
            for i, (c, of_chunk) in enumerate(zip(self.candidates, self._of_chunks, strict=True))
        ]


def measure_candidates(
    scored: Scored, candidates: list[Candidate], code_lines: CodeLines, asked: frozenset[int]
) -> Measured:
    """Return the candidates with all parts but for what the past and an embedder say. `asked`: the kinds that the
    question names."""
    asked_words = frozenset(scored.rarities)
    defined = [_names(c.symbol) for c in candidates]
    names = [_name_score(each, scored.rarities, asked_words)[0] for each in defined]
    words = [scored.chunks[c.segment][c.place] for c in candidates]
    path_of = scored.paths.get
    own = [
        word + UNIT_PATH * path_of(c.file, 0.0) + UNIT_NAME * name
        for c, word, name in zip(candidates, words, names, strict=True)
    ]
    unit = max(own, default=0.0) or 1.0
    by_file = _by_file(own, candidates)
    best = {found[0][2] for found in by_file.values()}
    of_chunks = [
        (
            word / unit,
            name / unit,
            1.0 if i in best else 0.0,
            math.log(1 + c.end - c.start) / _LONG_CHUNK,
            0.0 if c.symbol else 1.0,
            len(each) / _MANY_NAMES if len(each) < _MANY_NAMES else 1.0,
        )
        for i, (c, word, name, each) in enumerate(zip(candidates, words, names, defined, strict=True))
    ]
    file_unit = highest(scored.files) or 1.0
    of_files: dict[int, Six] = {}
    of_kinds: dict[_Kind, Parts] = {}
    makeup = Makeup(code_lines)
    for file, found in by_file.items():
        c = candidates[found[0][2]]
        stem, is_whole = _name_score((_stem(c.path),), scored.rarities, asked_words)
        of_files[file] = (
            path_of(file, 0.0) / unit,
            scored.files[c.segment][c.file_place] / file_unit,
            sum(-score for score, _, _ in found[1 : OTHERS + 1]) / OTHERS / unit,
            c.rank,
            stem / unit,
            float(is_whole),
        )
        if (c.language, c.kind) not in of_kinds:
            of_kinds[c.language, c.kind] = _kind_parts(c, asked) | makeup.parts_of(c, asked)
    return Measured(candidates, of_chunks, best, of_files, of_kinds)


class Makeup:
    """What the code of a project is written in: who asks wants its main language, not that of a script beside it."""

    def __init__(self, code_lines: CodeLines) -> None:
        self._lines: dict[str, int] = {}
        self._declaring: dict[str, int] = {}
        for (language, kind), lines in code_lines.items():
            family = _FAMILIES.get(language, language)
            self._lines[family] = self._lines.get(family, 0) + lines
            if kind == DECLARATION:
                self._declaring[family] = self._declaring.get(family, 0) + lines
        self._total = sum(self._lines.values()) or 1

    def parts_of(self, c: Candidate, asked: frozenset[int]) -> Parts:
        if c.kind not in (CODE, DECLARATION):
            return {}
        family = _FAMILIES.get(c.language, c.language)
        lines = self._lines.get(family, 0)
        parts = {"rare language": math.log(min(1.0, lines / self._total + RARE_SHARE)) / math.log(RARE_SHARE)}
        if not c.language:
            parts["no language"] = 1.0
        if c.kind == DECLARATION:
            if c.kind in asked:
                parts["asked for"] = 1.0
            else:
                parts["code in headers"] = self._declaring.get(family, 0) / (lines or 1)
        return parts


def _name_score(
    names: tuple[frozenset[str], ...], rarities: Mapping[str, float], asked_words: frozenset[str]
) -> tuple[float, bool]:
    """Return what the parts of the best name weigh that were asked for, times how large a share of it they are; and
    whether all of that name was. `asked_words` are those of `rarities`."""
    best, is_whole = 0.0, False
    for parts in names:
        if not parts.isdisjoint(asked_words):  # most names were not asked for at all
            asked = [rarities[part] for part in parts if part in rarities]
            score = sum(asked) * math.sqrt(len(asked) / len(parts))
            if score > best:
                best, is_whole = score, len(asked) == len(parts)
    return best, is_whole


@lru_cache(_REMEMBERED_NAMES)
def _names(symbol: str) -> tuple[frozenset[str], ...]:
    """Return the parts of each name; of `Session.save` that of the method."""
    return tuple(frozenset(parts_of(name.rpartition(".")[2])) for name in symbol.split())


@lru_cache(_REMEMBERED_NAMES)
def _stem(path: str) -> frozenset[str]:
    """Return the parts of a file's own name."""
    return frozenset(parts_of(os.path.splitext(os.path.basename(path))[0]))


def _kind_parts(c: Candidate, asked: frozenset[int]) -> Parts:
    return {} if c.kind == CODE or c.kind in asked else {KIND_NAMES[c.kind]: 1.0}


def _by_file(own: list[float], candidates: list[Candidate]) -> dict[int, list[tuple[float, int, int]]]:
    """File → (minus its score, first line, number) of its candidates, the best first and of equals the first."""
    by_file: dict[int, list[tuple[float, int, int]]] = {}
    for i, (score, c) in enumerate(zip(own, candidates, strict=True)):
        by_file.setdefault(c.file, []).append((-score, c.start, i))
    for found in by_file.values():
        found.sort()
    return by_file
