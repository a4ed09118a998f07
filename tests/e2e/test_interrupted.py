"""A turn that is stopped at any moment has its beginning and its end: `task`, `final`, exit code 130."""

from __future__ import annotations

import json
import signal
import socket
import time

import pytest

from conftest import Bench
from scripted_model import Call, Fault, ScriptedModel, Turn
from slow_git import hurry_git, slow_git, wait_for

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_while_the_context_is_built(bench: Bench, number: signal.Signals) -> None:
    path, asked = slow_git(bench, 60)
    with ScriptedModel([Turn("Back again.")]) as server:
        process = bench.start("nebula", "-p", "first", "--output-format", "stream-json", **server.env(), PATH=path)
        wait_for(asked)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        hurry_git(bench)
        assert asked.read_text() == "asked\n", "once, and not again for somebody who has left"
        events = [json.loads(line) for line in out.splitlines()]
        assert (process.returncode, err.decode()) == (130, f"nebula: {events[-1]['remark']}\n")
        assert [events[0]["type"], events[-1]["type"]] == ["task", "final"]
        assert (events[-1]["status"], events[-1]["exit_code"]) == ("interrupted", 130)
        assert [event["type"] for event in bench.trace()][-1] == "final"
        again = bench.run("nebula", "-p", "second", "--continue", **server.env())
    assert again.out == "Back again.\n"
    assert "first" in str(server.turns[0].json["messages"])  # the model is told that it was withdrawn


@pytest.mark.parametrize("command", [("nebula", "-p", "go"), ("evercontext", "run", "--task", "go")])
def test_while_the_model_is_chosen(bench: Bench, command: tuple[str, ...]) -> None:
    """The server that would say which models it has takes the question, and does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process = bench.start(*command, "--output-format", "stream-json", OLLAMA_HOST=address)
        connection, _ = silent.accept()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        connection.close()
    events = [json.loads(line) for line in out.splitlines()]
    assert ([event["type"] for event in events], process.returncode) == (["task", "final"], 130)
    assert err.decode() == f"{command[0]}: {events[-1]['remark']}\n"


@pytest.mark.parametrize(
    "reply", [Turn("never", fault=Fault.stall(10)), Turn("", [Call("runCommand", {"command": "sleep 30"})])]
)
def test_by_the_second_ctrl_c_at_once(bench: Bench, reply: Turn) -> None:
    with ScriptedModel([reply]) as server:
        process = bench.start("nebula", "-p", "go", "--output-format", "stream-json", **server.env())
        server.wait_until(lambda: len(server.turns) == 1)
        if reply.calls:
            assert process.stdout is not None
            next(line for line in process.stdout if json.loads(line)["type"] == "step")
        for _ in range(5):
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130  # also where the last one comes when the interpreter is being put away
    assert b"Traceback" not in err
    assert json.loads(out.splitlines()[-1])["status"] == "interrupted"


def test_while_a_command_runs_by_a_closed_window(bench: Bench) -> None:
    script = [Turn("", [Call("runCommand", {"command": "sleep 30"})])]
    with ScriptedModel(script) as server:
        process = bench.start("nebula", "-p", "go", "--output-format", "stream-json", **server.env())
        server.wait_until(lambda: len(server.turns) == 1)
        time.sleep(0.5)
        process.send_signal(signal.SIGHUP)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert json.loads(out.splitlines()[-1])["status"] == "interrupted"


EARLY = """
import os, signal, sys

class Early:
    def find_spec(self, name, path=None, target=None):
        if name == "uvicorn":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGTERM)

sys.meta_path.insert(0, Early())
"""


@pytest.mark.parametrize("server", ["gateway", "rag"])
def test_while_a_server_is_still_being_loaded(bench, tmp_path, server):
    (tmp_path / "sitecustomize.py").write_text(EARLY)
    ran = bench.run("evercontext", server, "--port", "0", PYTHONPATH=str(tmp_path))
    assert (ran.code, ran.out, ran.err) == (130, "", "evercontext: interrupted\n")
