"""vizprompt chat, run as a command against a scripted model."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pexpect
import pytest

from nebula.graph.graph import Graph
from scripted_model import Call, Fault, RecordedRequest, ScriptedModel, Turn
from vizprompt_command import SCRIPTS, Vizprompt


@pytest.fixture
def vizprompt(tmp_path: Path) -> Vizprompt:
    return Vizprompt(tmp_path)


def last_prompt(request: RecordedRequest) -> str:
    """As it was typed, without the time that is sent with it."""
    content: str = request.json["messages"][-1]["content"]
    return content.partition("--- USER MESSAGE BEGIN ---\n")[2].rpartition("--- USER MESSAGE END ---")[0]


def echo(request: RecordedRequest) -> Turn:
    return Turn(f"echo: {last_prompt(request)}", output_tokens=7)


def test_one_prompt_is_one_node_in_main(vizprompt: Vizprompt) -> None:
    with ScriptedModel(echo) as server:
        ran = vizprompt("chat", "--openai", "こんにちは", env=server.env())
        piped = vizprompt("chat", "--openai", "-m", "gpt-4.1-mini", "-", stdin="from a pipe\n", env=server.env())
        assert [request.json["model"] for request in server.turns] == ["gpt-4.1-nano", "gpt-4.1-mini"]
    assert (ran.code, ran.out) == (0, "echo: こんにちは\n")
    assert piped.out == "echo: from a pipe\n\n".rstrip("\n") + "\n"
    newest, oldest = vizprompt("search", "--json").json
    assert (oldest["prompt"], oldest["response"], oldest["model"]) == ("こんにちは", "echo: こんにちは", "gpt-4.1-nano")
    assert oldest["usage"]["output"] == 7
    assert newest["prompt"] == "from a pipe\n"
    assert vizprompt("flow", "show", "main").out == "1\n2\n"


def test_a_key_in_the_prompt_is_in_no_file(vizprompt: Vizprompt, tmp_path: Path) -> None:
    with ScriptedModel(echo) as server:
        key = "sk-key-of-this-test-0123456789"
        ran = vizprompt("chat", "--openai", f"my key is {key}", env=server.env() | {"OPENAI_API_KEY": key})
        assert key in str(server.turns[0].json["messages"][-1]["content"])
    assert ran.code == 0
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"log.txt", "trace.jsonl", "memory.db"} <= {path.name for path in files}
    assert not [path for path in files if key.encode() in path.read_bytes()]


def test_a_chat_is_recorded_like_every_session(vizprompt: Vizprompt, tmp_path: Path) -> None:
    with ScriptedModel(echo) as server:
        vizprompt("chat", "--openai", stdin="one\ntwo\n", env=server.env())
        resumed = Vizprompt(tmp_path, program="nebula")("-p", "three", "--resume", env=server.env())
        assert resumed.code == 0 and "echo: two" not in str(server.turns[2].json["messages"])  # another conversation
    log = (tmp_path / ".nebula/log.txt").read_text()
    assert log.index("## USER:") < log.index("## AGENT:nebula\necho: one\n") < log.index("echo: two")
    trace = [json.loads(line) for line in (tmp_path / ".nebula/trace.jsonl").read_text().splitlines()]
    assert [(event["type"], event.get("mode")) for event in trace[:3]] == [
        ("task", "chat"),
        ("message", None),
        ("final", None),
    ]
    with closing(sqlite3.connect(tmp_path / "home/memory.db")) as memory:
        paths = {path for (path,) in memory.execute("SELECT project_path FROM sessions")}
    assert paths == {str(tmp_path / "project"), str(tmp_path)}


@pytest.mark.parametrize("provider", ["gemini", "ollama"])
def test_every_provider_answers(vizprompt: Vizprompt, provider: str) -> None:
    with ScriptedModel([Turn("hello from there")]) as server:
        ran = vizprompt("chat", f"--{provider}", "hi", env=server.env(provider))
    assert (ran.code, ran.out) == (0, "hello from there\n")


def test_a_conversation_is_a_flow_and_the_model_hears_what_was_said(vizprompt: Vizprompt) -> None:
    with ScriptedModel(echo) as server:
        ran = vizprompt("chat", "--openai", stdin="first\n\nsecond\nthird\n/q\nnever\n", env=server.env())
        heard = server.turns[2].json["messages"]
        assert [tool["function"]["name"] for tool in server.turns[2].json["tools"]] == ["readNode"]
    assert (ran.code, ran.out) == (0, "echo: first\necho: second\necho: third\n")
    flows = vizprompt("flow", "list", "--json").json
    assert len(flows) == 1 and flows[0]["name"].startswith("Chat Session ")
    assert vizprompt("flow", "show", "1").out == "1→2→3\n"
    said = [(message["role"], message["content"]) for message in heard[1:]]
    assert [role for role, _ in said] == ["user", "assistant", "user"]
    assert [text for role, text in said if role == "assistant"] == ["echo: second"]
    assert "first → echo: first" in heard[0]["content"]  # what came before the predecessor, in short
    assert str(vizprompt.folder) not in heard[0]["content"]  # nothing of the project


def test_the_words_of_the_original(vizprompt: Vizprompt) -> None:
    lines = ["/prev", "first", "/retry", "second", "/retry", "/prev", "/flow list", "/flow show 1", "/?", "/help"]
    lines += ["/nonsense", "/flow select", "/flow select nowhere", "/clear", "fresh", "/flow select 1", "on", "/q"]
    with ScriptedModel(echo) as server:
        ran = vizprompt("chat", "--openai", stdin="\n".join(lines), env=server.env())
        assert len(server.turns) == 6
        assert "echo: second" in server.turns[5].body.decode()
        assert [message["role"] for message in server.turns[4].json["messages"]] == ["system", "user"]
    assert ran.code == 0
    assert ran.out.startswith("echo: first\necho: first\necho: second\necho: second\n")
    assert "[assistant]\necho: second" in ran.out
    assert ran.out.count("/flow select <id>") == 2  # as often as help was asked for
    for remark in ("There is no previous node.", "no command /nonsense", "Write it as: /flow select <id>", "nowhere"):
        assert remark in ran.err
    assert "1\n2<\n  2<3\n  2<4\n" in ran.out  # a retried root is a root beside it, a retried child a branch
    assert vizprompt("flow", "show", "1").out == "1\n2<\n  2<3\n  2<4→5\n"
    assert vizprompt("flow", "show", "2").out == "1\n"
    with Graph(next(vizprompt.folder.rglob("flows")).parent) as graph:
        first, again, *_ = map(graph.get_node, graph.list_flows()[0].nodes)
        assert (first.beginning, again.beginning) == ("", first.id)
        assert graph.list_tries(again) == [first.id, again.id]


def test_a_flow_goes_on_and_a_prompt_continues_from_any_node(vizprompt: Vizprompt) -> None:
    first = vizprompt.create("root", "root answer")
    vizprompt.create("leaf", "leaf answer", "--parent", first)
    with ScriptedModel(echo) as server:
        vizprompt("chat", "--openai", "--flow", "main", "more", env=server.env())
        assert "leaf answer" in server.turns[0].body.decode()
        vizprompt("chat", "--openai", "--from", first, "other", env=server.env())
        assert "leaf answer" not in server.turns[1].body.decode()
    assert vizprompt("flow", "show", "main").out == "1<\n  1<2→3\n  1<4\n"


def test_a_conversation_from_a_node_stays_in_its_flow_and_keeps_the_whole_path(vizprompt: Vizprompt) -> None:
    first = vizprompt.create("root", "root answer")
    second = vizprompt.create("leaf", "leaf answer", "--parent", first)
    with ScriptedModel(echo) as server:
        vizprompt("chat", "--openai", "--from", second, stdin="one\ntwo\n", env=server.env())
        assert "root answer" in server.turns[1].body.decode()
    assert vizprompt("flow", "show", "main").out == "1→2→3→4\n"


@pytest.mark.slow
def test_on_a_terminal_the_answer_comes_whole_and_an_unanswered_prompt_comes_back(vizprompt: Vizprompt) -> None:
    with ScriptedModel(
        [Turn("line one\r\nline \x1btwo"), Turn("never", fault=Fault.slow(30)), Turn("three")]
    ) as server:
        environment = {**vizprompt.base(), **server.env(), "TERM": "xterm"}
        terminal = pexpect.spawn(
            str(SCRIPTS / "vizprompt"), ["chat", "--openai"], cwd=str(vizprompt.folder), env=environment, timeout=60
        )
        terminal.expect("lists the commands")
        terminal.expect("User: ")
        terminal.sendline("hello")
        terminal.expect("line one")
        terminal.expect("Saved as node")
        assert b"\x1btwo" not in terminal.before + terminal.after
        terminal.expect("User: ")
        terminal.sendline("slowly")
        server.wait_until(lambda: len(server.requests) == 2)
        terminal.expect("Ctrl-C interrupts")
        terminal.sendintr()
        terminal.expect("Interrupted")
        terminal.expect("User: slowly")
        terminal.sendline(", please")
        terminal.expect("three")
        terminal.expect("User: ")
        terminal.sendeof()
        terminal.expect(pexpect.EOF)
        terminal.close()
    assert terminal.exitstatus == 0
    assert [node["prompt"] for node in vizprompt("search", "--json").json] == ["slowly, please", "hello"]


@pytest.mark.parametrize("provider", ["openai", "gemini", "ollama"])
def test_the_model_reads_a_node_by_a_call(vizprompt: Vizprompt, provider: str, tmp_path: Path) -> None:
    long_answer = "It begins here. " + "Many words follow. " * 400 + "The secret is at the very end"
    first = vizprompt.create("tell me", long_answer)
    second = vizprompt.create("and?", "well", "--parent", first)
    summary = Turn("要約: A long tale\nタグ: tale")
    script = [summary, Turn("One moment.", [Call("readNode", {"id": first[:18]})]), Turn("Found it.")]
    with ScriptedModel(script) as server:
        words = ("chat", f"--{provider}", "--budget", "600", "--from", second, "what is it?")
        ran = vizprompt(*words, env=server.env(provider))
        _, before, after = (request.body.decode() for request in server.turns)
    assert first in before and "A long tale" in before and "The secret" not in before and "The secret" in after
    assert ran.out == "One moment.\n\nFound it.\n" and first not in ran.err
    node = vizprompt("search", "--text", "Found", "--json").json[0]
    assert (node["prompt"], node["response"]) == ("what is it?", "One moment.\n\nFound it.")
    assert "## SYSTEM:tool_result:readNode:" in (tmp_path / ".nebula/log.txt").read_text()


@pytest.mark.parametrize("provider", ["openai", "gemini", "ollama"])
def test_no_answer_is_discarded_for_what_it_says(vizprompt: Vizprompt, provider: str) -> None:
    first = vizprompt.create("tell me", "something")
    answer = f"I want to know the details of [{first}]. [{first}]の詳細を知りたい"
    with ScriptedModel([Turn(answer)]) as server:
        ran = vizprompt("chat", f"--{provider}", "--ref", first, "well?", env=server.env(provider))
        assert len(server.turns) == 1
    assert ran.out == f"{answer}\n"
    assert vizprompt("search", "--text", "well", "--json").json[0]["response"] == answer


def test_references_reach_the_model_and_the_node(vizprompt: Vizprompt) -> None:
    one = vizprompt.create("first aside", "the red answer", "--tags", "colour")
    two = vizprompt.create("second aside", "the loud answer. " + "Many words follow. " * 400 + "the end of it")
    alone = next(two[:length] for length in range(9, 37) if not one.startswith(two[:length]))
    with ScriptedModel(echo) as server:
        vizprompt("chat", "--openai", "--ref", "#colour", f"compare @{alone} and #nothing", env=server.env())
        vizprompt("chat", "--openai", "無関係 #colour、どう?", env=server.env())
        for unknown in ("--ref=#nothing", "--ref=ffffffff", "--from=ffffffff"):
            refused = vizprompt("chat", "--openai", unknown, "x", env=server.env())
            assert refused.code == 64 and refused.err.count("\n") == 1
        sent = [request.body.decode() for request in server.turns]
        several = vizprompt("chat", "--openai", f"and @{one[:4]}?", env=server.env())
    assert several.code == 0 and one in several.err and two in several.err
    assert len(sent) == 2
    assert "the red answer" in sent[0] and "the loud answer" in sent[0] and "the end of it" in sent[0]
    assert "the red answer" in sent[1] and "the loud answer" not in sent[1]
    stored = [node["references"] for node in vizprompt("search", "--json").json[1:3]]
    assert stored == [[one], [one, two]]


def test_a_turn_without_an_answer_leaves_no_node_and_loses_no_prompt(vizprompt: Vizprompt, tmp_path: Path) -> None:
    with ScriptedModel([Fault.status_code(400, body='{"error": {"message": "no"}}'), Turn("yes"), Turn("")]) as server:
        ran = vizprompt("chat", "--openai", stdin="one\n/retry\ntwo\n", env=server.env())
        assert [last_prompt(request) for request in server.turns] == ["one", "one", "two"]
    assert ran.code == 1 and ran.out == "yes\n" and "Traceback" not in ran.err
    assert ran.err.count("there is no node") == 2
    assert [node["prompt"] for node in vizprompt("search", "--json").json] == ["one"]
    assert "two" in (tmp_path / ".nebula/log.txt").read_text()
    with ScriptedModel([], api_key="right") as server:
        refused = vizprompt("chat", "--openai", "hi", env=server.env() | {"OPENAI_API_KEY": "wrong"})
    assert (refused.code, refused.out) == (1, "") and refused.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("chat",), 64, "--openai"),
        (("chat", "--openai", "--gemini", "x"), 64, "not allowed"),
        (("chat", "--openai", " "), 64, "empty"),
        (("chat", "--openai", "x"), 1, "OPENAI_API_KEY"),
        (("chat", "--gemini", "x"), 1, "GEMINI_API_KEY"),
        (("chat", "--ollama", "x"), 1, "Ollama"),
        (("chat", "--openai", "--budget", "0", "x"), 64, "--budget"),
    ],
)
def test_a_mistake_is_one_clear_line(vizprompt: Vizprompt, words: tuple[str, ...], code: int, hint: str) -> None:
    ran = vizprompt(*words)
    assert (ran.code, ran.out) == (code, "")
    assert hint in ran.err and ran.err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("piped", [False, True])
def test_an_interrupted_turn_ends_properly_and_is_no_node(vizprompt: Vizprompt, tmp_path: Path, piped: bool) -> None:
    slow = Turn("too late", fault=Fault.slow(30))
    with ScriptedModel([slow]) as server:
        process = subprocess.Popen(
            [str(SCRIPTS / "vizprompt"), "chat", "--openai", *(() if piped else ("hello",))],
            cwd=tmp_path,
            env=os.environ | server.env() | {"NEBULA_HOME": str(tmp_path / "home")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(b"hello\nnever asked\n" if piped else b"")
        process.stdin.flush()
        server.wait_until(lambda: bool(server.turns))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and out == b"" and b"Traceback" not in err and b"Interrupted" in err
    assert "hello" in (tmp_path / ".nebula/log.txt").read_text()
    last = json.loads((tmp_path / ".nebula/trace.jsonl").read_text().splitlines()[-1])
    assert (last["type"], last["status"]) == ("final", "interrupted")
    assert vizprompt("search", "--json").json == []


def test_the_commands_speak_japanese(vizprompt: Vizprompt) -> None:
    with ScriptedModel([Turn("はい"), Turn("")]) as server:
        ran = vizprompt("chat", "--openai", stdin="/?\nあ\nい\n", env=server.env() | {"NEBULA_LANG": "ja"})
        assert "Japanese" in server.turns[0].json["messages"][0]["content"]
    assert "コマンド一覧:" in ran.out and "フローを選択します" in ran.out
    assert "チャット履歴をノードとして保存しました" in ran.err and "ノードは作られません" in ran.err
    help_text = vizprompt("chat", "--help", env={"NEBULA_LANG": "ja"}).out
    assert "過去のためのトークン数" in help_text and "#tag" in help_text
