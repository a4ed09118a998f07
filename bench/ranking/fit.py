"""Fit the weights of the ranking to the questions that `mine.py` found, and tell what they gain elsewhere.

    python bench/ranking/fit.py --data OUT [--check]

Needs numpy and scipy, which nebula does not. Each tree of OUT is indexed, each question asked, also those of
`pairs.json` (what people type, in English and in Japanese), and the parts of the score of every candidate kept in
OUT/parts. Then `PART_WEIGHTS` is fitted on the repositories named "fit" in
`repositories.json`, to raise the mean reciprocal rank (a smooth form of it, held near those of START), and printed
with its gain over START, also on the repositories kept aside. `--check` fits nothing and tells the gain of the weights
that stand.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from nebula.index.constants import DUPLICATE_PENALTY, PART_WEIGHTS
from nebula.index.index import Index
from nebula.index.ranking.search import measure

BY_HAND = ("asked for", "meaning")
NAMES = [name for name in PART_WEIGHTS if name not in BY_HAND]
START = {
    "words": 1.0,
    "path": 0.4,
    "name": 0.5,
    "whole file": 0.5,
    "next chunks": 0.15,
    "references": 0.15,
    "declaration": -0.4,
} | dict.fromkeys(("test", "prose", "data", "vendored", "generated", "example"), -0.9)
"""Weights chosen by hand, which the fit begins with, is held near and is compared to; every other part began as 0."""
PAIRS = Path(__file__).with_name("pairs.json")
"""Repository → (English, Japanese, the file that is asked for), by half. Those of the half that is kept aside were
written before any weight was fitted, and are not to be looked at while something is tuned."""
QUESTIONS = Path(__file__).with_name("questions.json")
TASKS = {"commit": 1.0, "doc": 1.0, "long": 4.0, "japanese": 4.0}
"""How much a question counts in the fit: there are few of the last two."""
SHARPNESS = 0.05
"""How far apart two scores must be for one to count as clearly higher."""
STRENGTH = 0.02
"""How strongly the weights are held where they are. Less gains more on commits in cross-validation, and loses on what
people type and on comments."""
KEPT, COMPARED = 120, 50
"""Candidates of a question that are kept, and files or chunks that are compared."""
Question = dict[str, Any]


def is_right(task: str, truth: Any, path: str, start: int, end: int) -> bool:
    if task != "doc":
        return path in truth
    name, first, last = truth
    overlap = min(end, last) - max(start, first) + 1
    return path == name and overlap > 0 and 2 * overlap >= min(end - start + 1, last - first + 1)


def ask(tree: Path, home: Path, questions: list[Question]) -> list[Question]:
    """Return the questions with the parts of their candidates."""
    asked = []
    with Index.open(str(tree), home=str(home)) as index:
        index.sync()
        for question in questions:
            found = measure(index.store, question["text"])
            now = {id(c): sum(PART_WEIGHTS[name] * each for name, each in parts.items()) for c, parts in found}
            found.sort(key=lambda each: (-now[id(each[0])], each[0].path, each[0].start))
            found = found[:KEPT]
            right = [is_right(question["task"], question["truth"], c.path, c.start, c.end) for c, _ in found]
            asked.append(
                {
                    "task": question["task"],
                    "parts": np.array([[p.get(name, 0.0) for name in NAMES] for _, p in found], np.float32).reshape(
                        -1, len(NAMES)
                    ),
                    "keys": [(c.path, c.start, c.digest) for c, _ in found],
                    "right": np.array(right, bool),
                }
            )
    return asked


def typed(half: str, repository: str) -> list[Question]:
    """Return what people type, of a repository to fit by with the half of `questions.json` that may be looked at."""
    pairs = json.loads(PAIRS.read_text())[half].get(repository, ())
    texts = [(task, text, path) for *both, path in pairs for task, text in zip(("long", "japanese"), both, strict=True)]
    if half == "fit":
        open_half = json.loads(QUESTIONS.read_text()).get(repository, {}).get("questions", ())[::2]
        texts += [("long", text, path) for text, path in open_half]
    return [{"task": task, "text": text, "truth": [path]} for task, text, path in texts]


def load(data: Path) -> dict[str, list[Question]]:
    """Return half → questions; what was asked before is read from OUT/parts."""
    halves: dict[str, list[Question]] = {"fit": [], "held": []}
    (data / "parts").mkdir(exist_ok=True)
    for mined in sorted(data.glob("*.json")):
        about = json.loads(mined.read_text())
        everything = about["questions"] + typed(about["half"], mined.stem)
        for tree, tasks in ((mined.stem, ("commit", "long", "japanese")), (f"{mined.stem}.nodoc", ("doc",))):
            kept = data / "parts" / f"{tree}.pickle"
            if not kept.exists():
                questions = [each for each in everything if each["task"] in tasks]
                kept.write_bytes(pickle.dumps(ask(data / "trees" / tree, data / "home" / tree, questions)))
                print(f"asked {tree}", file=sys.stderr, flush=True)
            for each in pickle.loads(kept.read_bytes()):
                halves[about["half"]].append(each | {"repository": mined.stem})
    return halves


def reciprocal(question: Question, weights: np.ndarray) -> float:
    """Return 1 / the rank of the first right answer, as a search would show it."""
    scores = question["parts"] @ weights
    order = sorted(zip(-scores, question["keys"], question["right"], strict=True), key=lambda each: (each[0], each[1]))
    seen: set[str] = set()
    shown = []
    for score, key, right in order:
        shown.append((score + DUPLICATE_PENALTY * (key[2] in seen), key, right))
        seen.add(key[2])
    shown.sort(key=lambda each: each[:2])
    places: dict[object, bool] = {}
    for _, key, right in shown[:100]:
        place = key if question["task"] == "doc" else key[0]
        places[place] = places.get(place, False) or bool(right)
    return next((1 / rank for rank, right in enumerate(places.values(), 1) if right), 0.0)


def compared(questions: list[Question], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the parts of each file's best chunk (or of each chunk), which of them are there, and which are right."""
    parts = np.zeros((len(questions), COMPARED, len(NAMES)), np.float32)
    there, right = np.zeros(parts.shape[:2], bool), np.zeros(parts.shape[:2], bool)
    for row, question in enumerate(questions):
        order = np.argsort(-(question["parts"] @ weights), kind="stable")
        if question["task"] != "doc":
            paths = np.array([question["keys"][i][0] for i in order])
            order = order[np.sort(np.unique(paths, return_index=True)[1])]
        best = order[:COMPARED]
        if not question["right"][best].any():
            best = np.r_[best[: COMPARED - 1], order[question["right"][order]][:1]]
        parts[row, : len(best)] = question["parts"][best]
        there[row, : len(best)], right[row, : len(best)] = True, question["right"][best]
    return parts, there, right


def objective(
    weights: np.ndarray,
    parts: np.ndarray,
    there: np.ndarray,
    right: np.ndarray,
    counts: np.ndarray,
    start: np.ndarray,
    scale: np.ndarray,
) -> tuple[float, np.ndarray]:
    """Return minus the smooth mean reciprocal rank, with what holds the weights, and its gradient. `counts`: how much
    each question counts, all of them together 1."""
    scores = parts @ weights.astype(np.float32)
    rows = np.arange(len(scores))
    best = np.where(right, scores, -1e9).argmax(1)
    ahead = 1 / (1 + np.exp(-np.clip((scores - scores[rows, best][:, None]) / SHARPNESS, -30, 30)))
    ahead *= there & ~right
    rank = 1 + ahead.sum(1)
    slope = -ahead * (1 - ahead) / SHARPNESS / (rank**2)[:, None] * counts[:, None]
    slope[rows, best] -= slope.sum(1)
    gradient = np.einsum("qm,qmk->k", slope, parts)
    moved = (weights - start) * scale
    return float(-(counts / rank).sum() + STRENGTH * (moved**2).sum()), -gradient + 2 * STRENGTH * moved * scale


def fit(questions: list[Question], start: np.ndarray) -> np.ndarray:
    answered = [each for each in questions if each["right"].any()]
    counts = np.array([TASKS[each["task"]] for each in answered])
    counts /= counts.sum()
    spread = np.concatenate([each["parts"][::5] for each in answered]).std(0) + 0.02
    weights = start.copy()
    for _ in range(3):
        sample = compared(answered, weights)
        weights = minimize(
            objective,
            weights,
            args=(*sample, counts, start, spread / spread.mean()),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 60},
        ).x
    return weights


def interval(differences: np.ndarray) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean."""
    draw = np.random.default_rng(0)
    means = [differences[draw.integers(0, len(differences), len(differences))].mean() for _ in range(2_000)]
    return float(np.percentile(means, 2.5)), float(np.percentile(means, 97.5))


def tell(half: str, questions: list[Question], before: np.ndarray, after: np.ndarray) -> None:
    for task in TASKS:
        chosen = [each for each in questions if each["task"] == task]
        old, new = (np.array([reciprocal(each, weights) for each in chosen]) for weights in (before, after))
        low, high = interval(new - old)
        gain = f"{(new - old).mean():+.3f} [{low:+.3f}, {high:+.3f}]"
        print(f"{half} {task}: MRR {old.mean():.3f} -> {new.mean():.3f}, {gain}, n={len(chosen)}")
        repositories = dict.fromkeys(each["repository"] for each in chosen)
        for name in repositories if half == "held" and task in ("commit", "doc") else ():
            here = [i for i, each in enumerate(chosen) if each["repository"] == name]
            print(f"    {name:20} {old[here].mean():.3f} -> {new[here].mean():.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--check", action="store_true", help="fit nothing")
    options = parser.parse_args()
    halves = load(options.data)
    start = np.array([START.get(name, 0.0) for name in NAMES])
    now = np.array([PART_WEIGHTS[name] for name in NAMES])
    fitted = now if options.check else fit(halves["fit"], start)
    print(json.dumps(dict(zip(NAMES, [round(float(each), 3) for each in fitted], strict=True)), indent=4))
    for half, questions in halves.items():
        tell(half, questions, start, fitted)


if __name__ == "__main__":
    main()
