"""Who refers to whom: a file that mentions a name points to the files that define it. The much referred to rank higher.

An edge comes from the postings that are there anyway: the files in which the defined name occurs as a term.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from nebula.index import postings
from nebula.index.constants import MAX_DEFINING_FILES, MIN_NAME_LETTERS, RANK_DAMPING, RANK_ROUNDS
from nebula.index.postings import WEIGHTS
from nebula.index.stores.store import Store
from nebula.index.terms.words import terms_of

_IS_A_NAME = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|^[A-Z][a-z]")
"""`HttpClient`, `get_user`, `Field`: a single small word (`render`, `value`) is also an ordinary one."""


def rank_files(store: Store) -> dict[int, float]:
    """File → rank from 0 to 1, by PageRank on the references, on a logarithmic scale."""
    places = store.file_places()
    edges = _edges(store, places)
    files = sorted(places.values())
    if not files:
        return {}
    links = _shares(edges)
    rank = dict.fromkeys(files, 1.0 / len(files))
    for _ in range(RANK_ROUNDS):
        rank = _round(rank, links)
    logs = {file: math.log(rank[file] * len(files) + 1e-6) for file in files}
    low, high = min(logs.values()), max(logs.values())
    return {file: round((each - low) / (high - low), 4) if high > low else 0.0 for file, each in logs.items()}


def _round(rank: dict[int, float], links: dict[int, list[tuple[int, float]]]) -> dict[int, float]:
    lost = sum(each for file, each in rank.items() if file not in links)
    base = (1 - RANK_DAMPING + RANK_DAMPING * lost) / len(rank)
    result = dict.fromkeys(rank, base)
    for file, targets in links.items():
        flow = RANK_DAMPING * rank[file]
        for target, share in targets:
            result[target] += flow * share
    return result


def _edges(store: Store, places: dict[tuple[int, int], int]) -> dict[int, dict[int, float]]:
    """File → files it points to, with how strongly."""
    defining = _defining_files(store.symbols())
    edges: dict[int, dict[int, float]] = {}
    terms = sorted(term for term, files in defining.items() if len(files) <= MAX_DEFINING_FILES)
    for segment, term, data in store.in_files(terms):
        targets = defining[term]
        for level, found in postings.by_level(data):
            weight = WEIGHTS[level] / len(targets)
            for place in found:
                file = places.get((segment, place))
                if file is not None:
                    row = edges.setdefault(file, {})
                    for target in targets:
                        if target != file:
                            row[target] = row.get(target, 0.0) + weight
    return edges


def _defining_files(symbols: Iterable[tuple[int, str]]) -> dict[str, set[int]]:
    defining: dict[str, set[int]] = {}
    for file, symbol in symbols:
        for qualified in symbol.split():
            name = qualified.rpartition(".")[2]
            if len(name) >= MIN_NAME_LETTERS and _IS_A_NAME.search(name) and (terms := terms_of(name)):
                defining.setdefault(terms[-1], set()).add(file)  # the last is the whole name
    return defining


def _shares(edges: dict[int, dict[int, float]]) -> dict[int, list[tuple[int, float]]]:
    shares = {}
    for file, targets in edges.items():
        total = sum(targets.values())
        if total:
            shares[file] = [(target, weight / total) for target, weight in sorted(targets.items())]
    return shares
