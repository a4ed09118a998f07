"""The system prompt: a template a person can replace, and facts that are true now."""

import os
import subprocess

import pytest

from nebula.agent.project_context import MAX_INSTRUCTIONS_BYTES, gather_project_context
from nebula.agent.system_prompt import system_prompt, template
from nebula.workspace import open_workspace


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


def test_the_nearest_instructions_win(tmp_path):
    git(tmp_path, "init")
    inner = tmp_path / "packages/one"
    inner.mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text("outer rules", encoding="utf-8")
    assert "outer rules" in system_prompt("plan", facts_of(inner))
    (inner / "CLAUDE.md").write_text("inner rules", encoding="utf-8")
    prompt = system_prompt("plan", facts_of(inner))
    assert "inner rules" in prompt
    assert "outer rules" not in prompt


def test_instructions_above_the_repository_are_not_read(tmp_path):
    (tmp_path / "AGENTS.md").write_text("somebody else's", encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    assert "somebody else's" not in system_prompt("agent", facts_of(project))


def test_instructions_are_capped_and_hidden_characters_are_gone(tmp_path):
    (tmp_path / "AGENTS.md").write_text("be kind\U000e0041" + "長" * MAX_INSTRUCTIONS_BYTES, encoding="utf-8")
    facts = facts_of(tmp_path)
    assert facts.instructions.startswith("be kind長")
    assert len(facts.instructions.encode()) < MAX_INSTRUCTIONS_BYTES + 100
    assert "cut at" in facts.instructions


@pytest.mark.timeout(10)
def test_instructions_that_are_a_link_or_a_pipe_are_left_alone(tmp_path):
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    (tmp_path / "AGENTS.md").symlink_to("secret")
    assert facts_of(tmp_path).instructions == ""
    (tmp_path / "AGENTS.md").unlink()
    os.mkfifo(tmp_path / "AGENTS.md")
    assert facts_of(tmp_path).instructions == ""


def test_an_empty_project_makes_the_agent_ask_first(tmp_path):
    assert "folder is empty" in system_prompt("agent", facts_of(tmp_path))
    assert "folder is empty" not in system_prompt("plan", facts_of(tmp_path))
    (tmp_path / "a").write_text("", encoding="utf-8")
    assert "folder is empty" not in system_prompt("agent", facts_of(tmp_path))


def test_a_prompt_of_ones_own_takes_the_place_of_ours(tmp_path):
    (tmp_path / "home/prompts").mkdir(parents=True)
    (tmp_path / "home/prompts/agent.md").write_text("You are a pirate.", encoding="utf-8")
    assert template("agent", str(tmp_path / "home")) == "You are a pirate."
    assert "plan mode" in template("plan", str(tmp_path / "home"))


def test_the_language_of_the_user_and_an_accepted_plan(tmp_path):
    facts = facts_of(tmp_path)
    assert "in Japanese." in system_prompt("agent", facts, lang="ja")
    assert "1. do this" in system_prompt("agent", facts, plan="1. do this")
