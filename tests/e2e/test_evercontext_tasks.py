"""Tasks from the command line to the files, with everything that takes part as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from nebula.workspace import open_workspace
from scripted_model import Call, Fault, ScriptedModel, Turn, hermes
from scripted_model.planned import HERMES, ollama, plan, say, step, write

HERE = Path(__file__).parent
APP = "from fastapi import FastAPI\n\napp = FastAPI()\n\n\n@app.get('/')\ndef hello():\n    return {'hello': 'world'}\n"


def configure(bench, **settings):
    folder = bench.home / ".nebula"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(settings))


# The scenarios of the four phases


def test_f1_hello_world_is_made_twice(bench):
    once = [plan(step("1", "Create app/main.py.", files=["app/main.py"])), write("app/main.py", APP), say("Made it.")]
    again = [*once[:2], write("app/main.py", APP, "overwrite"), say("It is there.")]
    with ollama(*once, *again) as server:
        env = {"EC_OLLAMA_ENDPOINT": server.url, "EC_MODEL_NAME": "hermes3:8b"}
        first = bench.run("evercontext", "run", "--task", "app に FastAPI Hello World を作成", **env)
        second = bench.run("evercontext", "run", "--task", "app に FastAPI Hello World を作成", **env)
    assert (first.code, second.code, bench.read("app/main.py")) == (0, 0, APP), first.err + second.err


def test_f2_the_same_input_gives_the_same_plan_and_a_failure_stops_in_good_order(bench):
    bench.write("models/user.py", "class User:\n    pass\n")
    missing = {"tool": "read_file", "parameters": {"path": "gone.py"}}
    steps = plan(step("c", depends_on=["b"]), step("b", **missing, depends_on=["a"]), step("a"))
    with ollama(steps, steps, steps, write("a.py", "a\n"), say("A.")) as server:
        planned = bench.run("evercontext", "plan", "--task", "t", "--repeat", "2", "--json", **server.env("ollama"))
        ran = bench.run("evercontext", "run", "--task", "t", **server.env("ollama"))
    assert planned.json["reproducibility"] == 1.0
    assert len({turn.body for turn in server.turns[:3]}) == 1
    assert (ran.code, bench.read("a.py")) == (1, "a\n")
    final = bench.trace()[-1]
    assert [(each["id"], each["state"]) for each in final["steps"]] == [
        ("a", "done"),
        ("b", "failed"),
        ("c", "not_run"),
    ]


def test_f3_a_rename_reaches_the_index_and_the_evidence_names_the_new_place(bench):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]

    def commit(message):
        for words in (["add", "-A"], ["commit", "-q", "-m", message]):
            subprocess.run([*git, *words], cwd=bench.project, env=bench.env(), check=True)

    subprocess.run([*git, "init", "-q"], cwd=bench.project, env=bench.env(), check=True)
    assert bench.run("evercontext", "hook", "install").code == 0
    bench.write("shop/user.py", "class User:\n    '''Who buys.'''\n\n    name: str\n")
    commit("user")
    product = "class Product:\n    seller: User\n"
    script = [plan(step("1", files=["shop/product.py"])), write("shop/product.py", product), say("Added Product.")]
    with ollama(*script, *script) as server:
        env = server.env("ollama")
        assert bench.run("evercontext", "run", "--task", "refer to User, add Product", **env).code == 0
        (bench.project / "shop/user.py").rename(bench.project / "shop/customer.py")
        commit("rename")
        assert bench.run("evercontext", "run", "--task", "refer to User, add Product", **env).code == 0
    before, after = ([each["path"] for each in event["evidence"]] for event in bench.trace() if event["type"] == "plan")
    assert "shop/user.py" in before
    assert "shop/customer.py" in after and "shop/user.py" not in after
    assert "class User" in server.turns[3].json["messages"][0]["content"]


def test_f4_a_failing_pytest_is_repaired_in_one_step(bench):
    configure(
        bench, checks=[f"{sys.executable} -m pytest -q -p no:cacheprovider"], sandbox_read=[sys.prefix, sys.base_prefix]
    )
    bench.write("test_clock.py", "import clock\n\n\ndef test_now():\n    assert clock.now().year > 2000\n")
    broken = "def now():\n    return datetime.now()\n"
    script = [
        plan(step("1", files=["clock.py"])),
        write("clock.py", broken),
        say("Written."),
        write("clock.py", "from datetime import datetime\n\n\n" + broken, "overwrite"),
        say("The import was missing."),
    ]
    with ollama(*script) as server:
        ran = bench.run("evercontext", "run", "--task", "a clock", "--json", **server.env("ollama"))
    assert (ran.code, ran.json["verified"], ran.json["repairs"]) == (0, True, 1), ran.out + ran.err
    report = server.turns[3].json["messages"][-1]["content"]
    assert "clock.py:2" in report and "NameError: name 'datetime' is not defined" in report


def test_a_check_that_a_layer_hides_is_named_with_the_command_that_shows_it(bench):
    tool = bench.home / "pythons" / "3" / "bin" / "python3"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\nexit 0\n")
    tool.chmod(0o755)
    (bench.project / ".venv" / "bin").mkdir(parents=True)
    (bench.project / ".venv" / "bin" / "python").symlink_to(tool)
    configure(bench, checks=[".venv/bin/python -m pytest"])
    with ollama(plan(step("1")), say("Done.")) as server:
        ran = bench.run("evercontext", "run", "--task", "x", NEBULA_LANG="ja", **server.env("ollama"))
    assert ran.code == 1
    assert """nebula config set sandbox_read '["~/pythons/3"]'""" in ran.err


# One id through all of it


@contextmanager
def serving(bench, *words: str, **env: str) -> Iterator[str]:
    with subprocess.Popen(
        bench.argv("evercontext", *words, "--port", "0"), env=bench.env(**env), stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def audited(path: Path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_one_trace_id_from_the_command_through_gateway_and_index(bench, tmp_path):
    served = tmp_path / "served"
    served.mkdir()
    (served / "user.py").write_text("class User:\n    name: str\n")
    logs = {name: tmp_path / f"{name}.jsonl" for name in ("gateway", "rag")}
    script = [
        plan(step("1", files=["product.py"])),
        hermes(Turn("I look for it.", [Call("search_code", {"query": "User"})])),
        write("product.py", "class Product: ...\n"),
        say("Added."),
    ]
    with (
        serving(bench, "gateway", "--root", str(served), EC_AUDIT_LOG=str(logs["gateway"])) as gateway,
        serving(bench, "rag", "--root", str(served), EC_AUDIT_LOG=str(logs["rag"])) as rag,
        ollama(*script) as server,
    ):
        env = {"EC_MCP_URL": gateway, "EC_RAG_URL": rag, **server.env("ollama")}
        ran = bench.run("evercontext", "run", "--task", "refer to User, add Product", "--json", **env)
    assert ran.code == 0, ran.err
    assert (served / "product.py").read_text() == "class Product: ...\n"
    assert not (bench.project / "product.py").exists()
    trace_id = ran.json["trace_id"]
    assert {event["trace_id"] for event in bench.trace()} == {trace_id}
    files, searches = ([line for line in audited(log) if line["trace_id"] == trace_id] for log in logs.values())
    assert ("write_file", "product.py", 200) in {(line["method"], line["path"], line["status"]) for line in files}
    assert [line["method"] for line in searches].count("search") == 2  # for the plan, and by the executor
    planned = next(event for event in bench.trace() if event["type"] == "plan")
    assert planned["evidence"][0]["path"] == "user.py"


def test_a_refusal_by_a_remote_gateway_is_exit_code_2(bench, tmp_path):
    served = tmp_path / "served"
    served.mkdir()
    with (
        serving(bench, "gateway", "--root", str(served)) as gateway,
        ollama(plan(step("1")), write("evil.exe", "x"), say("It was refused.")) as server,
    ):
        ran = bench.run("evercontext", "run", "--task", "x", EC_MCP_URL=gateway, **server.env("ollama"))
    assert ran.code == 2
    assert list(served.glob("*.exe")) == []


def test_a_task_behind_a_gateway_is_rolled_back_there(bench, tmp_path):
    served = tmp_path / "served"
    served.mkdir()
    (served / "old.py").write_text("old\n")
    reads = hermes(Turn("I look.", [Call("read_file", {"path": "old.py"})]))
    fails = step("2", tool="read_file", parameters={"path": "missing.py"})
    script = [
        plan(step("1"), fails),
        write("new.py", "x\n"),
        reads,
        write("old.py", "new\n", "overwrite"),
        say("Done."),
    ]
    log = tmp_path / "gateway.jsonl"
    with (
        serving(bench, "gateway", "--root", str(served), EC_AUDIT_LOG=str(log)) as gateway,
        ollama(*script) as server,
    ):
        env = {"EC_MCP_URL": gateway, **server.env("ollama")}
        ran = bench.run("evercontext", "run", "--task", "x", "--rollback", "--json", **env)
    assert (ran.code, ran.json["rolled_back"], ran.json["files_changed"]) == (1, True, []), ran.err
    assert [(each.name, each.read_text()) for each in served.glob("*.py")] == [("old.py", "old\n")]
    done = [(line["method"], line["status"]) for line in audited(log) if line["trace_id"] == ran.json["trace_id"]]
    assert done.count(("write_file", 200)) == 2 and done[-1] == ("roll_back", 200)


def test_a_gateway_that_is_not_there_ends_it_before_any_model_is_asked(bench):
    with ollama(plan(step("1"))) as server:
        env = {"EC_MCP_URL": "http://127.0.0.1:9", **server.env("ollama")}
        ran = bench.run("evercontext", "run", "--task", "x", **env)
    assert ran.code == 1 and "Traceback" not in ran.err and "127.0.0.1:9" in ran.err
    assert server.turns == []


# Interrupted and killed


def test_ctrl_c_while_a_failure_is_repaired_ends_the_task(bench):
    configure(bench, checks=["exit 1"])
    with ollama(plan(step("1")), say("Done."), Turn("", fault=Fault.stall(0))) as server:
        process = bench.start("evercontext", "run", "--task", "x", "--json", **server.env("ollama"))
        server.wait_until(lambda: len(server.turns) == 3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, json.loads(out)["status"]) == (130, "interrupted")


def test_ctrl_c_ends_the_task_properly_and_it_can_be_resumed(bench):
    waits = Turn("", fault=Fault.stall(0))
    with ollama(plan(step("1"), step("2")), write("a.py", "a\n"), say("One."), waits, say("Two.")) as server:
        process = bench.start("evercontext", "run", "--task", "x", "--json", **server.env("ollama"))
        server.wait_until(lambda: len(server.turns) == 4)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        final = json.loads(out)
        assert (process.returncode, final["status"]) == (130, "interrupted")
        assert [each["state"] for each in final["steps"]] == ["done", "failed"]
        resumed = bench.run("evercontext", "run", "--resume-plan", "--json", **server.env("ollama"))
    assert resumed.code == 0
    assert [each["state"] for each in resumed.json["steps"]] == ["done", "done"]


PARTS = range(4)
KILLS = 50


def two_versions(request):
    """Whatever was there: every step writes its file, then a second version of it."""
    messages = request.json["messages"]
    task = next(message["content"] for message in messages if message["role"] == "user")
    if messages[0]["content"].startswith("You are the planner"):
        names = [f"{task.split()[-1]}/part{number}/file.py" for number in PARTS]
        return plan(*(step(str(number), f"Write {name}", files=[name]) for number, name in enumerate(names)))
    said = sum(message["role"] == "assistant" for message in messages)
    if said == 2:
        return say("Written.")
    content = f"version = {said + 1}\n" * 50
    return write(task.removeprefix("Write "), content, "create" if said == 0 else "overwrite")


def is_explained(root: Path, path: Path, changes) -> bool:
    name = str(path.relative_to(root))
    states = {state for change in changes if change.path == name for state in (change.before, change.after)}
    return sha256(path.read_bytes()).hexdigest() in states


def look(root: Path) -> None:
    """All that is there is known to the journal, whole, and can be taken back."""
    with open_workspace(str(root)) as files:
        changes = files.history.changes()
        found = [path for path in root.rglob("*") if path.is_file() and ".nebula" not in path.relative_to(root).parts]
        assert [str(path) for path in found if not is_explained(root, path, changes)] == []
        if changes:
            assert files.history.plan_undo().conflicts == ()


def test_killed_fifty_times_the_journal_explains_the_tree_and_a_last_run_finishes(bench):
    with ScriptedModel(two_versions, **HERMES) as server:
        ends = killed_again_and_again(bench, server.env("ollama"))
        assert (ends[0], ends.count(-9), {*ends} - {0, -9}) == (0, KILLS, set())
        last = bench.run("evercontext", "run", "--task", "write the set9", **server.env("ollama"))
    assert last.code == 0, last.err
    look(bench.project)
    assert [bench.read(f"set9/part{number}/file.py") for number in PARTS] == ["version = 2\n" * 50] * len(PARTS)
    assert sorted(os.listdir(bench.project / "set9" / "part0")) == ["file.py"]
    assert bench.trace()[-1]["type"] == "final"


def killed_again_and_again(bench, env) -> list[int]:
    words = [sys.executable, str(HERE / "kill_evercontext.py"), str(KILLS), "11", "--"]
    argv = ["run", "--task", "write the set{round}", "--root", str(bench.project)]
    ends = []
    with subprocess.Popen(
        [*words, *argv],
        env=bench.env(**env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as killer:
        assert killer.stdin is not None and killer.stdout is not None
        while line := killer.stdout.readline():
            ends.append(int(line.split()[1]))
            look(bench.project)
            killer.stdin.write("\n")
            killer.stdin.flush()
    return ends
