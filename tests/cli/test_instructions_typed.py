"""/init and `# remember …` at the prompt."""

from __future__ import annotations

import pytest

from conftest import Bench
from in_process import run_here
from scripted_model import Call, ScriptedModel, Turn

ADD = "Add this to AGENTS.md? (y/N):"


def test_a_line_to_remember_is_shown_asked_about_and_told_with_the_next_prompt(bench: Bench) -> None:
    with ScriptedModel([Turn("Yes.")]) as server:
        ran = run_here(bench, "nebula", stdin="# remember use tabs\ny\nwhat holds?\nexit\n", **server.env())
        system = server.turns[-1].json["messages"][0]["content"]
    assert bench.read("AGENTS.md") == "- use tabs\n"
    assert "+- use tabs" in ran.out.split(ADD)[0]
    assert "- use tabs" in system and len(server.turns) == 1


def test_a_no_writes_nothing_and_undo_takes_a_yes_back(bench: Bench) -> None:
    with ScriptedModel([]) as server:
        run_here(bench, "nebula", stdin="# remember use tabs\nn\nexit\n", **server.env())
        assert not (bench.project / "AGENTS.md").exists()
        bench.write("AGENTS.md", "# Rules\n\nBe kind.\n")
        run_here(bench, "nebula", stdin="＃覚えて、タブを使う\nはい\n# Remember: two\ny\nexit\n", **server.env())
        assert bench.read("AGENTS.md") == "# Rules\n\nBe kind.\n\n- タブを使う\n- two\n"
        run_here(bench, "nebula", "-c", stdin="# remember three\ny\n/undo\nexit\n", **server.env())
    assert bench.read("AGENTS.md") == "# Rules\n\nBe kind.\n\n- タブを使う\n- two\n"


@pytest.mark.parametrize("prompt", ["# remembering the past", "#12 is broken", "# Remember", "#tag remember this"])
def test_a_heading_or_a_tag_is_a_prompt(bench: Bench, prompt: str) -> None:
    with ScriptedModel([Turn("Yes.")]) as server:
        ran = run_here(bench, "nebula", stdin=f"{prompt}\nexit\n", **server.env())
        assert len(server.turns) == 1
    assert ADD not in ran.out


def test_init_is_a_turn_that_writes_the_file_with_a_question(bench: Bench) -> None:
    write = Call("writeFile", {"path": "AGENTS.md", "content": "Run make.\n"})
    with ScriptedModel([Turn("I look.", [write]), Turn("Written.")]) as server:
        ran = run_here(bench, "nebula", stdin="/init mind the docs\ny\nexit\n", **server.env())
        asked = server.turns[0].json["messages"][-1]["content"]
    assert bench.read("AGENTS.md") == "Run make.\n"
    assert "AGENTS.md in its top folder" in asked and "mind the docs" in asked
    assert "Create a new file: AGENTS.md" in ran.out


def test_init_in_plan_mode_says_what_to_do(bench: Bench) -> None:
    with ScriptedModel([]) as server:
        ran = run_here(bench, "nebula", stdin="plan\n/init\nexit\n", **server.env())
    assert "switch to agent mode first" in ran.out
