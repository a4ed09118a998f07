"""A ranked outline of a project: the files that count most, each with what it defines."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from nebula.index.constants import OUTLINE_HITS, OUTLINE_SYMBOLS
from nebula.index.ranking.search import rank
from nebula.index.stores.store import Store
from nebula.index.terms.question import question_terms
from nebula.index.terms.words import terms_of, words_of


class OutlinedFile(NamedTuple):
    path: str
    symbols: str = ""
    """What it defines, separated by commas."""

    @property
    def line(self) -> str:
        return f"{self.path}: {self.symbols}" if self.symbols else self.path


def outline(
    store: Store, question: str, recent: Sequence[str], limit: int, is_there: Callable[[str], bool]
) -> list[OutlinedFile]:
    """Return the outline, the most telling file first.

    A file counts for what refers to it, as much again for what the question asks of it, and for having been read.
    """
    referred: dict[str, float] = {}
    asked: dict[str, float] = {}
    ids: dict[str, int] = {}
    for number, path, rank_of_file in store.ranked_files(2 * limit, recent):
        ids[path], referred[path] = number, rank_of_file
    for score, hit in rank(store, question, OUTLINE_HITS):
        ids[hit.path] = hit.file
        asked.setdefault(hit.path, max(score, 0.0))
        referred.setdefault(hit.path, hit.rank)
    referred, asked = _shares(referred), _shares(asked)
    order = sorted(ids, key=lambda path: (-(referred[path] + asked.get(path, 0.0) + (path in recent)), path))
    present = islice(filter(is_there, order), limit)
    return _with_symbols(store, [(path, ids[path]) for path in present])


def _shares(values: Mapping[str, float]) -> dict[str, float]:
    """Return each value as a share of the largest."""
    top = max((0.0, *values.values())) or 1.0
    return {name: value / top for name, value in values.items()}


def _with_symbols(store: Store, files: list[tuple[str, int]]) -> list[OutlinedFile]:
    places: dict[int, list[int]] = {}
    for segment, first, count in store.chunks_of([number for _, number in files]):
        places.setdefault(segment, []).extend(range(first, first + count))
    names: dict[int, list[str]] = {}
    for chunk in sorted(store.candidates(places)):  # in the order of the file: all of its chunks are in one segment
        names.setdefault(chunk.file, []).extend(chunk.symbol.split())
    outlined = []
    for path, number in files:
        defined = list(dict.fromkeys(names.get(number, ())))
        more = ", …" if len(defined) > OUTLINE_SYMBOLS else ""
        outlined.append(OutlinedFile(path, ", ".join(defined[:OUTLINE_SYMBOLS]) + more))
    return outlined


def reordered(files: Sequence[OutlinedFile], question: str, recent: Sequence[str]) -> list[OutlinedFile]:
    """Return an outline that was made for no question, as near to that of this one as its own words allow."""
    asked = question_terms(question)
    found = [{term for word in words_of(each.line) for term in terms_of(word)} & asked.keys() for each in files]
    counts = Counter(term for terms in found for term in terms)
    said = {
        each.path: sum(asked[term] * math.log(1 + len(files) / counts[term]) for term in terms)
        for each, terms in zip(files, found, strict=True)
    }
    shares = _shares(said)
    scores = [shares[each.path] + (each.path in recent) - i / len(files) for i, each in enumerate(files)]
    return [files[i] for i in sorted(range(len(files)), key=lambda i: -scores[i])]


def fitting(files: Iterable[OutlinedFile], max_bytes: int) -> list[str]:
    """Return the outline as lines, as many as there is room for."""
    lines = []
    for each in files:
        max_bytes -= len(each.line.encode("utf-8", "replace")) + 1
        if max_bytes < 0:
            break
        if each.line.isprintable():
            lines.append(each.line)
    return lines
