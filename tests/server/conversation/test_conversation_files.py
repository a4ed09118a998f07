"""Files of turns over the socket: what a turn changed, how two differ, and going back with a look first."""

from __future__ import annotations

import os
from multiprocessing import get_context

import pytest

from conversation_rig import Failed, serving, talk
from conversation_rig.in_process import serving_here
from nebula.config import load_settings
from nebula.files.digest import digest
from nebula.files.syscalls import Syscalls
from nebula.graph.graph import Graph
from nebula.server.conversation.app import AGENT_MODES
from nebula.server.conversation.turns.agent import AgentTurns
from nebula.workspace import open_workspace
from nebula.workspace.contract import PathChange
from scripted_model import Call, ScriptedModel, Turn


def write(path, content, tool="writeFile"):
    key = "content" if tool == "writeFile" else "new_content"
    return [Turn("", [Call(tool, {"path": path, key: content})]), Turn(f"{path} is written.")]


SCRIPT = [*write("a.txt", "one\n"), *write("a.txt", "two\n", "editFile"), *write("b.txt", "b\n")]


async def turn(client, prompt, parents):
    await client.ask("send_prompt", prompt=prompt, **({"from": parents}))
    asked = await client.event("approval")
    await client.ask("approve", approval_id=asked["data"]["approval_id"], decision="yes")
    return (await client.event("final"))["data"]["node_id"]


async def test_the_files_of_a_turn_are_looked_at_and_taken(bench):
    with ScriptedModel(SCRIPT) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            first = await turn(client, "one", [])
            second = await turn(client, "two", [first])
            third = await turn(client, "three", [second])
            found = (await client.ask("node_files", node_id=second))["data"]
            assert [(each["path"], each["added"], each["removed"]) for each in found["changed"]] == [("a.txt", 1, 1)]
            assert "-one" in found["changed"][0]["diff"] and "+two" in found["changed"][0]["diff"]
            assert [each["path"] for each in found["back"]] == ["b.txt"]
            both = (await client.ask("compare_files", node_ids=[first, third]))["data"]["files"]
            assert [each["path"] for each in both] == ["a.txt", "b.txt"]
            assert "+two" in both[0]["diff"] and "+b" in both[1]["diff"]
            plan = (await client.ask("node_files", node_id=first))["data"]
            assert [each["path"] for each in plan["back"]] == ["a.txt", "b.txt"]
            taken = await client.ask("take_files", node_id=first, plan=plan["plan"])
            assert taken["data"]["paths"] == ["a.txt", "b.txt"]
            assert bench.read("a.txt") == "one\n" and not (bench.project / "b.txt").exists()
            given = await client.ask("give_files_back", taken=taken["data"]["taken"])
            assert given["data"]["paths"] == ["a.txt", "b.txt"]
            assert bench.read("a.txt") == "two\n" and (bench.project / "b.txt").exists()
            with pytest.raises(Failed, match="nothing to undo"):
                await client.ask("give_files_back", taken=taken["data"]["taken"])


async def test_control_and_secret_files_come_back_only_where_they_are_named(bench):
    script = [*write(".bashrc", "one\n"), *write(".bashrc", "two\n", "editFile"), *write("a.txt", "a\n")]
    with ScriptedModel(script) as model:
        settings = load_settings(str(bench.project), bench.env(**model.env()))
        graph = Graph(bench.project / ".nebula/graph")
        running = serving_here(settings, graph, AgentTurns(settings, graph), AGENT_MODES)
        async with running as server, server.talk() as client:
            first = await turn(client, "one", [])
            await turn(client, "three", [await turn(client, "two", [first])])
            shown = (await client.ask("node_files", node_id=first))["data"]
            why = ".bashrc: controls other programs; the user must allow it by name."
            assert [(each["path"], each.get("protected")) for each in shown["back"]] == [
                (".bashrc", why),
                ("a.txt", None),
            ]
            asked = {"node_id": first, "plan": shown["plan"]}
            taken = (await client.ask("take_files", **asked))["data"]
            assert (taken["paths"], taken["left_out"]) == (["a.txt"], [why])
            assert bench.read(".bashrc") == "two\n" and not (bench.project / "a.txt").exists()
            again = (await client.ask("node_files", node_id=first))["data"]["plan"]
            nothing = (await client.ask("take_files", node_id=first, plan=again))["data"]
            assert (nothing["paths"], nothing["left_out"]) == ([], [why])
            named = await client.ask("take_files", node_id=first, plan=again, named=[".bashrc"])
            assert (named["data"]["paths"], named["data"]["left_out"]) == ([".bashrc"], [])
            assert bench.read(".bashrc") == "one\n"


class Dying(Syscalls):
    """Ends the process in the middle of a set."""

    def mkdir(self, name, dir_fd, perm):
        os._exit(9) if name == "stop-here" else super().mkdir(name, dir_fd, perm)


def die_halfway(root):
    state = f"link:{digest(b'a.txt')}"
    changes = [PathChange("half.txt", None, state, lambda: b"a.txt", None)]
    changes.append(PathChange("stop-here", None, "folder:755", lambda: b"", None))
    open_workspace(root, calls=Dying()).for_turn("another").apply_changes(changes)


def test_a_server_shows_no_files_that_another_left_halfway(bench, caplog):
    settings = load_settings(str(bench.project), bench.env())
    child = get_context("fork").Process(target=die_halfway, args=(str(bench.project),))
    child.start()
    child.join()
    assert child.exitcode == 9 and (bench.project / "half.txt").is_symlink()
    assert AgentTurns(settings, Graph(bench.project / ".nebula/graph")).files is not None
    assert not (bench.project / "half.txt").is_symlink() and "half.txt" in caplog.text


async def test_what_was_not_seen_is_not_taken(bench):
    with ScriptedModel(SCRIPT) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            first = await turn(client, "one", [])
            await turn(client, "two", [first])
            plan = (await client.ask("node_files", node_id=first))["data"]["plan"]
            bench.write("a.txt", "mine\n")
            with pytest.raises(Failed, match="changed since"):
                await client.ask("take_files", node_id=first, plan=plan)
            assert bench.read("a.txt") == "mine\n"


async def test_a_server_without_files_says_so(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            node = (await client.ask("create_node", prompt="p"))["node_id"]
            for action, data in (("node_files", {"node_id": node}), ("compare_files", {"node_ids": [node, node]})):
                with pytest.raises(Failed, match="has no files"):
                    await client.ask(action, **data)
