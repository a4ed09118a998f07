"""The ranking worked out anew from the texts of files, slowly and without postings, segments or a database."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

from nebula.index import constants as c
from nebula.index.chunks.cutting import cut
from nebula.index.chunks.lines import Lines
from nebula.index.chunks.suffixes import language_of
from nebula.index.ranking.kinds import CODE, DECLARATION, asked_for, kind_of
from nebula.index.ranking.parts import KIND_NAMES
from nebula.index.terms.question import question_terms
from nebula.index.terms.words import parts_of, path_terms, terms_of, words_of


class Piece(NamedTuple):
    path: str
    start: int
    end: int
    symbol: str
    text: str
    counts: Counter[str]


def pieces_of(path: str, text: str) -> list[Piece]:
    lines = Lines(text.encode())
    found = []
    for span in cut(lines, text.encode(), language_of(path)):
        own = lines.text(span.start, span.end)
        found.append(Piece(path, span.start, span.end, span.symbol, own, count(own, span.symbol)))
    return found


def count(text: str, symbol: str) -> Counter[str]:
    words = [*words_of(text), *(words_of(symbol) * 2)]
    return Counter(term for word in words for term in terms_of(word))


def weigh(term: str, counts: Counter[str], average: int) -> float:
    """BM25's part of one place, with the usual k1 and b, in one of 32 steps."""
    norm = 1.2 * (0.25 + 0.75 * counts.total() / average)
    return (int(32 * counts[term] / (counts[term] + norm)) + 0.5) / 32


def rarity(total: int, having: int) -> float:
    return math.log(1 + (total - having + 0.5) / (having + 0.5))


def score(terms: Mapping[str, float], places: list[Counter[str]], average: int) -> list[float]:
    rare = {term: rarity(len(places), sum(term in each for each in places)) for term in terms}
    return [
        sum(weight * rare[term] * weigh(term, each, average) for term, weight in terms.items() if term in each)
        for each in places
    ]


def reference_ranks(files: Mapping[str, list[Piece]]) -> dict[str, float]:
    """PageRank on who mentions a name that others define, from 0 to 1 on a logarithmic scale."""
    whole = {path: sum((piece.counts for piece in pieces), Counter()) for path, pieces in files.items()}
    defining: dict[str, set[str]] = {}
    for path, pieces in files.items():
        for name in (name.split(".")[-1] for piece in pieces for name in piece.symbol.split()):
            if len(name) >= 4 and re.search("[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|^[A-Z][a-z]", name):
                defining.setdefault(terms_of(name)[-1], set()).add(path)
    links: dict[str, Counter[str]] = {}
    for path, counts in whole.items():
        shares: dict[str, float] = {}
        for term, targets in defining.items():
            if len(targets) <= 3 and term in counts:
                for target in targets - {path}:
                    shares[target] = shares.get(target, 0) + weigh(term, counts, 1_500) / len(targets)
        if shares:
            links[path] = Counter({target: share / sum(shares.values()) for target, share in shares.items()})  # type: ignore[misc]
    rank = dict.fromkeys(files, 1 / len(files))
    for _ in range(12):
        spread = 0.15 + 0.85 * sum(rank[path] for path in files if path not in links)
        rank = {
            path: spread / len(files) + 0.85 * sum(rank[other] * to[path] for other, to in links.items())
            for path in files
        }
    logs = {path: math.log(each * len(files) + 1e-6) for path, each in rank.items()}
    low, high = min(logs.values()), max(logs.values())
    return {path: round((each - low) / (high - low), 4) if high > low else 0.0 for path, each in logs.items()}


def path_scores(terms: Mapping[str, float], files: Mapping[str, object]) -> dict[str, float]:
    weights = {path: path_terms(path) for path in files}
    scores: dict[str, float] = {}
    for term, weight in terms.items():
        having = [path for path in files if term in weights[path]]
        if len(having) <= max(8, int(len(files) * 0.2)):
            for path in having:
                own = weights[path][term]
                scores[path] = scores.get(path, 0) + weight * rarity(len(files), len(having)) * own / (own + 1)
    return scores


def name_score(symbol: str, rare: Mapping[str, float]) -> float:
    best = 0.0
    for name in symbol.split():
        parts = set(parts_of(name.split(".")[-1]))
        asked = [rare[part] for part in parts if part in rare]
        best = max(best, sum(asked) * math.sqrt(len(asked) / len(parts)) if parts else 0)
    return best


def rank_texts(texts: Mapping[str, str], question: str) -> list[tuple[float, str, str]]:
    """(score, path, span) of all chunks that a question finds, the best first."""
    files = {path: pieces_of(path, text) for path, text in texts.items()}
    pieces = [piece for found in files.values() for piece in found]
    terms = question_terms(question)
    in_text = dict(zip(pieces_key(pieces), score(terms, [piece.counts for piece in pieces], 110), strict=True))
    wholes = [sum((piece.counts for piece in found), Counter()) for found in files.values()]
    in_file = dict(zip(files, score(terms, wholes, 1_500), strict=True))
    having = {term: sum(term in piece.counts for piece in pieces) for term in terms}
    rare = {term: weight * rarity(len(pieces), having[term]) for term, weight in terms.items() if having[term]}
    in_path = path_scores(terms, files)
    ranks = reference_ranks(files)
    chosen = {key for key, each in in_text.items() if each > 0}
    for path in in_path:
        if keys := pieces_key(files[path]):
            chosen.add(max(keys, key=lambda key: (in_text[key], -key[1])))
    own = {
        (piece.path, piece.start): in_text[piece.path, piece.start]
        + c.UNIT_PATH * in_path.get(piece.path, 0)
        + c.UNIT_NAME * name_score(piece.symbol, rare)
        for piece in pieces
        if (piece.path, piece.start) in chosen
    }
    top, file_top = max(own.values(), default=1.0) or 1.0, max(in_file.values(), default=1.0) or 1.0
    lines = code_lines(texts)
    ranked = []
    for piece in pieces:
        if (piece.path, piece.start) not in chosen:
            continue
        others = sorted((each for (path, _), each in own.items() if path == piece.path), reverse=True)[1:3]
        parts = {
            "words": in_text[piece.path, piece.start] / top,
            "path": in_path.get(piece.path, 0) / top,
            "name": name_score(piece.symbol, rare) / top,
            "whole file": in_file[piece.path] / file_top,
            "next chunks": sum(others) / 2 / top,
            "best of its file": is_best(piece, own),
            "references": ranks[piece.path],
            "length": math.log(1 + piece.end - piece.start) / 3,
            "no definition": piece.symbol == "",
            "many definitions": min(len(piece.symbol.split()), 5) / 5,
            **name_parts(piece.path, rare, top),
            **kind_parts(piece.path, question, lines),
        }
        ranked.append((sum(c.PART_WEIGHTS[name] * each for name, each in parts.items()), piece))
    return in_order(ranked)


def is_best(piece: Piece, own: Mapping[tuple[str, int], float]) -> bool:
    here = {start: each for (path, start), each in own.items() if path == piece.path}
    return piece.start == min(start for start, each in here.items() if each == max(here.values()))


def name_parts(path: str, rare: Mapping[str, float], top: float) -> dict[str, float]:
    stem = path.split("/")[-1].rpartition(".")[0]
    return {
        "file name": name_score(stem, rare) / top,
        "whole file name": bool(parts_of(stem)) and all(part in rare for part in parts_of(stem)),
    }


def code_lines(texts: Mapping[str, str]) -> dict[tuple[str, int], int]:
    lines: Counter[tuple[str, int]] = Counter()
    for path, text in texts.items():
        if kind_of(path) in (CODE, DECLARATION):
            lines[language_of(path), kind_of(path)] += len(text.splitlines())
    return lines


def kind_parts(path: str, question: str, lines: Mapping[tuple[str, int], int]) -> dict[str, float]:
    """What a file is, and how much of the project's code is like it. The texts have no language of two dialects."""
    kind, language = kind_of(path), language_of(path)
    asked = kind in asked_for(question)
    parts = {} if kind == CODE or asked else {KIND_NAMES[kind]: 1.0}
    if kind in (CODE, DECLARATION):
        own = lines.get((language, CODE), 0) + lines.get((language, DECLARATION), 0)
        parts["rare language"] = math.log(min(1.0, own / sum(lines.values()) + 0.003)) / math.log(0.003)
        parts["no language"] = language == ""
    if kind == DECLARATION:
        parts |= {"asked for": 1.0} if asked else {"code in headers": lines[language, DECLARATION] / own}
    return parts


def pieces_key(pieces: list[Piece]) -> list[tuple[str, int]]:
    return [(piece.path, piece.start) for piece in pieces]


def in_order(ranked: list[tuple[float, Piece]]) -> list[tuple[float, str, str]]:
    """The best first; a text that stands higher already is half a point worse."""
    ranked.sort(key=lambda each: (-each[0], each[1].path, each[1].start))
    seen = set()
    final = []
    for total, piece in ranked:
        digest = sha256(f"{piece.symbol}\n{piece.text}".encode()).digest()
        final.append((total - c.DUPLICATE_PENALTY * (digest in seen), piece.path, piece.start, piece.end))
        seen.add(digest)
    final.sort(key=lambda each: (-each[0], each[1], each[2]))
    return [(total, path, f"L{start}-L{end}") for total, path, start, end in final]
