"""A whole session driven by the protocol's TypeScript library, which checks every message against its schema."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import BIN, Bench
from scripted_model import Call, Fault, ScriptedModel, Turn

pytestmark = pytest.mark.slow

EDITOR = Path(__file__).with_name("typescript_editor.mjs")
READ = Call("readFile", {"path": "a.txt"})


def drive(bench: Bench, server: ScriptedModel, *steps: dict[str, Any], **buffers: str) -> dict[str, Any]:
    """Return what came of these steps; `buffers` are unsaved texts by the names of their files."""
    texts = {str(bench.project / name.replace("_", ".")): text for name, text in buffers.items()}
    wanted = {
        "command": [str(BIN / "nebula"), "acp", "--backstage"],
        "cwd": str(bench.project),
        "buffers": texts,
        "steps": [{"do": "initialize"}, *steps],
    }
    node = shutil.which("node") or str(BIN / "node")
    done = subprocess.run(
        [node, str(EDITOR)],
        input=json.dumps(wanted).encode(),
        env=bench.env(**server.env()),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"rror" not in done.stderr, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["code"] == 0
    return found


def said(step: dict[str, Any], kind: str = "agent_message_chunk") -> str:
    return "".join(each["content"]["text"] for each in step["updates"] if each["sessionUpdate"] == kind)


def test_a_whole_session(bench: Bench) -> None:
    path = bench.project / "a.txt"
    old = "".join(f"{number}\n" for number in range(30))
    unsaved = old.replace("7\n", "typed\n", 1)
    path.write_text(old)
    new = unsaved.replace("2\n", "two\n", 1).replace("25\n", "twenty-five\n")
    edit = Call("editFile", {"path": "a.txt", "new_content": new})
    todo = Call("todo", {"items": [{"content": "Edit", "status": "in_progress"}]})
    script = [Turn("I read.", [READ, todo]), Turn("I edit.", [edit]), Turn("Edited."), Turn("Large.")]
    with ScriptedModel(script, models={"openai": ["small", "large"]}) as server:
        found = drive(
            bench,
            server,
            {"do": "open"},
            {"do": "prompt", "text": "edit", "answers": ["hunks", "no", "yes"]},
            {"do": "prompt", "text": "/undo"},
            {"do": "prompt", "text": "/nothing"},
            {"do": "set", "option": "model", "value": "openai/large"},
            {"do": "set", "option": "mode", "value": "plan"},
            {"do": "prompt", "text": "and now?"},
            {"do": "close"},
            {"do": "load"},
            a_txt=unsaved,
        )
        assert server.turns[-1].json["model"] == "large"
        assert "typed" in json.dumps(server.turns[1].json["messages"]), "the unsaved text is what is read"
    started, opened, edited, undone, unknown, model, mode, planned, closed, loaded = found["results"]
    assert started["result"]["agentCapabilities"]["loadSession"] is True
    assert {each["id"] for each in opened["result"]["configOptions"]} == {"mode", "model", "effort"}
    (commands,) = [each["availableCommands"] for each in opened["updates"] if "availableCommands" in each]
    assert {"undo", "fork", "restore", "cost"} <= {each["name"] for each in commands}

    whole, first, _ = edited["questions"]
    (shown,) = [each for each in whole["toolCall"]["content"] if each["type"] == "diff"]
    assert (shown["oldText"], shown["newText"]) == (unsaved, new)
    assert first["toolCall"]["title"].startswith("Take hunk 1 of 2?")
    assert edited["result"]["stopReason"] == "end_turn"
    calls = [each for each in edited["updates"] if each["sessionUpdate"] == "tool_call"]
    kinds = {each["toolCallId"]: each["kind"] for each in calls if not each["toolCallId"].startswith("progress-")}
    assert sorted(kinds.values()) == ["edit", "read", "think"]
    assert [each["entries"][0]["content"] for each in edited["updates"] if each["sessionUpdate"] == "plan"] == ["Edit"]
    assert path.read_text() == unsaved, "undone to what the user had typed"
    assert "Taken back: a.txt" in said(undone)
    assert "There is no command /nothing" in unknown["error"]
    assert {each["id"]: each["currentValue"] for each in mode["result"]["configOptions"]}["mode"] == "plan"
    assert "error" not in model
    assert said(planned).startswith("Large.\n\n```\nType accept") and "error" not in closed
    assert loaded["result"]["modes"]["currentModeId"] == "plan"
    replayed = [each for each in loaded["updates"] if each["sessionUpdate"] == "tool_call"]
    assert [each["kind"] for each in replayed] == ["read", "think", "edit"]
    (diff,) = [each for each in replayed[2]["content"] if each["type"] == "diff"]
    assert "twenty-five" in diff["newText"] and "two\n" not in diff["newText"]
    assert said(loaded, "user_message_chunk") == "editand now?"


def test_what_a_command_changed_is_a_diff_by_file(bench: Bench) -> None:
    bench.write("a.txt", "one\n")
    run = Call("runCommand", {"command": "echo two > a.txt; echo new > b.txt"})
    with ScriptedModel([Turn("I run.", [run]), Turn("Done.")]) as server:
        answers = ["files", "no", "yes"]
        found = drive(bench, server, {"do": "open"}, {"do": "prompt", "text": "run", "answers": answers})
    whole = found["results"][-1]["questions"][0]["toolCall"]
    diffs = [each for each in whole["content"] if each["type"] == "diff"]
    assert {each["path"]: (each.get("oldText"), each["newText"]) for each in diffs} == {
        str(bench.project / "a.txt"): ("one\n", "two\n"),
        str(bench.project / "b.txt"): (None, "new\n"),
    }
    assert [each["path"] for each in whole["locations"]] == [each["path"] for each in diffs]
    assert (bench.read("a.txt"), bench.read("b.txt")) == ("one\n", "new\n"), "file by file"


@pytest.mark.parametrize("moment", range(7))
def test_a_turn_is_cancelled(bench: Bench, moment: int) -> None:
    (bench.project / "a.txt").write_text("one\n")
    edit = Call("editFile", {"path": "a.txt", "new_content": "two\n"})
    script = [Turn("I read.", [READ]), Turn("I edit.", [edit]), Turn("late", fault=Fault.slow(60))]
    with ScriptedModel(script) as server:
        found = drive(bench, server, {"do": "open"}, {"do": "prompt", "text": "edit", "cancelAt": moment})
    assert found["results"][-1]["result"] == {"stopReason": "cancelled"}
    assert (bench.project / "a.txt").read_text() == "one\n", "nobody said yes"
