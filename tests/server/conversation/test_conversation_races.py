"""Races over the socket: several tries of one prompt, heard by their numbers, and what one of them did taken."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from conversation_rig import Failed, serving, talk
from nebula.files.digest import digest
from scripted_model import Call, RecordedRequest, ScriptedModel, Turn


def script(request: RecordedRequest) -> Turn:
    if request.json["model"] == "gpt-4.1-mini":
        return Turn("I like the first.")
    answered = sum(each["role"] == "tool" for each in request.json["messages"])
    if not answered:
        lines = "one\n" + "line\n" * 20 + "last\n"
        return Turn("", [Call("runCommand", {"command": f"printf '{lines}' > b.txt; echo a >> a.txt; echo z > z.txt"})])
    return Turn("Done.")


async def test_a_race_and_taking_parts_of_it(bench):
    bench.write("a.txt", "one\n")
    bench.write("b.txt", "first\n" + "line\n" * 20 + "end\n")
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            for data in ({"tries": 1}, {}, {"tries": 2, "models": ["a", "b"]}, {"tries": 2, "from": ["nothing"]}):
                with pytest.raises(Failed):
                    await client.ask("race", prompt="do it", **data)
            assert model.turns == []
            begun = (await client.ask("race", prompt="do it", tries=2, judge="gpt-4.1-mini"))["data"]
            final = await client.event("final", trace_id=begun["trace_id"])
            tries = final["data"]["tries"]
            assert "try" not in final["data"] and final["data"]["opinion"] == "I like the first."
            assert [each["try"] for each in tries] == [1, 2] and final["data"]["taken"] is None
            assert bench.read("a.txt") == "one\n"
            ids = [each["node_id"] for each in tries]
            compared = (await client.ask("compare_tries", node_ids=ids))["data"]
            assert [each["node_id"] for each in compared["tries"]] == ids
            assert [(each["path"], each["kind"]) for each in compared["files"]] == [
                ("a.txt", "alike"), ("b.txt", "alike"), ("z.txt", "alike"),
            ]  # fmt: skip
            assert compared["files"][0]["rows"] == [[1, [" ", "one"]], [0, ["+", "a"]]]
            for wrong in (ids[:1], [ids[0], "nothing"], ids * 5):
                with pytest.raises(Failed):
                    await client.ask("compare_tries", node_ids=wrong)
            node = tries[1]["node_id"]
            with pytest.raises(Failed):
                await client.ask("take", node_id=node, paths=["nothing.txt"])
            taken = (await client.ask("take", node_id=node, paths=["b.txt"], hunks=[2]))["data"]
            assert (taken["paths"], taken["conflicts"]) == (["b.txt"], [])
            assert bench.read("b.txt") == "first\n" + "line\n" * 20 + "last\n"
            taken = (await client.ask("take", node_id=node))["data"]
            assert (sorted(taken["paths"]), taken["conflicts"]) == (["a.txt", "z.txt"], ["b.txt"])
            assert bench.read("a.txt") == "one\na\n"


DIES = """
import os, sys
from nebula.files.syscalls import Syscalls
from nebula.workspace import open_workspace
from nebula.workspace.contract import PathChange
class Dying(Syscalls):
    def mkdir(self, name, dir_fd, perm):
        os._exit(9) if name == "stop-here" else super().mkdir(name, dir_fd, perm)
changes = [PathChange("half.txt", None, "link:" + sys.argv[2], b"a.txt".__bytes__, None)]
changes += [PathChange("stop-here", None, "folder:755", b"".__bytes__, None)]
open_workspace(sys.argv[1], calls=Dying()).for_turn("another").apply_changes(changes)
"""
"""A process that is gone in the middle of a set."""


async def test_taking_says_what_was_half_applied_before_it_and_is_taken_back(bench):
    bench.write("a.txt", "one\n")
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await client.ask("hello", lang="ja")
            begun = (await client.ask("race", prompt="do it", tries=2))["data"]
            final = await client.event("final", trace_id=begun["trace_id"])
            words = [sys.executable, "-c", DIES, str(bench.project), digest(b"a.txt")]
            assert (await asyncio.to_thread(subprocess.run, words, check=False)).returncode == 9
            assert (bench.project / "half.txt").is_symlink()
            node = final["data"]["tries"][0]["node_id"]
            taken = (await client.ask("take", node_id=node, paths=["z.txt"]))["data"]
            assert taken["remarks"] == ["nebula の終了時、変更が途中まで適用されていました。元に戻しました: half.txt"]
            assert taken["paths"] == ["z.txt"] and not (bench.project / "half.txt").is_symlink()
            assert (await client.ask("take", node_id=node, paths=["a.txt"]))["data"]["remarks"] == []


async def test_cancel_ends_all_tries(bench):
    sleeps = Turn("", [Call("runCommand", {"command": "sleep 60"})])
    with ScriptedModel(lambda _: sleeps) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            begun = (await client.ask("race", prompt="do it", tries=2))["data"]
            steps = [await client.event("step") for _ in range(2)]
            assert {each["data"]["try"] for each in steps} == {1, 2}
            [known] = (await client.ask("hello"))["data"]["races"]
            assert (known["trace_id"], known["trace_ids"]) == (begun["trace_id"], begun["trace_ids"])
            stopped = (await client.ask("cancel", trace_id=begun["trace_ids"][0]))["data"]
            assert stopped["trace_ids"] == begun["trace_ids"][:1]
            first = await client.event("final", trace_id=begun["trace_ids"][0])
            assert first["data"]["status"] == "interrupted" and (await client.ask("hello"))["data"]["races"]
            await client.ask("cancel", trace_id=begun["trace_id"])
            final = await client.event("final", trace_id=begun["trace_id"])
            assert [each["status"] for each in final["data"]["tries"]] == ["interrupted", "interrupted"]


async def test_tries_become_nodes_of_the_flow_they_were_started_in(bench):
    with ScriptedModel(lambda _: Turn("Done.")) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            other = (await client.ask("create_flow", name="other"))["data"]["flow_id"]
            node = (await client.ask("create_node", prompt="hi", response="ho", flow_id=other))["node_id"]
            begun = (await client.ask("race", prompt="do it", tries=2, **{"from": [node]}))["data"]
            await client.event("final", trace_id=begun["trace_id"])
            flow = (await client.ask("get_flow", flow_id=other, compact=True))["data"]
            assert sorted(flow["ids"][1:]) == sorted(begun["trace_ids"]) and len(flow["pairs"]) == 4
