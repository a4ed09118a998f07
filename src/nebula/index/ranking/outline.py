"""A ranked outline of a project: the files that count most, each with what it defines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nebula.index.constants import OUTLINE_FILES, OUTLINE_HITS, OUTLINE_SYMBOLS
from nebula.index.contract import Store
from nebula.index.ranking.search import rank


def outline(
    store: Store, question: str, recent: Sequence[str], max_bytes: int, is_there: Callable[[str], bool]
) -> list[str]:
    """`path: names`, the most telling file first, within `max_bytes`.

    A file counts for what refers to it, as much again for what the question asks of it, and for having been read.
    """
    scores: dict[str, float] = {}
    ids: dict[str, int] = {}
    for number, path, referred in store.ranked_files(OUTLINE_FILES, recent):
        ids[path], scores[path] = number, referred
    hits = rank(store, question, OUTLINE_HITS) if question.strip() else []
    top = max((score for score, _ in hits), default=0.0)
    best: dict[str, float] = {}
    for score, hit in hits:
        ids[hit.path] = hit.file
        best.setdefault(hit.path, max(score, 0.0) / top if top > 0 else 0.0)
        scores.setdefault(hit.path, hit.rank)
    highest = max(scores.values(), default=0.0) or 1.0
    order = sorted(scores, key=lambda path: (-(scores[path] / highest + best.get(path, 0.0) + (path in recent)), path))
    present = [path for path in order[: 2 * OUTLINE_FILES] if is_there(path)]
    return _lines(store, [(path, ids[path]) for path in present[:OUTLINE_FILES]], max_bytes)


def _lines(store: Store, files: list[tuple[str, int]], max_bytes: int) -> list[str]:
    places: dict[int, list[int]] = {}
    for segment, first, count in store.chunks_of([number for _, number in files]):
        places.setdefault(segment, []).extend(range(first, first + count))
    names: dict[int, list[str]] = {}
    for chunk in sorted(store.candidates(places), key=lambda each: each.start):
        names.setdefault(chunk.file, []).extend(chunk.symbol.split())
    lines: list[str] = []
    for path, number in files:
        defined = list(dict.fromkeys(names.get(number, ())))
        shown = ", ".join(defined[:OUTLINE_SYMBOLS]) + (", …" if len(defined) > OUTLINE_SYMBOLS else "")
        line = f"{path}: {shown}" if shown else path
        max_bytes -= len(line.encode("utf-8", "replace")) + 1
        if max_bytes < 0:
            break
        if line.isprintable():
            lines.append(line)
    return lines
