"""before_write judges every write into the project, whoever wants it: a hook here refuses while the door is closed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import httpx2
import pytest
from mcp import Client, StdioServerParameters

from conftest import Bench
from conversation_rig import Failed, serving, talk
from in_process import run_here
from scripted_model import Call, RecordedRequest, ScriptedModel, Turn

pytestmark = pytest.mark.slow
REFUSED = "Your hook before_write refused it: the door is closed"
WRITE = [Turn("", [Call("writeFile", {"path": "a.txt", "content": "one\n"})]), Turn("Written.")]

Close = Callable[[bool], None]


@pytest.fixture
def closed(bench: Bench) -> Close:
    place = bench.home / ".nebula/config.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(
        json.dumps({"hooks": {"before_write": ["grep -q . && test -e open || { echo the door is closed; exit 3; }"]}})
    )

    def close(wanted: bool) -> None:
        if wanted:
            (bench.project / "open").unlink(missing_ok=True)
        else:
            bench.write("open", "")

    close(False)
    return close


def there(bench: Bench, path: str = "a.txt") -> bool:
    return (bench.project / path).exists()


def test_undo_redo_and_what_is_to_be_remembered(bench: Bench, closed: Close) -> None:
    with ScriptedModel(WRITE) as server:
        assert run_here(bench, "nebula", "-p", "go", "--yes", **server.env()).code == 0
        for line, open_after in (("/undo\n", False), ("/redo\n", True), ("/history a.txt 1\n", False)):
            before = there(bench)
            closed(True)
            ran = run_here(bench, "nebula", "-c", stdin=f"{line}exit\n", **server.env())
            assert REFUSED in ran.out and there(bench) is before
            closed(False)
            run_here(bench, "nebula", "-c", stdin=f"{line}exit\n", **server.env())
            assert there(bench) is open_after
        closed(True)
        ran = run_here(bench, "nebula", "-c", stdin="# remember tabs\ny\nexit\n", **server.env())
    assert REFUSED in ran.out and not there(bench, "AGENTS.md")


def test_files_put_back_for_a_prompt_from_a_node(bench: Bench, closed: Close) -> None:
    edit = Call("editFile", {"path": "a.txt", "new_content": "two\n"})
    with ScriptedModel([*WRITE, Turn("", [edit]), Turn("Edited."), Turn("Never asked.")]) as server:
        made = run_here(bench, "nebula", "-p", "go", "--yes", "--output-format", "json", **server.env())
        run_here(bench, "nebula", "-c", "-p", "more", "--yes", **server.env())
        closed(True)
        ran = run_here(bench, "nebula", "-p", "on", "--from", made.json["node_id"], "--with-files", **server.env())
    assert ran.code == 2 and REFUSED in ran.err and bench.read("a.txt") == "two\n"


def test_what_git_ignores_and_git_itself_are_judged_with_a_command(bench: Bench, closed: Close) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=bench.project, check=True)
    bench.write(".gitignore", "*.log\n")
    closed(True)
    line = "echo x > out.log; git commit -q --allow-empty -m x"
    with ScriptedModel([Turn("", [Call("runCommand", {"command": line})]), Turn("Done.")]) as server:
        ran = run_here(bench, "nebula", "-p", "go", "--yes", "--allow", ".git", **server.env())
    assert ran.code == 2 and REFUSED in ran.err and not there(bench, "out.log")
    assert not any((bench.project / ".git/refs/heads").iterdir())


def test_the_hook_is_told_of_every_path_of_a_set(bench: Bench) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=bench.project, check=True)
    bench.write(".gitignore", "*.log\n")
    hook = """grep -q '"path": "out.log", "kind": "created"' && exit 3 || exit 0"""
    (bench.home / ".nebula").mkdir()
    (bench.home / ".nebula/config.json").write_text(json.dumps({"hooks": {"before_write": [hook]}}))
    line = "echo x > out.log; echo y > y.txt"
    with ScriptedModel([Turn("", [Call("runCommand", {"command": line})]), Turn("Done.")]) as server:
        ran = run_here(bench, "nebula", "-p", "go", "--yes", **server.env())
    assert ran.code == 2 and not there(bench, "y.txt") and not there(bench, "out.log")


def test_evercontext_run(bench: Bench, closed: Close) -> None:
    closed(True)
    plan = {"tasks": [{"id": "1", "title": "w", "goal": "write a.txt", "files": ["a.txt"], "depends_on": []}]}
    with ScriptedModel([Turn(json.dumps(plan)), *WRITE]) as server:
        ran = run_here(bench, "evercontext", "run", "--task", "go", **server.env(), EC_MODEL_NAME="openai/gpt-4.1-nano")
    assert ran.code == 2 and not there(bench), ran.err


def test_the_gateway_and_whoever_works_through_it(bench: Bench, closed: Close) -> None:
    server = subprocess.Popen(
        bench.argv("evercontext", "gateway", "--port", "0"),
        cwd=bench.project, env=bench.env(), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdout is not None
    url = server.stdout.readline().strip()
    try:
        closed(True)
        with ScriptedModel(WRITE) as model:
            ran = run_here(bench, "nebula", "-p", "go", "--yes", EC_MCP_URL=url, **model.env())
        assert ran.code == 2 and REFUSED in ran.err and "no layers" not in ran.err and not there(bench)
        body = {"path": "a.txt", "content": "one\n", "mode": "create"}
        refused = httpx2.post(f"{url}/write_file", json=body).json()["error"]
        assert (refused["code"], refused["message"]) == ("refused_by_hook", REFUSED) and not there(bench)
        closed(False)
        assert httpx2.post(f"{url}/write_file", json=body).json()["status"] == "ok"
        assert bench.read("a.txt") == "one\n"
    finally:
        server.terminate()
        server.communicate(timeout=60)


async def test_the_tools_over_mcp(bench: Bench, closed: Close) -> None:
    command, *args = bench.argv("nebula", "mcp", "--root", str(bench.project))
    server = StdioServerParameters(command=command, args=args, env=bench.env())
    async with Client(server) as client:
        closed(True)
        refused = await client.call_tool("writeFile", {"path": "a.txt", "content": "one\n"})
        assert refused.is_error and REFUSED in str(refused.content) and not there(bench)
        closed(False)
        done = await client.call_tool("writeFile", {"path": "a.txt", "content": "one\n"})
        assert not done.is_error and bench.read("a.txt") == "one\n"
        closed(True)
        refused = await client.call_tool("editFile", {"path": "a.txt", "new_content": "two\n"})
        assert refused.is_error and bench.read("a.txt") == "one\n"


async def test_the_files_of_a_turn_on_the_page(bench: Bench, closed: Close) -> None:
    edit = Call("editFile", {"path": "a.txt", "new_content": "two\n"})
    with ScriptedModel([*WRITE, Turn("", [edit]), Turn("Edited.")]) as server:
        ran = bench.run("nebula", "-p", "go", "--yes", "--output-format", "json", **server.env())
        bench.run("nebula", "-c", "-p", "more", "--yes", **server.env())
    first = json.loads(ran.out)["node_id"]
    with serving(bench, "nebula") as page:
        async with talk(page) as client:
            plan = (await client.ask("node_files", node_id=first))["data"]["plan"]
            closed(True)
            with pytest.raises(Failed, match=REFUSED):
                await client.ask("take_files", node_id=first, plan=plan)
            assert bench.read("a.txt") == "two\n"
            closed(False)
            taken = (await client.ask("take_files", node_id=first, plan=plan))["data"]["taken"]
            assert bench.read("a.txt") == "one\n"
            closed(True)
            with pytest.raises(Failed, match=REFUSED):
                await client.ask("give_files_back", taken=taken)
            assert bench.read("a.txt") == "one\n"


def answer(request: RecordedRequest) -> Turn:
    """The same turns for each try, whatever the order in which they ask."""
    return WRITE[sum(message["role"] == "assistant" for message in request.json["messages"])]


def test_taking_a_try(bench: Bench, closed: Close) -> None:
    with ScriptedModel(answer) as server:
        raced = bench.run("nebula", "race", "go", "--tries", "2", "--output-format", "json", **server.env())
        node = json.loads(raced.out)["tries"][0]["node_id"]
        closed(True)
        taken = bench.run("nebula", "take", node, "--yes", **server.env())
        assert taken.code == 2 and REFUSED in taken.err and not there(bench)
        closed(False)
        assert bench.run("nebula", "take", node, "--yes", **server.env()).code == 0
        assert bench.read("a.txt") == "one\n"


async def test_taking_a_try_on_the_page(bench: Bench, closed: Close) -> None:
    with ScriptedModel(answer) as server, serving(bench, "nebula", **server.env()) as page:
        async with talk(page) as client:
            begun = (await client.ask("race", prompt="go", tries=2))["data"]
            tries = (await client.event("final", trace_id=begun["trace_id"]))["data"]["tries"]
            closed(True)
            with pytest.raises(Failed, match=REFUSED):
                await client.ask("take", node_id=tries[0]["node_id"])
    assert not there(bench)
