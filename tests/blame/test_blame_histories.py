"""Whole histories of a real project, driven at random: every line carries a mark of who wrote it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from in_memory import folder_in_memory
from real_history import BEFORE, YOU, RealHistory


def begin(root: Path, random: Random) -> RealHistory:
    """Two files of before, in a commit; a turn has changed each, so that what a person does from then on is known."""
    history = RealHistory(root, random)
    history.make_repository()
    for path in ("a.py", "b.py"):
        history.by_hand(path, [history.line(BEFORE) for _ in range(6)])
    history.commit("begin")
    for path in ("a.py", "b.py"):
        turn = history.new_turn()
        history.write(turn, path, [*history.lines(path), history.line(turn)])
    history.commit("first turns")
    return history


def pick(history: RealHistory) -> str:
    return history.random.choice(history.paths())


def turn_edits(history: RealHistory) -> None:
    turn = history.new_turn()
    path = pick(history)
    history.write(turn, path, history.edited(path, turn))


def turn_writes_a_new_file(history: RealHistory) -> None:
    turn = history.new_turn()
    if len(history.paths()) < 5:
        history.write(turn, f"new{len(history.turns)}.py", [history.line(turn) for _ in range(4)])


def command_edits(history: RealHistory) -> None:
    """A generator, or sed: several files at once."""
    turn = history.new_turn()
    history.run_command(turn, {path: history.edited(path, turn) for path in history.paths()[:2]})


def command_formats(history: RealHistory) -> None:
    history.run_command(history.new_turn(), {path: history.reformatted(path) for path in history.paths()})


def command_renames(history: RealHistory) -> None:
    turn = history.new_turn()
    path = pick(history)
    history.run_command(turn, {path: None, f"renamed{len(history.turns)}.py": history.lines(path)})


def command_moves_lines(history: RealHistory) -> None:
    turn = history.new_turn()
    source, target = history.random.sample(history.paths(), 2)
    lines = history.lines(source)
    if len(lines) > 4:
        history.run_command(turn, {source: lines[2:], target: [*history.lines(target), *lines[:2]]})


def command_deletes(history: RealHistory) -> None:
    if len(history.paths()) > 2:
        history.run_command(history.new_turn(), {pick(history): None})


def you_edit(history: RealHistory) -> None:
    path = pick(history)
    history.by_hand(path, history.edited(path, YOU))


def you_format(history: RealHistory) -> None:
    path = pick(history)
    history.by_hand(path, history.reformatted(path))


def two_sessions(history: RealHistory) -> None:
    one, two = history.new_turn(), history.new_turn()
    path = pick(history)
    for turn in (one, two, one):
        history.write(turn, path, history.edited(path, turn))


def undo(history: RealHistory) -> None:
    history.take_back()


def redo(history: RealHistory) -> None:
    history.do_again()


def fork_and_restore(history: RealHistory) -> None:
    history.restore(history.random.choice(history.turns))


def ask(history: RealHistory) -> None:
    """What is kept from this answer must not spoil a later one."""
    history.told(pick(history))


def commit(history: RealHistory) -> None:
    history.commit()


def amend(history: RealHistory) -> None:
    history.commit("otherwise", "--amend")


def rename_in_git(history: RealHistory) -> None:
    """Turns see the file right before and right after: an heir is known by most of the lines."""
    turn, path = history.new_turn(), pick(history)
    history.write(turn, path, history.edited(path, turn))
    history.commit()
    moved = f"moved{len(history.author_of)}.py"
    history.git("mv", path, moved)
    turn = history.new_turn()
    history.write(turn, moved, [*history.lines(moved), history.line(turn)])


def fixup(history: RealHistory) -> None:
    history.commit("target")
    turn_edits(history)
    history.commit("fixup! target")
    if not history.git("-c", "sequence.editor=true", "rebase", "-q", "-i", "--autosquash", "HEAD~2"):
        history.git("rebase", "--abort")  # the fixup was empty


def on_a_branch(history: RealHistory, here: Callable[[RealHistory], None]) -> bool:
    """Work on a branch, and something on the old one meanwhile; False where nothing came of it."""
    history.commit()
    history.git("switch", "-qc", "work")
    turn_edits(history)
    history.commit("one")
    you_edit(history)
    history.commit("two")
    history.git("switch", "-q", "main")
    here(history)
    history.commit("meanwhile")
    return True


def rebase(history: RealHistory) -> None:
    on_a_branch(history, history.random.choice([turn_edits, you_edit, ask]))
    history.git("switch", "-q", "work")
    if not history.git("rebase", "-q", "main"):
        history.git("rebase", "--abort")
    history.git("switch", "-q", "main")
    history.git("merge", "-q", "--ff-only", "work")
    history.git("branch", "-qD", "work")


def squash(history: RealHistory) -> None:
    on_a_branch(history, history.random.choice([turn_edits, you_edit, ask]))
    if not history.git("merge", "-q", "--squash", "work"):
        history.git("reset", "-q", "--hard")
    history.commit("squashed")
    history.git("branch", "-qD", "work")


def cherry_pick(history: RealHistory) -> None:
    on_a_branch(history, history.random.choice([turn_edits, you_edit, ask]))
    if not history.git("cherry-pick", "work~1"):
        history.git("cherry-pick", "--abort")
    history.git("branch", "-qD", "work")


def pull(history: RealHistory) -> None:
    """A colleague's commit comes in: lines of before, in a file that turns know."""
    history.commit()
    path = pick(history)
    lines = history.lines(path)
    at = history.random.randint(0, len(lines))
    lines[at:at] = [history.line(BEFORE) for _ in range(history.random.randint(1, 3))]
    history.by_hand(path, lines)
    history.commit("theirs", by="bob")


def moved_lines(history: RealHistory) -> dict[str, list[str]]:
    """Return two files after some lines went from one to the other: a colleague's own, where there are any."""
    source, target = history.random.sample(history.paths(), 2)
    lines, others = history.lines(source), history.lines(target)
    theirs = [at for at, author in enumerate(history.expected(source)) if author == BEFORE]
    if len(lines) > 4:
        at = history.random.choice(theirs or [0])
        to = history.random.randint(0, len(others))
        others[to:to] = lines[at : at + 2]
        del lines[at : at + 2]
    return {source: lines, target: others}


def you_move_what_was_pulled(history: RealHistory) -> None:
    pull(history)
    for path, lines in moved_lines(history).items():
        history.by_hand(path, lines)
    history.random.choice([ask, commit])(history)


def turn_moves_what_was_pulled(history: RealHistory) -> None:
    pull(history)
    turn = history.new_turn()
    for path, lines in moved_lines(history).items():
        history.write(turn, path, lines)
    history.random.choice([ask, commit])(history)


def rename_what_was_pulled(history: RealHistory) -> None:
    pull(history)
    history.git("mv", pick(history), f"pulled{len(history.author_of)}.py")
    history.random.choice([ask, commit])(history)


def stash(history: RealHistory) -> None:
    history.commit()
    turn_edits(history)
    you_edit(history)
    if history.git("stash", "-q"):
        ask(history)
        history.git("stash", "pop", "-q")  # there is none where nothing had changed


WORK = [turn_edits, turn_edits, turn_writes_a_new_file, command_edits, command_formats, command_renames]
WORK += [command_moves_lines, command_deletes, you_edit, you_format, two_sessions, undo, redo, fork_and_restore, ask]
GIT = [commit, amend, rename_in_git, fixup, rebase, squash, cherry_pick, stash]
GIT += [pull, you_move_what_was_pulled, turn_moves_what_was_pulled, rename_what_was_pulled]


def drive(root: Path, random: Random, steps: int) -> None:
    history = begin(root, random)
    done = []
    try:
        for _ in range(steps):
            step = random.choice([*WORK, *GIT])
            done.append(step.__name__)
            step(history)
        for path in history.paths():
            assert history.told(path) == history.expected(path), (path, done, history.lines(path))
    finally:
        history.close()


@pytest.mark.slow
@settings(max_examples=8, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.randoms(use_true_random=False), st.integers(1, 12))
def test_nobody_gets_a_line_of_somebody_else(random: Random, steps: int) -> None:
    with folder_in_memory() as root:
        drive(root, random, steps)


@pytest.mark.slow
@settings(max_examples=15, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.randoms(use_true_random=False), st.integers(1, 20))
def test_nobody_gets_a_line_of_somebody_else_in_long_histories(random: Random, steps: int) -> None:
    with folder_in_memory() as root:
        drive(root, random, steps)
