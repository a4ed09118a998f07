"""The system prompt: a template a person can replace, and facts that are true now."""

import subprocess

from nebula.agent.context.project_context import gather_project_context
from nebula.agent.context.system_prompt import system_prompt, template
from nebula.workspace import open_workspace

PHASES = ("Understand", "Explore", "Plan", "Change", "Report")


def facts_of(root):
    return gather_project_context(open_workspace(str(root), read_only=True), str(root))


def git(root, *args):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *args], cwd=root, check=True, capture_output=True)


def test_the_facts_are_in_the_prompt(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "main.py").write_text("x", encoding="utf-8")
    prompt = system_prompt("agent", facts_of(tmp_path))
    assert "- Mode: agent" in prompt
    assert f"- Project directory: {tmp_path}" in prompt
    assert "main.py  src/" in prompt
    assert "- Date: 20" in prompt


def test_branch_and_status_come_from_git_and_nothing_of_it_runs(tmp_path):
    git(tmp_path, "init", "-b", "trunk")
    (tmp_path / "a.py").write_text("x", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "one")
    assert "- git: trunk (clean)" in system_prompt("agent", facts_of(tmp_path))
    (tmp_path / "a.py").write_text("y", encoding="utf-8")
    witness = tmp_path / "ran"
    git(tmp_path, "config", "core.fsmonitor", f"touch {witness}")
    assert "M a.py" in system_prompt("agent", facts_of(tmp_path))
    assert not witness.exists()


def test_a_project_without_source_makes_the_agent_ask_first(tmp_path):
    asks = "make sure that you know what is wanted"
    assert "folder is empty" in system_prompt("agent", facts_of(tmp_path))
    assert asks in system_prompt("agent", facts_of(tmp_path))
    assert asks not in system_prompt("plan", facts_of(tmp_path))
    for name in ("README.md", "LICENSE", "Agents.MD", ".gitignore", ".editorconfig"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    (tmp_path / ".github").mkdir()
    assert asks in system_prompt("agent", facts_of(tmp_path))
    for name in ("readme", ".config"):
        (tmp_path / name).mkdir()
        assert asks not in system_prompt("agent", facts_of(tmp_path))
        (tmp_path / name).rmdir()
    (tmp_path / "main.py").write_text("", encoding="utf-8")
    assert asks not in system_prompt("agent", facts_of(tmp_path))


def test_the_agent_explores_then_plans_then_writes():
    text = template("agent")
    places = [text.index(f"{number}. {phase}.") for number, phase in enumerate(PHASES, 1)]
    assert places == sorted(places)
    assert "NEVER write" in text[places[1] : places[2]]


def test_a_prompt_of_ones_own_takes_the_place_of_ours(tmp_path):
    (tmp_path / "home/prompts").mkdir(parents=True)
    (tmp_path / "home/prompts/agent.md").write_text("You are a pirate.", encoding="utf-8")
    assert template("agent", str(tmp_path / "home")) == "You are a pirate."
    assert "plan mode" in template("plan", str(tmp_path / "home"))


def test_the_language_of_the_user_and_an_accepted_plan(tmp_path):
    facts = facts_of(tmp_path)
    assert "in Japanese." in system_prompt("agent", facts, lang="ja")
    assert "1. do this" in system_prompt("agent", facts, plan="1. do this")
