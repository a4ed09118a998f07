"""The parts of a chunk's score, each between 0 and about 1; `PART_WEIGHTS` says how much each counts."""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Mapping
from functools import lru_cache

from nebula.index.constants import OTHERS, PART_WEIGHTS, RARE_SHARE, UNIT_NAME, UNIT_PATH
from nebula.index.ranking.kinds import CODE, DATA, DECLARATION, EXAMPLE, GENERATED, PROSE, TEST, VENDORED
from nebula.index.ranking.scoring import Scored, highest
from nebula.index.stores.rows import Candidate, Shape
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


def total_of(parts: Parts) -> float:
    """Return the score of a chunk with these parts."""
    return sum(PART_WEIGHTS[name] * amount for name, amount in parts.items())


def parts_of_candidates(
    scored: Scored, candidates: list[Candidate], shape: Shape, asked: frozenset[int]
) -> list[Parts]:
    """Return the parts of each candidate, but for what an embedder says. `asked`: the kinds that the question names."""
    paths = [scored.paths.get(c.file, 0.0) for c in candidates]
    names = [_name_score(_names(c.symbol), scored.rarities)[0] for c in candidates]
    words = [scored.chunks[c.segment][c.place] for c in candidates]
    own = [word + UNIT_PATH * path + UNIT_NAME * name for word, path, name in zip(words, paths, names, strict=True)]
    unit = max(own, default=0.0) or 1.0
    others = _other_scores(own, candidates)
    best = _best_of_files(own, candidates)
    file_unit = highest(scored.files) or 1.0
    makeup = Makeup(shape.code_lines)
    result = []
    for i, (c, word, path, name) in enumerate(zip(candidates, words, paths, names, strict=True)):
        stem, is_whole = _name_score((_stem(c.path),), scored.rarities)
        parts = {
            "words": word / unit,
            "path": path / unit,
            "name": name / unit,
            "whole file": scored.files[c.segment][c.file_place] / file_unit,
            "next chunks": others[c.file] / unit,
            "best of its file": float(i in best),
            "references": c.rank,
            "file name": stem / unit,
            "whole file name": float(is_whole),
            "length": math.log(1 + c.end - c.start) / _LONG_CHUNK,
            "no definition": float(not c.symbol),
            "many definitions": min(len(_names(c.symbol)), _MANY_NAMES) / _MANY_NAMES,
        }
        if c.kind != CODE and c.kind not in asked:
            parts[KIND_NAMES[c.kind]] = 1.0
        parts |= makeup.parts_of(c, asked)
        result.append(parts)
    return result


class Makeup:
    """What the code of a project is written in: who asks wants its main language, not that of a script beside it."""

    def __init__(self, code_lines: Mapping[tuple[str, int], int]) -> None:
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


def _name_score(names: tuple[frozenset[str], ...], rarities: Mapping[str, float]) -> tuple[float, bool]:
    """Return what the parts of the best name weigh that were asked for, times how large a share of it they are; and
    whether all of that name was."""
    best, is_whole = 0.0, False
    for parts in names:
        asked = [rarities[part] for part in parts if part in rarities]
        if asked:
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


def _best_of_files(own: list[float], candidates: list[Candidate]) -> set[int]:
    """Return which candidates score best in their file; the first of equals."""
    best: dict[int, int] = {}
    for i in sorted(range(len(own)), key=lambda i: (-own[i], candidates[i].start)):
        best.setdefault(candidates[i].file, i)
    return set(best.values())


def _other_scores(own: list[float], candidates: list[Candidate]) -> dict[int, float]:
    """File → what its next best chunks score on average."""
    by_file: dict[int, list[float]] = {}
    for score, c in zip(own, candidates, strict=True):
        by_file.setdefault(c.file, []).append(score)
    return {file: sum(heapq.nlargest(OTHERS + 1, scores)[1:]) / OTHERS for file, scores in by_file.items()}
