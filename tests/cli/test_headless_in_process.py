"""`nebula -p` in this process: the prompt it takes, what it prints where, how it ends."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest

from conftest import Bench
from in_process import run_here, sit_down_here, surroundings
from nebula.cli.headless import between
from rows import each_row
from scripted_model import Call, Fault, ScriptedModel, Turn
from slow_git import slow_git

CREATE = Call("writeFile", {"path": "notes.txt", "content": "one\n"})
FORMATS = ("text", "json", "stream-json")


def prompt_sent(server: ScriptedModel) -> str:
    users = [message["content"] for message in server.turns[-1].json["messages"] if message["role"] == "user"]
    found = re.search("--- USER MESSAGE BEGIN ---\n(.*)--- USER MESSAGE END ---", users[-1], re.DOTALL)
    assert found
    return found[1]


# What is asked


@pytest.mark.parametrize(
    ("prompt", "instead"),
    [("/undo", "nebula -c"), ("/help", "nebula --help"), ("/plan the work", 'nebula --mode plan -p "task"')],
)
def test_a_command_of_a_session_is_no_task(bench: Bench, prompt: str, instead: str) -> None:
    with ScriptedModel([]) as server:
        ran = run_here(bench, "nebula", "-p", prompt, **server.env())
    name = prompt.split()[0]
    assert (ran.code, ran.out) == (64, "") and not server.turns
    assert ran.err == f"nebula: {name} is a command of a session; use instead: {instead}\n"


@pytest.mark.parametrize("prompt", ["/etc/hosts what is this", " /undo what is this", " /xyzzy"])
def test_what_only_begins_with_a_slash_is_a_task(bench: Bench, prompt: str) -> None:
    with ScriptedModel([Turn("ok")]) as server:
        ran = run_here(bench, "nebula", "-p", prompt, **server.env())
    assert (ran.code, prompt_sent(server)) == (0, prompt)


def test_on_a_terminal_words_stay_whole_and_in_a_pipe_lines_do(bench: Bench) -> None:
    words = "There are twelve tests in the folder, and all of them pass."
    code = "```\nprint('a line of code that is longer than the terminal')\n```"
    with ScriptedModel([Turn(f"{words}\n\n{code}"), Turn(words)]) as server:
        end = "the terminal')"
        _, screen = sit_down_here(bench, lambda screen: screen.wait("al')"), "-p", "x", columns=40, **server.env())
        piped = run_here(bench, "nebula", "-p", "x", **server.env())
    assert screen.lines[:2] == ["There are twelve tests in the folder,", "and all of them pass."]
    assert "print('a line of code that is longer tha" in screen.lines and end in "".join(screen.lines)
    assert piped.out == f"{words}\n"


@pytest.mark.parametrize(("lang", "said"), [("en", "no file changed · 1 change failed"), ("ja", "失敗した変更 1 件")])
def test_a_change_that_failed_is_told(bench: Bench, lang: str, said: str) -> None:
    bench.write("a.txt", "one\n")
    read = Call("readFile", {"path": "a.txt"})
    wrong = Call("editFile", {"path": "a.txt", "edits": [{"old_text": "nowhere", "new_text": "x"}]})
    right = Call("editFile", {"path": "./a.txt", "edits": [{"old_text": "one", "new_text": "two"}]})
    with ScriptedModel([Turn("", [read]), Turn("", [wrong]), Turn("Fixed.")]) as server:
        ran = run_here(bench, "nebula", "--yes", "-p", "fix", NEBULA_LANG=lang, **server.env())
    assert ran.out == "Fixed.\n" and said in ran.err
    with ScriptedModel([Turn("", [read]), Turn("", [wrong]), Turn("", [right]), Turn("Fixed.")]) as server:
        ran = run_here(bench, "nebula", "--yes", "-p", "fix", **server.env())
    assert "1 file changed: a.txt" in ran.err and "failed" not in ran.err


def test_what_is_piped_in_is_appended_to_the_prompt(bench: Bench) -> None:
    with ScriptedModel([Turn("Looks fine.")]) as server:
        ran = run_here(bench, "nebula", "-p", "review this", stdin="diff --git a b\n+日本\n", **server.env())
    assert (ran.code, ran.out) == (0, "Looks fine.\n")
    assert prompt_sent(server) == "review this\n\ndiff --git a b\n+日本\n"


def test_an_empty_pipe_adds_nothing(bench: Bench) -> None:
    with ScriptedModel([Turn("ok")]) as server:
        run_here(bench, "nebula", "-p", "hi", stdin="", **server.env())
    assert prompt_sent(server) == "hi"


def test_a_dash_is_standard_input_alone(bench: Bench) -> None:
    with ScriptedModel([Turn("ok")]) as server:
        run_here(bench, "nebula", "-p", "-", stdin="長い質問\n二行目", **server.env())
    assert prompt_sent(server) == "長い質問\n二行目"


def test_a_pipe_that_is_left_open_and_silent_does_not_hold_up_the_task(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nebula.cli.headless import prompt as headless_prompt

    monkeypatch.setattr(headless_prompt, "PATIENCE_S", 0.01)
    monkeypatch.setattr(headless_prompt, "FIRST_BYTE_S", 0.02)
    reader, writer = os.pipe()
    with os.fdopen(reader) as stdin, os.fdopen(writer, "w"), surroundings(bench.project, bench.env()):
        monkeypatch.setattr("sys.stdin", stdin)
        assert headless_prompt.read_prompt("do it") == ("do it", ())


def test_a_slow_pipe_is_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from nebula.cli.headless import prompt as headless_prompt

    monkeypatch.setattr(headless_prompt, "PATIENCE_S", 0.01)
    reader, writer = os.pipe()
    with os.fdopen(reader) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        typist = threading.Timer(0.1, lambda: (os.write(writer, b"late"), os.close(writer)))
        typist.start()
        assert headless_prompt.read_prompt("do it") == ("do it\n\nlate", ())
        typist.join()


@each_row(
    ("argv", "hint"),
    [
        (("fix the failing test",), 'nebula -p "fix the failing test"'),
        (("fix", "the", "test"), 'nebula -p "fix the test"'),
        (("sesions",), "did you mean 'sessions'?"),
        (("--mode", "other"), "invalid choice"),
        (("-p", " "), "the prompt is empty"),
        (("-c", "--resume", "abc", "-p", "x"), "give one of them"),
        (("--output-format", "json"), 'add -p "task"'),
        (("--root", "nowhere"), "nowhere: there is no such directory"),
        (("--allow", "../x"), "--allow ../x: give the path relative to the project"),
        (("--allow", "./"), "The root itself cannot be allowed; name the files."),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(bench: Bench, argv: tuple[str, ...], hint: str) -> None:
    ran = run_here(bench, "nebula", *argv)
    assert (ran.code, ran.out, ran.err.count("\n")) == (64, "", 1)
    assert hint in ran.err


def test_an_unknown_node_to_continue_from_is_bad_usage_before_any_request(bench: Bench) -> None:
    with ScriptedModel([Turn("never")]) as server:
        ran = run_here(bench, "nebula", "-p", "go", "--from", "0badcafe", **server.env())
    assert ran.code == 64 and "0badcafe" in ran.err and not server.turns


def test_a_unique_beginning_of_an_id_continues_from_its_node(bench: Bench) -> None:
    with ScriptedModel([Turn("One."), Turn("Two.")]) as server:
        first = run_here(bench, "nebula", "-p", "first", "--output-format", "json", **server.env()).json
        ran = run_here(bench, "nebula", "-p", "second", "--from", first["node_id"][:30], **server.env())
    assert (ran.code, ran.out) == (0, "Two.\n")
    assert "One." in json.dumps(server.turns[-1].json)


def test_nodes_and_tags_are_referred_to_beside_the_path(bench: Bench) -> None:
    data = ("--data-dir", ".nebula/graph")
    with ScriptedModel([Turn("One."), Turn("Two."), Turn("Three.")]) as server:
        first = run_here(bench, "nebula", "-p", "about apples", "--output-format", "json", **server.env()).json
        run_here(bench, "nebula", "-p", "about pears", **server.env())
        run_here(bench, "vizprompt", *data, "node", "edit", first["node_id"], "--tags", "fruit")
        for reference in (first["node_id"][:-3], "#fruit"):
            ran = run_here(bench, "nebula", "-p", "and now?", "--ref", reference, **server.env())
            sent = json.dumps(server.turns[-1].json, ensure_ascii=False)
            assert "about apples" in sent and "about pears" not in sent, (ran, reference)
            server.script = [Turn("One."), Turn("Two."), Turn("Three."), Turn("Four.")]


@pytest.mark.parametrize("reference", ["0badcafe", "#nowhere"])
def test_an_unknown_reference_is_bad_usage_before_any_request(bench: Bench, reference: str) -> None:
    with ScriptedModel([Turn("One."), Turn("never")]) as server:
        run_here(bench, "nebula", "-p", "first", **server.env())
        ran = run_here(bench, "nebula", "-p", "go", "--ref", reference, **server.env())
    assert ran.code == 64 and reference in ran.err and len(server.turns) == 1


# What is said where


def test_a_refused_write_names_its_file_and_the_way_to_allow_it(bench: Bench) -> None:
    with ScriptedModel([Turn("I write.", [CREATE]), Turn("I could not.")]) as server:
        ran = run_here(bench, "nebula", "-p", "write", **server.env())
    assert ran.code == 2 and ran.out == "I write.\n\nI could not.\n"
    assert ran.err == "nebula: notes.txt was not written: nobody is there to ask. To allow it add --yes.\n"
    assert not (bench.project / "notes.txt").exists()


def test_an_allowed_secret_file_that_is_too_large_is_not_said_to_need_the_option(bench: Bench) -> None:
    bench.write(".env", "A=1\n" * 200_000)
    with ScriptedModel([Turn("", [Call("readFile", {"path": ".env"})]), Turn("No.")]) as server:
        ran = run_here(bench, "nebula", "-p", "read", "--allow", ".env", **server.env())
    assert "nebula: .env: has more than the 524288 bytes allowed.\n" in ran.err and "--allow" not in ran.err


def test_a_refused_secret_file_names_the_option_that_allows_it_and_git_does_not(bench: Bench) -> None:
    calls = [Call("writeFile", {"path": path, "content": "A=1"}) for path in (".env", ".git/config", "../x")]
    with ScriptedModel([Turn("", calls), Turn("No.")]) as server:
        ran = run_here(bench, "nebula", "-p", "write", "--yes", **server.env())
    assert ran.code == 2 and "nebula: .env was refused" in ran.err and "--allow .env\n" in ran.err
    assert ran.err.count("--allow") == 1
    with ScriptedModel([Turn("", calls[:1]), Turn("Yes.")]) as server:
        ran = run_here(bench, "nebula", "-p", "write", "--yes", "--allow", ".env", **server.env())
    assert (ran.code, ran.out) == (0, "Yes.\n") and bench.read(".env") == "A=1"


def test_a_rate_limit_says_when_it_goes_on_and_which_try_it_is(bench: Bench) -> None:
    with ScriptedModel([Fault.status_code(429, retry_after="0"), Turn("ok")]) as server:
        ran = run_here(bench, "nebula", "-p", "go", **server.env())
    assert (ran.code, ran.out) == (0, "ok\n")
    assert "nebula: rate limited, asking again, 2 of 4" in ran.err


def test_backstage_goes_to_standard_error(bench: Bench) -> None:
    with ScriptedModel([Turn("Look.", [Call("list", {"path": "."})]), Turn("Done.")]) as server:
        ran = run_here(bench, "nebula", "-p", "go", "--backstage", **server.env())
    assert ran.out == "Look.\n\nDone.\n"
    assert "· list" in ran.err and "· list → Success" in ran.err


@pytest.mark.parametrize("form", FORMATS)
def test_escape_sequences_reach_neither_a_terminal_nor_a_pipe(bench: Bench, form: str) -> None:
    bench.write(".nebula/config.json", json.dumps({"x\x1b[31m\x9b0m": 1}))
    with ScriptedModel([Turn("red \x1b[31m\x9b0m\x07")]) as server:
        ran = run_here(bench, "nebula", "-p", "go", "--output-format", form, **server.env())
    assert ran.code == 0 and "unknown key" in ran.err
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", ran.out + ran.err)


@pytest.mark.parametrize("argv", [("sessions",), ("doctor",), ("mcp", "--http", "99999"), ("graph",)])
def test_no_door_obeys_a_projects_config(bench: Bench, argv: tuple[str, ...]) -> None:
    bench.write(".nebula/config.json", json.dumps({"x\x1b[31m\x9b0m": 1}))
    ran = run_here(bench, "nebula", *argv, OLLAMA_HOST="127.0.0.1:9")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", ran.out + ran.err)


# How it ends


@pytest.mark.parametrize("form", FORMATS)
def test_a_full_disk_behind_standard_output_is_one_line_and_the_trace_agrees(bench: Bench, form: str) -> None:
    with ScriptedModel([Turn("ok")]) as server:
        ran = run_here(bench, "nebula", "-p", "go", "--output-format", form, out="/dev/full", **server.env())
    assert (ran.code, ran.err) == (1, "nebula: Standard output: No space left on device\n")
    last = bench.trace()[-1]
    assert (last["type"], last["status"], last["exit_code"]) == ("final", "error", 1)


def test_no_model_at_all_says_what_to_type(bench: Bench) -> None:
    ran = run_here(bench, "nebula", "-p", "go", OLLAMA_HOST="127.0.0.1:9")
    assert ran.code == 1 and ran.out == ""
    assert "export OPENAI_API_KEY=" in ran.err and "nebula demo" in ran.err


@pytest.mark.parametrize("form", ["json", "stream-json"])
def test_a_task_that_cannot_begin_has_its_stream_all_the_same(bench: Bench, form: str) -> None:
    ran = run_here(bench, "nebula", "-p", "go", "--output-format", form, OLLAMA_HOST="127.0.0.1:9")
    last = ran.events[-1]
    assert (ran.code, last["type"], last["status"], last["exit_code"]) == (1, "final", "error", 1)


def test_a_session_is_continued_and_resumed_by_its_id(bench: Bench) -> None:
    with ScriptedModel([Turn("One."), Turn("Two."), Turn("Three.")]) as server:
        run_here(bench, "nebula", "-p", "first", **server.env())
        run_here(bench, "nebula", "-c", "-p", "second", **server.env())
        listed = run_here(bench, "nebula", "sessions", "--json").json
        ran = run_here(bench, "nebula", "--resume", listed[0]["id"], "-p", "third", **server.env())
    assert len(listed) == 1 and ran.out == "Three.\n"
    sent = json.dumps(server.turns[-1].json)
    assert "One." in sent and "Two." in sent


def test_a_conversation_too_long_is_shortened_without_a_terminal(bench: Bench) -> None:
    answers = [f"Answer. {'word ' * 3000} middle of {number}. {'word ' * 3000}" for number in range(3)]
    with ScriptedModel([*map(Turn, answers), Turn("Short.")]) as server:
        for number in range(3):
            run_here(bench, "nebula", "-p", f"question {number}", "-c" if number else "--yes", **server.env())
        ran = run_here(bench, "nebula", "-c", "--compact", "-p", "and now?", **server.env())
    assert ran.out == "Short.\n"
    sent = json.dumps(server.turns[-1].json)
    assert "middle of 2" in sent and "middle of 0" not in sent and "question 0" in sent


def test_an_unknown_session_is_one_clear_line(bench: Bench) -> None:
    with ScriptedModel([Turn("never")]) as server:
        ran = run_here(bench, "nebula", "--resume", "session_nowhere", "-p", "go", **server.env())
    assert ran.code != 0 and ran.err.count("\n") == 1 and "session_nowhere" in ran.err


def test_a_remark_on_a_terminal_breaks_between_words(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl
    import pty
    import struct
    import termios

    from nebula.cli.printing import print_remark

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
    with os.fdopen(slave, "w", encoding="utf-8") as stderr:
        monkeypatch.setattr("sys.stderr", stderr)
        print_remark("nebula: a sentence that is longer than thirty columns")
        shown = os.read(master, 1000).decode()
        while "columns\r\n" not in shown:  # a terminal hands over what it has
            shown += os.read(master, 1000).decode()
    os.close(master)
    assert shown == "nebula: a sentence that is\r\nlonger than thirty columns\r\n"


# Keys


KEY_SHAPES = ["sk-proj-0123456789abcdefABCDEF", "AIzaSyA0123456789abcdefghijklmnopqrstuv", "AKIAIOSFODNN7EXAMPLE"]


def _records_with(bench: Bench, key: str) -> list[str]:
    places = (bench.project / ".nebula", bench.home)
    files = [each for place in places for each in place.rglob("*") if each.is_file()]
    return [str(each) for each in files if key.encode() in each.read_bytes()]


@pytest.mark.parametrize("key", KEY_SHAPES)
def test_somebodys_key_is_in_no_record_wherever_it_turns_up(bench: Bench, key: str) -> None:
    bench.write("notes.txt", f"deploy with {key}\n")
    look = Call("readFile", {"path": "notes.txt"})
    search = Call("searchInDirectory", {"directory": ".", "keyword": key})
    script = [Turn("", [look, search]), Turn(f"It is {key}."), Turn("Again.")]
    with ScriptedModel(script) as server:
        ran = run_here(bench, "nebula", "-p", f"where is {key}?", "--output-format", "stream-json", **server.env())
        assert ran.code == 0 and key not in ran.out + ran.err
        assert key in str(server.turns[1].json["messages"]), "the model was told"
        run_here(bench, "nebula", "-c", "-p", "go on", **server.env())
    assert _records_with(bench, key) == []


@pytest.mark.parametrize("key", [*KEY_SHAPES, "provider/sk-proj-0123456789abcdefABCDEF", "configured-key-0815"])
def test_a_key_that_was_taken_for_a_model_is_in_no_record(bench: Bench, key: str) -> None:
    env = {"OPENAI_API_KEY": "configured-key-0815"}
    with ScriptedModel([Turn("Hello."), Turn("Hello.")]) as server:
        for door in (("-p", "hi"), ("-c", "-p", "hi"), ("-c",)):
            stdin = f"model openai/{key}\nhello\nexit\n" if door == ("-c",) else None
            run_here(bench, "nebula", *door, "--model", key, stdin=stdin, **server.env() | env)
    assert _records_with(bench, key.removeprefix("provider/")) == []


@pytest.mark.parametrize("model", ["gpt-4.1-nano", "nobody/knows-it"])
def test_a_value_of_an_allowed_secret_file_is_left_out_of_the_prompt_that_names_it(bench: Bench, model: str) -> None:
    """Before any tool has read the file, and where there is no turn at all."""
    bench.write(".env", "TOKEN=Zq7vJw31PlainValue\n")
    asked = ("is Zq7vJw31PlainValue right?", "--allow", ".env", "--output-format", "stream-json")
    with ScriptedModel([Turn("Yes.")]) as server:
        ran = run_here(bench, "nebula", "--model", model, "-p", *asked, **server.env())
    assert ran.events[0]["type"] == "task" and "Zq7vJw31PlainValue" not in ran.out + ran.err
    assert _records_with(bench, "Zq7vJw31PlainValue") == []


def test_a_planned_task_that_names_such_a_value_is_recorded_without_it(bench: Bench) -> None:
    bench.write(".env", "TOKEN=Zq7vJw31PlainValue\n")
    with ScriptedModel([Turn("no plan"), Turn("no plan")]) as server:
        task = ("--task", "use Zq7vJw31PlainValue", "--allow", ".env", "--json")
        ran = run_here(bench, "evercontext", "run", *task, **server.env())
    assert ran.code == 3 and "Zq7vJw31PlainValue" not in ran.out + ran.err
    assert _records_with(bench, "Zq7vJw31PlainValue") == []


# Checks that nobody trusts


def test_checks_that_are_held_back_name_the_option_that_lets_them_run(bench: Bench) -> None:
    bench.write(".nebula/config.json", '{"checks": ["true"]}')
    said = "This project's checks are not run: its folder is not trusted. To let them run add --trust."
    with ScriptedModel([Turn("One."), Turn("Two.")]) as server:
        assert run_here(bench, "nebula", "-p", "hi", **server.env()).err == f"nebula: {said}\n"
        assert run_here(bench, "nebula", "-p", "hi", "--trust", **server.env()).err == ""


# What a stranger's graph holds


def _odd_node(graph: Path) -> str:
    (graph / "nodes/000/007.xml").write_text("<?xml version='1.0' encoding='utf-99'?><node id='odd'/>", "utf-8")
    return "nodes/000/007.xml (not a node file: unknown encoding: utf-99)"


def _odd_settings(graph: Path) -> str:
    (graph / "config.yaml").write_text("settings: [1]\n", encoding="utf-8")
    return "config.yaml (settings is not a mapping)"


def _pipe_as_index(graph: Path) -> str:
    (graph / "nodes/index.tsv").unlink()
    os.mkfifo(graph / "nodes/index.tsv")
    return "nodes/index.tsv (not a regular file)"


@pytest.mark.parametrize("plant", [_odd_node, _odd_settings, _pipe_as_index])
@pytest.mark.parametrize("arguments", [("-p", "go"), ("-c", "-p", "go")])
def test_what_makes_no_sense_in_the_graph_costs_one_remark(
    bench: Bench, plant: Callable[[Path], str], arguments: tuple[str, ...]
) -> None:
    with ScriptedModel([Turn("One."), Turn("Two.")]) as server:
        before = run_here(bench, "nebula", "-p", "begin", **server.env())
        said = plant(bench.project / ".nebula/graph")
        ran = run_here(bench, "nebula", *arguments, **server.env())
    assert before.err == ""
    assert (ran.code, ran.out) == (0, "Two.\n")
    assert ran.err == f"nebula: Left out of the conversation graph: {said}\n"


@pytest.mark.parametrize("plant", [_odd_node, _odd_settings, _pipe_as_index])
def test_a_session_says_once_what_makes_no_sense_in_the_graph(bench: Bench, plant: Callable[[Path], str]) -> None:
    with ScriptedModel([Turn("One."), Turn("Two."), Turn("Three.")]) as server:
        run_here(bench, "nebula", "-p", "begin", **server.env())
        said = plant(bench.project / ".nebula/graph")
        ran = run_here(bench, "nebula", stdin="\ngo\ngo on\nexit\n", **server.env())
    remark = f"Left out of the conversation graph: {said}"
    assert ran.code == 0 and ran.out.count(remark) == 1, ran.out
    assert ran.out.index("Two.") < ran.out.index(remark) < ran.out.index("Three.")


def test_several_odd_files_of_the_graph_are_one_remark_with_the_way_to_see_them(bench: Bench) -> None:
    with ScriptedModel([Turn("One."), Turn("Two.")]) as server:
        run_here(bench, "nebula", "-p", "begin", **server.env())
        graph = bench.project / ".nebula/graph"
        first = [_odd_node(graph), _odd_settings(graph), _pipe_as_index(graph)][0]
        ran = run_here(bench, "nebula", "-p", "go", **server.env())
        command = ran.err.rpartition("all of them: ")[2].split()
        checked = run_here(bench, *command, **server.env())
    assert ran.err.splitlines() == [
        f"nebula: Left out of the conversation graph: {first} and 2 more; all of them: "
        "vizprompt --data-dir .nebula/graph check"
    ]
    assert all(name in checked.out + checked.err for name in ("007.xml", "config.yaml", "index.tsv"))


# What is not where it should be


def configure(bench: Bench, settings: str) -> None:
    folder = bench.home / ".nebula"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(settings)


def test_a_remark_is_said_in_the_last_event_and_on_stderr(bench: Bench) -> None:
    configure(bench, '{"mcp_servers": {"notes": {"command": "/no/such/server"}}}')
    with ScriptedModel([Turn("Hello."), Turn("Hello.")]) as server:
        ran = run_here(bench, "nebula", "-p", "go", "--output-format", "json", **server.env())
        streamed = run_here(bench, "nebula", "-p", "go", "--output-format", "stream-json", **server.env())
    assert ran.json["text"] == "Hello." and ran.out.count("\n") == 1
    assert re.fullmatch(r"nebula: The MCP server notes cannot be used: .*\n", ran.err)
    for said, final in ((ran, ran.json), (streamed, streamed.events[-1])):
        assert said.err == f"nebula: {final['remark']}\n"


@pytest.mark.parametrize("output_format", ["json", "stream-json"])
@pytest.mark.parametrize("config", ["{broken", '{"provider": "ollama", "checks": ["true"]}'])
@pytest.mark.parametrize("command", [("nebula", "-p", "go"), ("evercontext", "run", "--task", "go")])
def test_what_is_wrong_with_the_settings_stands_in_the_last_event_too(
    bench: Bench, command: tuple[str, ...], config: str, output_format: str
) -> None:
    bench.write(".nebula/config.json", config)
    bench.write("pytest.ini", "[pytest]\n")
    with ScriptedModel(lambda _: Fault.status_code(400)) as server:
        ran = run_here(bench, *command, "--output-format", output_format, **server.env())
    program = command[0]
    remarks = [f"{program}: {line}" for line in ran.events[-1]["remark"].splitlines()]
    assert len(remarks) >= 2 and remarks == ran.err.splitlines()


@pytest.mark.parametrize("output_format", ["json", "stream-json"])
def test_what_was_refused_and_what_failed_is_said_beside_json_too(bench: Bench, output_format: str) -> None:
    script = [Turn("", [Call("writeFile", {"path": "a.txt", "content": "x\n"})]), Turn("Done.")]
    with ScriptedModel([*script, Fault.status_code(400)]) as server:
        refused, failed = (
            run_here(bench, "nebula", "-p", "go", "--output-format", output_format, **server.env()) for _ in range(2)
        )
    for ran, said in ((refused, "a.txt was not written"), (failed, "refused the request")):
        assert said in ran.err and ran.err == f"nebula: {ran.events[-1]['remark']}\n"


@pytest.mark.parametrize("home", ["/proc/none", "/dev/null/none"])
def test_without_a_home_to_write_to_a_task_is_done_all_the_same(bench: Bench, home: str) -> None:
    script = [Turn("", [Call("writeFile", {"path": "a.txt", "content": "x\n"})]), Turn("Done.")]
    with ScriptedModel(script) as server:
        ran = run_here(bench, "nebula", "-p", "go", "--yes", NEBULA_HOME=home, **server.env())
    assert (ran.code, ran.out, bench.read("a.txt")) == (0, "Done.\n", "x\n")
    assert f"{home}/memory.db cannot be opened" in ran.err and "not remembered" in ran.err


def test_a_memory_named_by_the_user_is_not_exchanged_for_another(bench: Bench) -> None:
    configure(bench, '{"database_path": "/proc/none/memory.db"}')
    with ScriptedModel([Turn("never")]) as server:
        ran = run_here(bench, "nebula", "-p", "go", **server.env())
    assert ran.code == 1 and ran.err.startswith("nebula: /proc/none/memory.db cannot be opened") and not server.turns


def test_partial_carries_what_is_being_written(bench: Bench) -> None:
    text = "Two words, and a key: sk-abcdefghijklmnop1234567890.\n\n日本語も。"
    turns = [Turn("Looking.", [Call("list", {"path": "."})]), Turn(text)] * 2
    with ScriptedModel(turns) as server:
        options = ("-p", "x", "--output-format", "stream-json")
        whole = run_here(bench, "nebula", *options, **server.env()).events
        ran = run_here(bench, "nebula", *options, "--partial", **server.env()).events
    said, drafts, draft = [], [], ""
    for event in ran:
        if event["type"] == "delta":
            draft += event["text"]
        elif event["type"] == "message":
            said, drafts, draft = [*said, event["text"]], [*drafts, draft], ""
    assert said == drafts == ["Looking.", text.replace("sk-abcdefghijklmnop1234567890", "[redacted]")]
    assert "delta" not in {each["type"] for each in whole}
    kept = [[each["type"] for each in told if each["type"] not in ("delta", "activity")] for told in (ran, whole)]
    assert kept[0] == kept[1]
    doing = [message for message, _ in groupby(each["message"] for each in ran if each["type"] == "activity")]
    assert doing == ["looking at the project", *["waiting for the model", "answering"] * 2]
    assert [each["seq"] for each in ran] == list(range(1, len(ran) + 1))
    trace = bench.trace()[len(whole) :]
    assert [each["type"] for each in trace] == [each["type"] for each in whole]
    assert [each["seq"] for each in trace] == list(range(1, len(trace) + 1))


@pytest.mark.parametrize("options", [(), ("--yes",)])
@pytest.mark.parametrize("form", FORMATS)
def test_the_last_event_is_the_same_wherever_it_is_read(bench: Bench, form: str, options: tuple[str, ...]) -> None:
    """It says all that went to standard error as a remark, also what only this door can say."""
    bench.write(".nebula/config.json", json.dumps({"nonsense": 1}))
    calls = [Call("writeFile", {"path": path, "content": "x"}) for path in (".env", "a.txt")]
    with ScriptedModel([Turn("", calls), Turn("Half of it", stop="length")]) as server:
        ran = run_here(bench, "nebula", "-p", "x", *options, "--output-format", form, **server.env())
    last = bench.trace()[-1]
    refused = [] if options else ["a.txt was not written: nobody is there to ask. To allow it add --yes."]
    assert last["remark"].split("\n")[1:] == [
        ".env was refused: a secret or control file is allowed only by name. To do so add --allow .env",
        *refused,
        "The model stopped at its output limit; what it said is not complete.",
    ]
    assert "nonsense" in last["remark"].split("\n")[0] and last["status"] == "refused"
    for line in last["remark"].split("\n"):
        assert ran.err.count(line) == 1
    if form != "text":
        assert ran.events[-1] | {"seq": 0} == last | {"seq": 0}


def test_a_turn_that_was_not_begun_says_its_remarks_in_the_trace_as_well(bench: Bench) -> None:
    bench.write(".nebula/config.json", json.dumps({"nonsense": 1}))
    options = ("-p", "x", "--from", "0bad", "--output-format", "json")
    with ScriptedModel([]) as server:
        ran = run_here(bench, "nebula", *options, **server.env())
    assert ran.json == bench.trace()[-1]
    assert "nonsense" in ran.json["remark"].split("\n")[0] and "0bad" in ran.json["remark"].split("\n")[1]


def test_a_stream_says_what_goes_on_where_nothing_else_is_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(between, "SILENT_S", 0.05)
    path, _ = slow_git(bench, 0.2)
    with ScriptedModel([Turn("Slow.", fault=Fault.slow(0.2))]) as server:
        options = ("-p", "x", "--output-format", "stream-json")
        ran = run_here(bench, "nebula", *options, **server.env(), PATH=path)
    told = [each["message"] if each["type"] == "activity" else each["type"] for each in ran.events]
    assert told == ["task", "looking at the project", "waiting for the model", "message", "final"]
    assert [each["seq"] for each in ran.events] == list(range(1, 6))
    assert [each["type"] for each in bench.trace()] == ["task", "message", "final"]


def test_partial_needs_the_stream(bench: Bench) -> None:
    ran = run_here(bench, "nebula", "-p", "x", "--partial")
    assert (ran.code, ran.err) == (64, "nebula: --partial goes with --output-format stream-json\n")


def test_going_on_without_an_earlier_session_says_so_and_begins_one(bench: Bench) -> None:
    said = "There is no earlier session of this directory; this one is new."
    with ScriptedModel([Turn("One."), Turn("Two."), Turn("Three.")]) as server:
        first = run_here(bench, "nebula", "-c", "-p", "hi", **server.env())
        assert first.code == 0 and said in first.err
        assert said not in run_here(bench, "nebula", "-c", "-p", "hi", **server.env()).err
    other = bench.project / "other"
    other.mkdir()
    with ScriptedModel([]) as server:
        assert said in run_here(bench, "nebula", "-c", "--root", str(other), stdin="exit\n", **server.env()).out
