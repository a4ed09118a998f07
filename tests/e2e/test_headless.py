"""nebula -p, from outside: real process, real HTTP, scripted model."""

import json
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from scripted_model import Call, Fault, ScriptedModel, Turn, refused_url

BIN = Path(sys.executable).parent
TYPES = {"task", "plan", "message", "step", "approval", "tool_result", "diff", "retry", "final", "error"}


def test_a_plain_answer(bench):
    with ScriptedModel([Turn("It is a test. 星雲🌌")]) as server:
        ran = bench.run("nebula", "-p", "What is this?", **server.env())
    assert (ran.code, ran.out, ran.err) == (0, "It is a test. 星雲🌌\n", "")


def test_the_prompt_from_standard_input(bench):
    with ScriptedModel([Turn("ok")]) as server:
        ran = bench.run("nebula", "-p", "-", stdin="長い質問\n二行目", **server.env())
    assert ran.code == 0
    assert server.turns[0].json["messages"][-1]["content"].find("長い質問\n二行目") >= 0


def test_read_and_edit_in_two_acts(bench):
    bench.write("sample.txt", "Hello World\n")
    script = [
        Turn("I'll look at it first.", [Call("readFile", {"path": "sample.txt"})]),
        Turn("", [Call("editFile", {"path": "sample.txt", "new_content": "Hello Nebula\n"})]),
        Turn("sample.txt now says Hello Nebula."),
    ]
    with ScriptedModel(script) as server:
        ran = bench.run("nebula", "-p", "Greet Nebula", "--yes", **server.env())
    assert ran.code == 0
    assert ran.out == "I'll look at it first.\n\nsample.txt now says Hello Nebula.\n"
    assert "readFile" not in ran.out + ran.err
    assert bench.read("sample.txt") == "Hello Nebula\n"


def test_stream_json_is_the_whole_story(bench):
    bench.write("a.txt", "one\n")
    script = [
        Turn("Looking.", [Call("readFile", {"path": "a.txt"})]),
        Turn("", [Call("editFile", {"path": "a.txt", "new_content": "two\nthree\n"})]),
        Turn("Done.", input_tokens=7, output_tokens=3),
    ]
    with ScriptedModel(script) as server:
        ran = bench.run("nebula", "-p", "go", "--yes", "--output-format", "stream-json", **server.env())
    events = ran.events
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    events = [event for event in events if event["type"] != "activity"]  # as on a busy machine
    assert {event["type"] for event in events} <= TYPES
    assert (events[0]["type"], events[-1]["type"]) == ("task", "final")
    assert len({(event["trace_id"], event["session_id"]) for event in events}) == 1
    final = events[-1]
    assert final["text"] == "Looking.\n\nDone."
    assert (final["status"], final["exit_code"]) == ("ok", 0)
    assert [(f["path"], f["added"], f["removed"]) for f in final["files_changed"]] == [("a.txt", 2, 1)]
    assert final["usage"] == {"input_tokens": 207, "output_tokens": 43, "cached_input_tokens": 0}
    assert final["node_id"]
    assert bench.trace() == [event | {"seq": number} for number, event in enumerate(events, 1)]


def test_json_prints_just_the_final_object(bench):
    with ScriptedModel([Turn("x")]) as server:
        ran = bench.run("nebula", "-p", "go", "--output-format", "json", **server.env())
    assert ran.json["type"] == "final"
    assert ran.json["text"] == "x"


def test_without_yes_a_write_is_refused_with_exit_code_2(bench):
    script = [Turn("", [Call("writeFile", {"path": "new.py", "content": "x"})]), Turn("I could not write.")]
    with ScriptedModel(script) as server:
        ran = bench.run("nebula", "-p", "go", "--output-format", "json", **server.env())
    assert ran.code == 2
    assert ran.json["status"] == "refused"
    assert not (bench.project / "new.py").exists()
    told = server.turns[1].json["messages"][-1]
    assert "--yes" in told["content"]


def test_plan_mode_offers_no_writers_and_refuses_forged_calls(bench):
    script = [Turn("", [Call("writeFile", {"path": "new.py", "content": "x"})]), Turn("Here is the plan.")]
    with ScriptedModel(script) as server:
        ran = bench.run("nebula", "-p", "go", "--mode", "plan", "--yes", **server.env())
    assert ran.out == "Here is the plan.\n"
    assert not (bench.project / "new.py").exists()
    offered = {tool["function"]["name"] for tool in server.turns[0].json["tools"]}
    assert not offered & {"writeFile", "editFile", "runCheck"}
    assert (
        "Tool 'writeFile' is not allowed in plan mode. Plan mode is read-only."
        in server.turns[1].json["messages"][-1]["content"]
    )


def test_no_model_at_all_says_what_to_set(bench):
    ran = bench.run("nebula", "-p", "go", OLLAMA_HOST=refused_url())
    assert ran.code == 1
    assert "OPENAI_API_KEY" in ran.err
    assert "nebula demo" in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_a_failure_is_still_valid_json(bench):
    with ScriptedModel([Fault.status_code(401)]) as server:
        ran = bench.run("nebula", "-p", "go", "--output-format", "stream-json", **server.env())
    assert ran.code == 1
    assert ran.events[0]["type"] == "task"
    assert ran.events[-1]["type"] == "final"
    assert ran.events[-1]["status"] == "error"
    assert any(event["type"] == "error" and event["kind"] == "auth" for event in ran.events)


def test_ctrl_c_keeps_what_was_recorded_and_leaves_a_resumable_session(bench):
    bench.write("a.txt", "one\n")
    script = [
        Turn("Looking.", [Call("readFile", {"path": "a.txt"})]),
        Turn("never finished", fault=Fault.stall(10)),
        Turn("Back again."),
    ]
    with ScriptedModel(script) as server:
        process = bench.start("nebula", "-p", "go", "--output-format", "stream-json", **server.env())
        server.wait_until(lambda: len(server.turns) == 2)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 130
        assert b'"status": "interrupted"' in out.splitlines()[-1]
        server.wait_until(lambda: server.turns[1].disconnected)
        again = bench.run("nebula", "-p", "go on", "--continue", **server.env())
    assert again.out == "Back again.\n"
    sent = server.turns[2].json["messages"]
    assert [m["role"] for m in sent[1:5]] == ["user", "assistant", "tool", "user"] or "readFile" in str(sent)
    assert "one" in str(sent)


def test_everything_said_is_in_memory_and_log_the_key_in_neither(bench):
    bench.write("a.txt", "one\n")
    script = [Turn("Looking.", [Call("readFile", {"path": "a.txt"})]), Turn("Done.")]
    with ScriptedModel(script) as server:
        env = server.env() | {"OPENAI_API_KEY": "sk-very-secret-key-123456"}
        assert bench.run("nebula", "-p", "go", **env).code == 0
    rows = (
        sqlite3.connect(bench.home / ".nebula/memory.db")
        .execute("SELECT role, content, tool_calls, tool_results FROM messages ORDER BY id")
        .fetchall()
    )
    assert [row[0] for row in rows] == ["user", "assistant", "tool", "assistant"]
    log = bench.read(".nebula/log.txt")
    assert (
        log.index("## USER:")
        < log.index("Looking.")
        < log.index("## SYSTEM:tool_result:readFile:")
        < log.index("Done.")
    )
    for path in [*bench.project.rglob("*"), *bench.home.rglob("*")]:
        if path.is_file():
            assert b"sk-very-secret" not in path.read_bytes(), path


def test_a_key_that_was_said_aloud_is_in_no_record(bench):
    key = "sk-very-secret-key-123456"
    script = [
        Turn(f"I see {key}.", [Call("searchInDirectory", {"directory": ".", "keyword": key})]),
        Turn(f"It is {key}."),
    ]
    with ScriptedModel(script) as server:
        assert bench.run("nebula", "-p", f"My key is {key}", **server.env() | {"OPENAI_API_KEY": key}).code == 0
    for path in [*bench.project.rglob("*"), *bench.home.rglob("*")]:
        if path.is_file():
            assert key.encode() not in path.read_bytes(), path


def test_a_prompt_without_an_answer_does_not_join_the_next_one(bench):
    with ScriptedModel([Fault.status_code(401), Turn("ok")]) as server:
        assert bench.run("nebula", "-p", "first", **server.env()).code == 1
        assert bench.run("nebula", "-p", "second", "--continue", **server.env()).code == 0
    sent = server.turns[1].json["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    assert "first" in sent[1]["content"] and "first" not in sent[3]["content"]


def test_a_runaway_turn_ends_with_a_remark(bench):
    bench.write(".nebula/config.json", '{"max_rounds": 3}')
    bench.write("a.txt", "one\n")
    with ScriptedModel([Turn("", [Call("readFile", {"path": "a.txt"})])] * 5) as server:
        ran = bench.run("nebula", "-p", "go", "--output-format", "json", **server.env())
    assert ran.code == 1
    assert ran.json["status"] == "limit"
    assert len(server.turns) == 3


def test_bad_usage_is_64_and_one_line(bench):
    for args in (
        ["--nope"],
        ["-p"],
        ["-p", ""],
        ["--mode", "wild", "-p", "x"],
        ["frobnicate"],
        ["-p", "x", "--root", "/nowhere"],
        ["-p", "x", "--allow", "/etc/passwd"],
    ):
        ran = bench.run("nebula", *args)
        assert ran.code == 64, args
        assert len(ran.err.strip().splitlines()) == 1, ran.err


def test_help_and_version(bench):
    assert "exit codes" in bench.run("nebula", "--help").out
    assert bench.run("nebula", "--version").out.startswith("nebula 0.")


def test_each_tool_call_leaves_a_line_in_the_audit_log(bench):
    bench.write("a.txt", "one\n")
    calls = [
        Call("readFile", {"path": "a.txt"}),
        Call("readFile", {"path": "../out"}),
        Call("readFile", {"path": "no"}),
    ]
    with ScriptedModel([Turn("", calls), Turn("ok")]) as server:
        trace = bench.run("nebula", "-p", "go", "--output-format", "json", **server.env()).json["trace_id"]
    lines = [json.loads(line) for line in bench.read(".nebula/audit.jsonl").splitlines()]
    assert [(line["method"], line["path"], line["status"]) for line in lines] == [
        ("read_file", "a.txt", 200),
        ("read_file", "../out", 400),
        ("read_file", "no", 404),
    ]
    assert {line["trace_id"] for line in lines} == {trace}
    assert lines[0].keys() >= {"ts", "trace_id", "method", "path", "size", "status"}


def test_a_server_of_ones_own_need_not_list_the_model(bench):
    with ScriptedModel([Turn("ok")]) as server:
        ran = bench.run("nebula", "-p", "go", "--model", "unlisted-1", **server.env())
    assert (ran.code, ran.out) == (0, "ok\n")
    assert server.turns[0].json["model"] == "unlisted-1"


def test_a_key_that_no_header_can_carry_is_one_clear_line(bench):
    with ScriptedModel([Turn("ok")]) as server:
        ran = bench.run("nebula", "-p", "go", **server.env() | {"OPENAI_API_KEY": "鍵"})
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert "Check the API key" in ran.err


def test_a_prompt_too_long_to_send_is_cut_and_told(bench):
    with ScriptedModel([Turn("ok")]) as server:
        ran = bench.run("nebula", "-p", "-", stdin="長" * 200_000, **server.env())
    assert ran.code == 0
    assert "400,000 bytes" in ran.err
    sent = server.turns[0].json["messages"][-1]["content"]
    assert 399_900 < len(sent.encode()) <= 400_000
    assert "...content truncated due to length" in sent


def shell(bench, line, **env):
    """A line for the shell, with `nebula` in it; tells the exit code of its first command."""
    done = subprocess.run(
        ["bash", "-c", f'{line}; exit "${{PIPESTATUS[0]}}"'],
        cwd=bench.project,
        env=bench.env(**env) | {"PATH": f"{BIN}:{bench.env()['PATH']}"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_reader_that_leaves_ends_the_turn_quietly(bench):
    with ScriptedModel([Turn(f"line {n}", [Call("list", {"path": "."})]) for n in range(20)]) as server:
        assert shell(bench, "nebula -p go | head -1", **server.env()) == (1, "line 0\n", "")
        assert len(server.turns) < 5


@pytest.mark.parametrize("line", ["nebula -p go >/dev/full", "nebula --help >/dev/full"])
def test_output_that_cannot_be_written_is_one_clear_line(bench, line):
    with ScriptedModel([Turn("ok")]) as server:
        code, _, err = shell(bench, line, **server.env())
    assert (code, err) == (1, "nebula: Standard output: No space left on device\n")


def test_what_the_system_says_is_said_in_the_persons_language(bench):
    code, _, err = shell(bench, "nebula --version >/dev/full", NEBULA_LANG="ja")
    assert (code, err) == (1, "nebula: 標準出力: ディスクに空きがありません\n")


def test_help_that_nobody_could_read_has_failed_without_a_buffer_as_well(bench):
    code, _, err = shell(bench, "nebula --help >/dev/full", PYTHONUNBUFFERED="1")
    assert (code, err) == (1, "nebula: Standard output: No space left on device\n")


@pytest.mark.parametrize("blocks", [1, 8, 16, 24])
def test_no_room_for_the_memory_is_one_line_that_says_so(bench, blocks):
    with ScriptedModel([Turn("ok")]) as server:
        code, _, err = shell(bench, f"ulimit -f {blocks}; PYTHONDONTWRITEBYTECODE=1 nebula -p go", **server.env())
    assert (code, err.count("\n")) == (1, 1)
    assert re.search(r"memory\.db cannot (grow|be used) \((disk I/O error|database or disk is full)\)", err)


NO_ROOM = "This turn could not be put into the conversation graph: {place}/.nebula/graph: File too large"


@pytest.mark.parametrize("style", ["text", "json"])
def test_no_room_for_a_node_is_said_without_a_number(bench, style):
    with ScriptedModel([Turn("first"), Turn("second")]) as server:
        assert bench.run("nebula", "-p", "go", **server.env()).code == 0
        with (bench.project / ".nebula/graph/flows/000/000.yaml").open("a") as flow:
            flow.write("# a remark\n" * 80_000)
        line = f"ulimit -f 640; PYTHONDONTWRITEBYTECODE=1 nebula -p again --output-format {style}"
        code, out, err = shell(bench, line, **server.env())
    said = NO_ROOM.format(place=bench.project)
    if style == "text":
        assert (code, out, err) == (0, "second\n", f"nebula: {said}\n")
    else:
        assert (code, json.loads(out)["text"], json.loads(out)["remark"]) == (0, "second", said)


def test_closed_streams_are_no_bug(bench):
    with ScriptedModel([Turn("ok"), Turn("ok")]) as server:
        code, _, err = shell(bench, "nebula -p - <&-", **server.env())
        assert (code, err.count("\n")) == (64, 1)
        assert shell(bench, "nebula -p go >&-", **server.env()) == (0, "", "")
        assert shell(bench, "nebula -p go 2>&-", **server.env()) == (0, "ok\n", "")


def test_a_directory_that_is_gone_is_one_clear_line(bench):
    code, _, err = shell(bench, "mkdir gone; cd gone; rmdir ../gone; nebula -p go")
    assert (code, err) == (64, "nebula: the current directory is gone; go to another one\n")


@pytest.mark.parametrize("args", [(), ("--resume", "no-such-session"), ("--from", "no-such-node")])
def test_a_task_that_cannot_begin_has_its_stream_all_the_same(bench, args):
    env = ScriptedModel().env() if args else {"OLLAMA_HOST": refused_url()}
    ran = bench.run("nebula", "-p", "go", "--output-format", "stream-json", *args, **env)
    assert ran.code == (64 if args else 1)
    assert [event["type"] for event in ran.events] == ["task", "error", "final"]
    assert ran.events[-1]["exit_code"] == ran.code
    assert bench.trace() == ran.events


def test_a_write_refused_under_a_wrong_name_and_done_under_the_right_one(bench):
    script = [
        Turn("", [Call("writeFile", {"path": str(bench.project / "src/a.py"), "content": "x\n"})]),
        Turn("", [Call("writeFile", {"path": "src/a.py", "content": "x\n"})]),
        Turn("Done."),
    ]
    with ScriptedModel(script) as server:
        ran = bench.run("nebula", "-p", "go", "--yes", "--output-format", "json", **server.env())
    assert (ran.code, ran.json["status"]) == (0, "ok")


@pytest.mark.parametrize(
    "provider, stop, told",
    [
        ("openai", "length", "output limit"),
        ("gemini", "length", "output limit"),
        ("ollama", "length", "output limit"),
        ("openai", "filter", "held the answer back"),
        ("gemini", "filter", "held the answer back"),
    ],
)
def test_an_answer_cut_short_by_the_provider_is_told(bench, provider, stop, told):
    with ScriptedModel([Turn("half an ans", stop=stop)]) as server:
        ran = bench.run("nebula", "-p", "go", **server.env(provider))
    assert (ran.code, ran.out) == (0, "half an ans\n")
    assert told in ran.err


def test_the_package_runs_as_a_module(bench):
    done = subprocess.run(
        [sys.executable, "-m", "nebula", "--version"], env=bench.env(), capture_output=True, check=True
    )
    assert done.stdout.startswith(b"nebula ")
