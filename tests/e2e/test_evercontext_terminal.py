"""`evercontext run` at a terminal: what it waits for, what was done, and the one question it asks."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from scripted_model import Fault, Turn
from scripted_model.planned import ollama, plan, say, step, write
from terminal_driver import CTRL_C, Terminal


@pytest.fixture
def terminal(bench):
    opened = []

    def start(server, *args, **env):
        settings = {"TERM": "xterm-256color", **server.env("ollama"), **env}
        words = bench.argv("evercontext", "run", "--task", "make it", *args)
        opened.append(Terminal(words, bench.project, bench.env(**settings), columns=110))
        return opened[-1]

    yield start
    for each in opened:
        each.__exit__()


def test_the_live_line_says_what_it_waits_for(bench, terminal):
    planned, written = threading.Event(), threading.Event()
    script = [
        replace(plan(step("1", title="Make the app")), until=planned),
        replace(write("a.py", "x\n"), until=written),
        say("Done."),
    ]
    with ollama(*script) as server:
        screen = terminal(server)
        screen.wait("planning")
        planned.set()
        screen.wait("step 1/1 Make the app: waiting for hermes3:8b")
        screen.wait("Ctrl-C interrupts")
        written.set()
        assert screen.ended() == 0
    assert "✓ 1/1 Make the app: done" in screen.text
    assert "done · 1 of 1 steps done · 1 file changed: a.py +1 −0 · unverified" in screen.text
    assert "waiting for" not in screen.text


def test_ctrl_c_ends_it_and_says_how_to_go_on(bench, terminal):
    with ollama(plan(step("1"), step("2")), say("One."), Turn("", fault=Fault.stall(0))) as server:
        screen = terminal(server, NEBULA_LANG="ja")
        screen.wait("ステップ 2/2 Step 2: hermes3:8b の応答待ち")
        screen.send(CTRL_C)
        assert screen.ended() == 130
    assert "中断" in screen.text and "--resume-plan" in screen.text


def test_checks_that_were_found_are_confirmed_once(bench, terminal):
    bench.write("Makefile", "test:\n\ttrue\n")
    once = [plan(step("1")), say("Done.")]
    with ollama(*once, *once, *once) as server:
        first = terminal(server)
        first.wait("This project seems to be checked by: make test")
        first.line("y")
        assert first.ended() == 0
        second = terminal(server)
        assert second.ended() == 0
        bench.write("Makefile", "check:\n\ttrue\n")
        third = terminal(server)
        third.wait("checked by: make check")
        third.line("n")
        assert third.ended() == 0
    assert "✓ check make test: passed" in first.text and "✓ check make test: passed" in second.text
    assert "seems to be checked" not in second.text
    assert "make check: passed" not in third.text


def test_a_check_in_a_directory_of_path_is_found(bench, terminal):
    tool = bench.home / "tools" / "bin" / "python"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\nexit 0\n")
    tool.chmod(0o755)
    bench.write("pytest.ini", "")
    with ollama(plan(step("1")), say("Done.")) as server:
        shown = terminal(server, PATH=f"{tool.parent}:/usr/bin:/bin")
        shown.wait("Run them after each task? (y/N):")
        shown.line("y")
        assert shown.ended() == 0
    assert "✓ check python -m pytest -q: passed" in shown.text
