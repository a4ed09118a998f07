"""vizprompt chat, run as a command against a scripted model."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pexpect
import pytest

from scripted_model import Fault, RecordedRequest, ScriptedModel, Turn
from vizprompt_command import SCRIPTS, Vizprompt


@pytest.fixture
def vizprompt(tmp_path: Path) -> Vizprompt:
    return Vizprompt(tmp_path)


def echo(request: RecordedRequest) -> Turn:
    return Turn(f"echo: {request.json['messages'][-1]['content']}", output_tokens=7)


def test_one_prompt_is_one_node_in_main(vizprompt: Vizprompt) -> None:
    with ScriptedModel(echo) as server:
        ran = vizprompt("chat", "--openai", "こんにちは", env=server.env())
        piped = vizprompt("chat", "--openai", "-m", "gpt-4.1-mini", "-", stdin="from a pipe\n", env=server.env())
        assert [request.json["model"] for request in server.turns] == ["gpt-4.1-nano", "gpt-4.1-mini"]
    assert (ran.code, ran.out) == (0, "echo: こんにちは\n")
    assert piped.out == "echo: from a pipe\n\n".rstrip("\n") + "\n"
    newest, oldest = vizprompt("search", "--json").json
    assert (oldest["prompt"], oldest["response"], oldest["model"]) == ("こんにちは", "echo: こんにちは", "gpt-4.1-nano")
    assert oldest["texts"][1]["count"] == 7 and oldest["usage"]["output"] == 7
    assert newest["prompt"] == "from a pipe\n"
    assert vizprompt("flow", "show", "main").out == "1\n2\n"


def test_a_key_in_the_prompt_is_in_no_file(vizprompt: Vizprompt, tmp_path: Path) -> None:
    with ScriptedModel(echo) as server:
        key = "sk-key-of-this-test-0123456789"
        ran = vizprompt("chat", "--openai", f"my key is {key}", env=server.env() | {"OPENAI_API_KEY": key})
        assert key in server.turns[0].json["messages"][-1]["content"]
    assert ran.code == 0
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]


@pytest.mark.parametrize("provider", ["gemini", "ollama"])
def test_every_provider_answers(vizprompt: Vizprompt, provider: str) -> None:
    with ScriptedModel([Turn("hello from there")]) as server:
        ran = vizprompt("chat", f"--{provider}", "hi", env=server.env(provider))
    assert (ran.code, ran.out) == (0, "hello from there\n")


def test_a_conversation_is_a_flow_and_the_model_hears_what_was_said(vizprompt: Vizprompt) -> None:
    with ScriptedModel(echo) as server:
        ran = vizprompt("chat", "--openai", stdin="first\n\nsecond\nthird\n/q\nnever\n", env=server.env())
        heard = server.turns[2].json["messages"]
    assert (ran.code, ran.out) == (0, "echo: first\necho: second\necho: third\n")
    flows = vizprompt("flow", "list", "--json").json
    assert len(flows) == 1 and flows[0]["name"].startswith("Chat Session ")
    assert vizprompt("flow", "show", "1").out == "1→2→3\n"
    assert [message["role"] for message in heard] == ["system", "user"]
    assert "first → echo: first" in heard[0]["content"] and "[answer]\necho: second" in heard[0]["content"]
    assert heard[1]["content"] == "third"


def test_the_words_of_the_original(vizprompt: Vizprompt) -> None:
    lines = ["/prev", "first", "/retry", "second", "/retry", "/prev", "/flow list", "/flow show 1", "/?"]
    lines += ["/nonsense", "/flow select", "/flow select nowhere", "/clear", "fresh", "/flow select 1", "on", "/q"]
    with ScriptedModel(echo) as server:
        ran = vizprompt("chat", "--openai", stdin="\n".join(lines), env=server.env())
        assert len(server.turns) == 6
        assert "echo: second" in server.turns[5].json["messages"][0]["content"]
        assert [message["role"] for message in server.turns[4].json["messages"]] == ["user"]
    assert ran.code == 0
    assert ran.out.startswith("echo: first\necho: first\necho: second\necho: second\n")
    assert "[assistant]\necho: second" in ran.out
    assert "/flow select <id>" in ran.out
    for remark in ("There is no previous node.", "no command /nonsense", "Write it as: /flow select <id>", "nowhere"):
        assert remark in ran.err
    assert "1\n2<\n  2<3\n  2<4\n" in ran.out  # a retried root is a root beside it, a retried child a branch
    assert vizprompt("flow", "show", "1").out == "1\n2<\n  2<3\n  2<4→5\n"
    assert vizprompt("flow", "show", "2").out == "1\n"


def test_a_flow_goes_on_and_a_prompt_continues_from_any_node(vizprompt: Vizprompt) -> None:
    first = vizprompt.create("root", "root answer")
    vizprompt.create("leaf", "leaf answer", "--parent", first)
    with ScriptedModel(echo) as server:
        vizprompt("chat", "--openai", "--flow", "main", "more", env=server.env())
        assert "leaf answer" in server.turns[0].json["messages"][0]["content"]
        vizprompt("chat", "--openai", "--from", first, "other", env=server.env())
        assert "leaf answer" not in server.turns[1].json["messages"][0]["content"]
        assert vizprompt("chat", "--openai", "--from", "nobody", "x", env=server.env()).code == 1
    assert vizprompt("flow", "show", "main").out == "1<\n  1<2→3\n  1<4\n"


def test_a_conversation_from_a_node_stays_in_its_flow_and_keeps_the_whole_path(vizprompt: Vizprompt) -> None:
    first = vizprompt.create("root", "root answer")
    second = vizprompt.create("leaf", "leaf answer", "--parent", first)
    with ScriptedModel(echo) as server:
        vizprompt("chat", "--openai", "--from", second, stdin="one\ntwo\n", env=server.env())
        assert "root answer" in server.turns[1].json["messages"][0]["content"]
    assert vizprompt("flow", "show", "main").out == "1→2→3→4\n"


def test_on_a_terminal_the_answer_comes_as_it_is_written(vizprompt: Vizprompt) -> None:
    with ScriptedModel(
        [Turn("line one\r\nline \x1btwo"), Turn("never", fault=Fault.slow(30)), Turn("three")]
    ) as server:
        environment = {**vizprompt.base(), **server.env()}
        terminal = pexpect.spawn(
            str(SCRIPTS / "vizprompt"), ["chat", "--openai"], cwd=str(vizprompt.folder), env=environment, timeout=30
        )
        terminal.expect("lists the commands")
        terminal.expect("User: ")
        terminal.sendline("hello")
        terminal.expect("line one\r\nline ")
        assert b"\x1btwo" not in terminal.before + terminal.after
        terminal.expect("Saved as node")
        terminal.expect("User: ")
        terminal.sendline("slowly")
        server.wait_until(lambda: len(server.requests) == 2)
        terminal.sendintr()
        terminal.expect("Interrupted")
        terminal.expect("User: ")
        terminal.sendline("again")
        terminal.expect("three")
        terminal.expect("User: ")
        terminal.sendeof()
        terminal.expect(pexpect.EOF)
        terminal.close()
    assert terminal.exitstatus == 0
    assert [node["prompt"] for node in vizprompt("search", "--json").json] == ["again", "hello"]


def test_the_model_may_ask_for_a_node_in_full(vizprompt: Vizprompt) -> None:
    long_answer = "It begins here. " + "Many words follow. " * 400 + "The secret is at the very end"
    first = vizprompt.create("tell me", long_answer)
    second = vizprompt.create("and?", "well", "--parent", first)

    def script(request: RecordedRequest) -> Turn:
        system = request.json["messages"][0]["content"]
        return Turn("Found it." if "The secret" in system else f"I want to know the details of [{first}].")

    with ScriptedModel(script) as server:
        ran = vizprompt("chat", "--openai", "--from", second, "what is it?", env=server.env())
        assert len(server.turns) == 2
    assert ran.out == "Found it.\n" and first in ran.err
    assert vizprompt("search", "--text", "Found", "--json").json[0]["prompt"] == "what is it?"


def test_a_failed_exchange_leaves_no_node_and_the_conversation_goes_on(vizprompt: Vizprompt) -> None:
    with ScriptedModel([Fault.status_code(400, body='{"error": {"message": "no"}}'), Turn("yes")]) as server:
        ran = vizprompt("chat", "--openai", stdin="one\ntwo\n", env=server.env())
    assert ran.code == 1 and ran.out == "yes\n" and "Traceback" not in ran.err
    assert [node["prompt"] for node in vizprompt("search", "--json").json] == ["two"]
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


def test_an_interrupted_exchange_is_not_stored(vizprompt: Vizprompt, tmp_path: Path) -> None:
    slow = Turn("too late", fault=Fault.slow(30))
    with ScriptedModel([slow]) as server:
        process = subprocess.Popen(
            [str(SCRIPTS / "vizprompt"), "chat", "--openai", "hello"],
            cwd=tmp_path,
            env=os.environ | server.env() | {"NEBULA_HOME": str(tmp_path / "home")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        server.wait_until(lambda: bool(server.requests), 20)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130 and out == b"" and b"Traceback" not in err
    assert vizprompt("search", "--json").json == []


def test_the_commands_speak_japanese(vizprompt: Vizprompt) -> None:
    with ScriptedModel(echo) as server:
        ran = vizprompt("chat", "--openai", stdin="/?\nあ\nい\n", env=server.env() | {"NEBULA_LANG": "ja"})
        assert "2. 会話の流れ:" in server.turns[1].json["messages"][0]["content"]
    assert "コマンド一覧:" in ran.out and "フローを選択します" in ran.out
    assert "チャット履歴をノードとして保存しました" in ran.err
