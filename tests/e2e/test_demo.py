"""nebula demo at a terminal: the recording plays in the real session, and the person decides."""

from __future__ import annotations

import re

from conftest import Bench
from terminal_driver import CTRL_C, Terminal

ASK = "Go ahead? (y/N):"


def at_the_demo(bench: Bench, *args: str) -> Terminal:
    argv = bench.argv("nebula", "demo", *args)
    return Terminal(argv, bench.project, bench.env(TERM="xterm-256color", TMPDIR=str(bench.home)), columns=80)


def test_each_change_is_shown_and_asked_for(bench: Bench) -> None:
    with at_the_demo(bench) as screen:
        screen.wait(ASK)
        assert any(re.fullmatch(r" *\d+ \+    priority: int = 0", line) for line in screen.lines)
        assert "   first." in screen.lines, "the plan is broken between words, its list hanging"
        for number, answer in enumerate(("y", "n", "y", "y"), 1):
            screen.wait(ASK, times=number)
            screen.line(answer)
        assert screen.ended() == 0, "what was left out is the person's own decision, and the rest was done"
        assert "3 files changed: todo/domain.py +1 −0, todo/cli.py +3 −2" in screen.text
        assert screen.lines[-1] == "  1→2"


def test_ctrl_c_at_a_question_ends_it(bench: Bench) -> None:
    with at_the_demo(bench) as screen:
        screen.wait(ASK)
        screen.send(CTRL_C)
        assert screen.ended() == 130
        assert "Interrupted" in screen.text


def test_it_plays_by_itself_and_says_what_it_left(bench: Bench) -> None:
    with at_the_demo(bench, "--auto", "--keep") as screen:
        assert screen.ended() == 0
        assert ASK not in screen.text and "4 files changed" in screen.text
        assert "kept:" in screen.text
