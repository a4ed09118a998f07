"""How much a clone knows that has only git: real source as lines, beside what the author's machine says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

import nebula
from in_memory import folder_in_memory
from nebula.blame import text
from real_history import RealHistory, ask

pytestmark = pytest.mark.slow
FLOOR = 0.95
"""The share of the turns' lines that a clone must know; `docs/guides/blame.md` has what was measured."""


def source_lines(random: Random) -> list[str]:
    """Return some consecutive lines of this program: blank ones, brackets and all."""
    module = random.choice(sorted(Path(nebula.__file__).parent.rglob("*.py")))
    lines = module.read_text("utf-8").splitlines() or ["nothing = None"]
    at = random.randrange(len(lines))
    return lines[at : at + random.randint(3, 25)]


def edited(history: RealHistory, path: str) -> list[str]:
    lines = history.lines(path)
    at = history.random.randint(0, len(lines))
    if history.random.random() < 0.3:
        del lines[at : at + history.random.randint(1, 6)]
    else:
        lines[at:at] = source_lines(history.random)
    return lines


def begin(root: Path, random: Random) -> RealHistory:
    root.mkdir(parents=True)
    history = RealHistory(root, random)
    history.make_repository()
    for path in ("a.py", "b.py"):
        history.by_hand(path, source_lines(random))
    history.commit("begin")
    return history


def work(history: RealHistory) -> None:
    """A turn, committed at once, and now and then a person's commit."""
    path = history.random.choice(history.paths())
    if history.random.random() < 0.75:
        history.write(history.new_turn(), path, edited(history, path))
    else:
        history.by_hand(path, edited(history, path))
    history.commit()


def clone(history: RealHistory, *options: str) -> Path:
    history.end_turns()
    history.git("add", "-f", ".nebula/graph/nodes", ".nebula/graph/flows")
    history.git("commit", "-qm", "conversation")
    there = history.root.parent / "clone"
    assert history.git("clone", "-q", *options, f"file://{history.root}", str(there))
    assert not (there / ".nebula/journal").exists()
    return there


def compare(history: RealHistory, there: Path) -> Counter[str]:
    """Count the lines of turns that the clone knows and does not know, and lines given to a wrong turn."""
    found: Counter[str] = Counter()
    for path in history.paths():
        for here, clone, line in zip(history.told(path), ask(there, path), history.lines(path), strict=True):
            is_turn = here in history.turns
            if clone in history.turns and clone != here:
                found["wrong" if text.is_telling(text.key(line.encode())) else "equal"] += 1
            elif is_turn:
                found["known" if clone == here else "unknown"] += 1
    return found


def measure(squash: bool, seeds: Sequence[int] = range(6)) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        with folder_in_memory() as folder, closing(begin(folder / "project", Random(seed))) as history:
            if squash:
                history.git("switch", "-qc", "work")
            for _ in range(12):
                work(history)
            if squash:
                history.git("switch", "-q", "main")
                history.git("merge", "-q", "--squash", "work")
                history.commit("squashed")
            found += compare(history, clone(history, *(["--depth", "1"] if squash else [])))
    return found


def check(found: Counter[str]) -> None:
    share = found["known"] / (found["known"] + found["unknown"])
    print(f"{share:.1%} of {found['known'] + found['unknown']:,} lines; {dict(found)}")
    assert not found["wrong"]
    assert share >= FLOOR


def test_of_commits_right_after_a_turn() -> None:
    check(measure(squash=False))


def test_of_squashed_branches() -> None:
    check(measure(squash=True))
