"""What CI runs: the step of the GitHub Action and the GitLab template, and the hook of pre-commit, with a scripted model."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import BIN, Bench
from scripted_model import Call, Fault, ScriptedModel, Turn

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


@pytest.fixture
def commits(bench: Bench) -> Bench:
    """A repository with one commit over another."""
    for content in ("old = 1\n", "new = 2\n"):
        bench.write("app.py", content)
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", content.strip()]):
            who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
            subprocess.run(["git", *who, *words], cwd=bench.project, check=True)
    return bench


def step(bench: Bench, server: ScriptedModel, action: str, **env: str) -> tuple[int, str, str]:
    summary = bench.home / "summary.md"
    whole = bench.env(GITHUB_STEP_SUMMARY=str(summary), NEBULA_ACTION=action, **server.env(), **env)
    whole["PATH"] = f"{BIN}{os.pathsep}{whole['PATH']}"
    done = subprocess.run(
        ["sh", str(ROOT / "ci/step.sh")], cwd=bench.project, env=whole, capture_output=True, text=True, timeout=120
    )
    return done.returncode, summary.read_text(encoding="utf-8") if summary.exists() else "", done.stdout + done.stderr


def test_a_review_is_in_the_summary_and_what_it_says_is_not_live(commits: Bench) -> None:
    with ScriptedModel([Turn("app.py:1 is fine.\n```\n![x](http://example.org/x)")]) as server:
        code, summary, _ = step(commits, server, "review")
        asked = json.dumps(server.turns[0].json)
    assert code == 0 and "-old = 1" in asked and "+new = 2" in asked
    assert "**ok** (exit code 0)" in summary
    assert "````text\napp.py:1 is fine.\n```\n" in summary, "it cannot close its fence"


def test_a_task_writes_and_its_files_are_listed(commits: Bench) -> None:
    write = Call("writeFile", {"path": "made.txt", "content": "x\n"})
    with ScriptedModel([Turn("", [write]), Turn("Made.")]) as server:
        code, summary, said = step(commits, server, "task", NEBULA_TASK="--help me; $(touch owned)")
    assert (code, commits.read("made.txt")) == (0, "x\n"), said
    assert "| `made.txt` | +1 −0 |" in summary
    assert not (commits.project / "owned").exists()


def test_the_exit_code_is_nebulas_own(commits: Bench) -> None:
    outside = Call("writeFile", {"path": "../x.txt", "content": "x"})
    with ScriptedModel([Turn("", [outside]), Turn("I may not.")]) as server:
        code, summary, _ = step(commits, server, "task", NEBULA_TASK="write outside")
    assert code == 2 and "**refused** (exit code 2)" in summary
    with ScriptedModel([Fault("auth")] * 3) as server:
        code, summary, _ = step(commits, server, "review")
    assert code == 1 and "exit code 1" in summary


def test_a_base_that_is_not_there_says_what_to_fetch(commits: Bench) -> None:
    with ScriptedModel([]) as server:
        code, _, said = step(commits, server, "review", NEBULA_BASE="0badcafe")
    assert code == 1 and "fetch-depth: 0" in said


def test_a_batch_has_junit_and_a_table(commits: Bench) -> None:
    plan = {"tasks": [{"id": "1", "tool": "write_file", "parameters": {"path": "b.txt", "content": "b\n"}}]}
    outside = {"tasks": [{"id": "1", "tool": "write_file", "parameters": {"path": "../b.txt", "content": "b\n"}}]}
    lines = [{"id": name, "task": "write b", "plan": each} for name, each in (("one", plan), ("two", outside))]
    commits.write("tasks.jsonl", "".join(json.dumps({**line, "root": "."}) + "\n" for line in lines))
    with ScriptedModel([Turn("Done.")] * 5) as server:
        code, summary, said = step(commits, server, "batch", NEBULA_TASK="tasks.jsonl")
    assert code == 1, said
    assert "**1 ok, 1 failed**" in summary and "| `one` | ok | 0 |" in summary
    refused = next(line for line in summary.splitlines() if "`two`" in line)
    assert "| refused | 2 |" in refused and "The path escapes the root" in refused
    assert "<testsuite" in commits.read("nebula-junit.xml")


def test_the_files_of_ci_name_what_is_there() -> None:
    action: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    steps = action["runs"]["steps"]
    assert not [each for each in steps if "${{" in each.get("run", "")], "a value in a script is a stranger's code"
    assert "ci/step.sh" in steps[-1]["run"] and (ROOT / "ci/step.sh").exists()
    assert {"NEBULA_ACTION", "NEBULA_TASK", "NEBULA_BASE", "NEBULA_CI_MODEL"} == set(steps[-1]["env"])
    gitlab = yaml.safe_load((ROOT / "ci/gitlab.yml").read_text(encoding="utf-8"))
    assert gitlab["nebula-review"]["extends"] == ".nebula" and "step.sh" in gitlab[".nebula"]["script"][0]
    release = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    assert list(release["jobs"]) == ["build", "try", "publish"] and release["permissions"] == {}


def test_the_hook_of_pre_commit_shows_a_review(commits: Bench) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    entry = next(each["entry"] for each in hooks if each["id"] == "nebula-review")
    commits.write("app.py", "newer = 3\n")
    subprocess.run(["git", "add", "-A"], cwd=commits.project, check=True)
    with ScriptedModel([Turn("Looks right.")]) as server:
        env = commits.env(**server.env())
        env["PATH"] = f"{BIN}{os.pathsep}{env['PATH']}"
        done = subprocess.run(shlex.split(entry), cwd=commits.project, env=env, capture_output=True, text=True)
        asked = json.dumps(server.turns[0].json)
    assert (done.returncode, "Looks right." in done.stdout) == (0, True), done.stderr
    assert "+newer = 3" in asked


@pytest.mark.parametrize(
    ("tag", "code", "said"), [("v9.9.9", 1, "CHANGELOG.md has nothing"), ("latest", 64, "is no version")]
)
def test_a_release_needs_a_version_that_the_changelog_has(tmp_path: Path, tag: str, code: int, said: str) -> None:
    done = subprocess.run([ROOT / "scripts/release", tag, tmp_path], capture_output=True, text=True, timeout=60)
    assert done.returncode == code and said in done.stderr
