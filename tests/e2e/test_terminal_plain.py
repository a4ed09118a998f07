"""Without a capable terminal: pipes, TERM=dumb, NO_COLOR. And what happens before the first prompt."""

import json
import os
import re
import resource
import signal

import pytest

from scripted_model import Call, Fault, ScriptedModel, Turn, refused_url
from terminal_driver import CTRL_C, CTRL_D, Terminal

CREATE = Call("writeFile", {"path": "notes.txt", "content": "one\n"})
CONTROL = re.compile(r"\x1b|\x9b|\r(?!\n)")


def start(bench, server, *args, **env):
    settings = {"TERM": "xterm-256color", **server.env(), **env}
    return Terminal(bench.argv("nebula", *args), bench.project, bench.env(**settings))


def test_a_pipe_is_read_line_by_line_and_nothing_is_swallowed(bench):
    with ScriptedModel([Turn("Writing.", [CREATE]), Turn("Done."), Turn("Bye.")]) as server:
        ran = bench.run("nebula", stdin="write it\ny\nbye\\\nnow\nexit\nnever\n", **server.env())
    assert ran.code == 0
    assert bench.read("notes.txt") == "one\n"
    assert "[AGENT] You: write it\n\nWriting.\n" in ran.out
    assert "Go ahead? (y/N): y\n" in ran.out
    assert not CONTROL.search(ran.out)
    assert len(server.turns) == 3
    assert "bye\\nnow" in json.dumps(server.turns[2].json)


def test_the_end_of_a_pipe_refuses_and_leaves(bench):
    with ScriptedModel([Turn("", [CREATE]), Turn("Done.")]) as server:
        ran = bench.run("nebula", stdin="write it", **server.env())
    assert ran.code == 0
    assert not (bench.project / "notes.txt").exists()
    assert "nebula --resume session_" in ran.out


def test_a_dumb_terminal_gets_no_cursor_control(bench):
    with (
        ScriptedModel([Turn("**Writing**.", [CREATE]), Turn("Done.")]) as server,
        start(bench, server, TERM="dumb") as screen,
    ):
        screen.wait("[AGENT] You:")
        screen.line("write it")
        screen.wait("(y/N):")
        screen.line("y")
        screen.wait("[AGENT] You:", times=2)
        screen.line("exit")
        assert screen.ended() == 0
    assert "**Writing**." in screen.lines
    assert not CONTROL.search(screen.raw)
    assert bench.read("notes.txt") == "one\n"


def test_control_c_on_a_dumb_terminal(bench):
    with ScriptedModel([Turn("Here.")]) as server, start(bench, server, TERM="dumb") as screen:
        screen.wait("[AGENT] You:")
        screen.send(CTRL_C)
        screen.wait("Press Ctrl-C again to leave.")
        screen.wait("[AGENT] You:", times=2)
        screen.send(CTRL_C)
        assert screen.ended() == 0


def test_interrupting_a_turn_on_a_dumb_terminal(bench):
    script = [Turn("late", fault=Fault.slow(30)), Turn("Here again.")]
    with ScriptedModel(script) as server, start(bench, server, TERM="dumb") as screen:
        screen.wait("[AGENT] You:")
        screen.line("think long")
        server.wait_until(lambda: len(server.turns) == 1)
        screen.send(CTRL_C)
        screen.wait("Interrupted")
        screen.wait("[AGENT] You:", times=2)
        screen.line("still there?")
        screen.wait("Here again.")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_program_told_to_end_ends_its_turn_first(bench, number):
    with ScriptedModel([Turn("late", fault=Fault.slow(30))]) as server, start(bench, server) as screen:
        screen.prompt()
        screen.line("think long")
        server.wait_until(lambda: len(server.turns) == 1)
        os.kill(screen.child.pid, number)
        screen.wait("nebula --resume session_")
        assert screen.ended() == 130
    assert bench.trace()[-1]["status"] == "interrupted"


def test_no_color_takes_the_colours_and_nothing_else(bench):
    script = [Turn("# Title\n\n**bold**", [CREATE]), Turn("`x`")]
    with ScriptedModel(script) as server, start(bench, server, NO_COLOR="1") as screen:
        screen.prompt()
        screen.line("hi")
        screen.wait("(y/N):")
        screen.line("d")
        screen.wait("(y/N):", times=2)
        screen.line("y")
        screen.prompt(times=2)
        screen.send(CTRL_D)
        screen.ended()
    assert "bold" in screen.lines and "**bold**" not in screen.lines
    styles = {code for codes in re.findall(r"\x1b\[([\d;]*)m", screen.raw) for code in codes.split(";")}
    assert "1" in styles, "bold is no colour"
    assert not [code for code in styles if code.isdecimal() and 30 <= int(code) <= 107 and code not in ("39", "49")]


def test_no_model_is_one_clear_line(bench):
    ran = bench.run("nebula", stdin="", OLLAMA_HOST=refused_url())
    assert ran.code == 1
    assert "OPENAI_API_KEY" in ran.err
    assert "Traceback" not in ran.err


def test_trust_is_asked_once_and_remembered(bench):
    bench.write(".nebula/config.json", '{"checks": ["true"]}')
    with ScriptedModel([]) as server:
        with start(bench, server) as screen:
            screen.wait("Trust this folder and let them run? (y/N):")
            assert "  true" in screen.lines
            screen.line("n")
            screen.prompt()
            screen.send(CTRL_D)
            screen.ended()
        with start(bench, server) as screen:
            screen.wait("(y/N):")
            screen.line("y")
            screen.prompt()
            screen.line("/tools")
            screen.wait("runCheck")
            screen.prompt(times=2)
            screen.send(CTRL_D)
            screen.ended()
        with start(bench, server) as screen:
            screen.prompt()
            assert "Trust" not in screen.text


def test_the_history_is_private_and_comes_back(bench):
    with ScriptedModel([Turn("ok")]) as server:
        with start(bench, server) as screen:
            screen.prompt()
            screen.line("remember 星雲")
            screen.prompt(times=2)
            screen.send(CTRL_D)
            screen.ended()
        history = bench.home / ".nebula" / "history"
        assert history.stat().st_mode & 0o777 == 0o600
        with start(bench, server, "-c") as screen:
            screen.prompt()
            screen.send("\x12星")
            screen.wait("[AGENT] You: remember 星雲")


def processor_time_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_the_first_prompt_comes_quickly(bench):
    with ScriptedModel([]) as server:
        used = []
        for _ in range(3):
            before = processor_time_of_children()
            with start(bench, server) as screen:
                screen.prompt()
            used.append(processor_time_of_children() - before)
    assert min(used) < 1.5  # a third of that is usual; this only catches a heavy import


def test_what_the_tools_do_is_said_in_the_persons_language(bench):
    bench.write(".nebula/config.json", '{"checks": ["true"]}')
    with ScriptedModel([Turn("x")]) as server:
        ran = bench.run("nebula", "--trust", stdin="/tools\nexit\n", NEBULA_LANG="ja", **server.env())
    listed = dict(re.findall(r"(?m)^  (\w+) +(.+)$", ran.out))
    assert {"list", "readFile", "searchInDirectory", "writeFile", "editFile", "runCheck", "readNode"} <= listed.keys()
    assert [name for name, said in listed.items() if said.isascii()] == []


def test_undo_of_another_sessions_turn_names_it_and_asks(bench):
    write = Call("writeFile", {"path": "a.txt", "content": "1\n"})
    with ScriptedModel([Turn("", [write]), Turn("Done.")]) as server:
        assert bench.run("nebula", "-p", "go", "--yes", **server.env()).code == 0
        for answer, is_there in (("n", True), ("y", False)):
            ran = bench.run("nebula", stdin=f"\n/undo\n{answer}\nexit\n", **server.env())
            assert "The last change was not made by this session: a.txt" in ran.out
            assert (bench.project / "a.txt").exists() == is_there


def test_redo_of_another_sessions_undo_names_it_and_asks(bench):
    write = Call("writeFile", {"path": "a.txt", "content": "1\n"})
    with ScriptedModel([Turn("", [write]), Turn("Done."), Turn("Hm.")]) as server:
        ran = bench.run("nebula", "--yes", stdin="\ngo\n/undo\n/redo\n/undo\nexit\n", **server.env())
        assert "Done again: a.txt" in ran.out and "all the same" not in ran.out
        for answer, is_there in (("n", False), ("y", True)):
            ran = bench.run("nebula", stdin=f"\n/redo\n{answer}\nexit\n", **server.env())
            assert "It was not taken back by this session: a.txt" in ran.out
            assert (bench.project / "a.txt").exists() == is_there


def test_a_session_that_goes_on_does_its_own_undo_again_unasked(bench):
    write = Call("writeFile", {"path": "a.txt", "content": "1\n"})
    with ScriptedModel([Turn("", [write]), Turn("Done.")]) as server:
        bench.run("nebula", "--yes", stdin="\ngo\n/undo\nexit\n", **server.env())
        ran = bench.run("nebula", "-c", stdin="/redo\nexit\n", **server.env())
    assert "Done again: a.txt" in ran.out and "all the same" not in ran.out
