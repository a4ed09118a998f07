"""Hooks of the user: they hear of moments as JSON, run in a layer, and can only make things stricter."""

import json
from pathlib import Path

import pytest

from in_process import run_here
from nebula.config import load_settings
from scripted_model import Call, ScriptedModel, Turn

WRITE = Turn("", [Call("writeFile", {"path": "a.txt", "content": "hello\n"})])


@pytest.fixture
def hook(bench):
    def put(**hooks):
        place = bench.home / ".nebula/config.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps({"hooks": hooks}))

    return put


def ask(bench, *replies, flags=("--yes",)):
    with ScriptedModel([*replies, Turn("done")]) as server:
        ran = run_here(bench, "nebula", "-p", "hi", *flags, **server.env())
    return ran, [json.dumps(turn.json) for turn in server.turns]


def test_before_write_refuses_with_its_output_as_the_reason(bench, hook):
    hook(before_write=['grep -q \'"path": "a.txt"\' && { echo not this file; exit 3; }'])
    ran, bodies = ask(bench, WRITE)
    assert ran.code == 2 and not (bench.project / "a.txt").exists() and "not this file" in bodies[1]
    assert "Your hook before_write refused it: not this file" in ran.err


def test_before_write_that_agrees_lets_it_through_and_changes_nothing(bench, hook):
    hook(before_write=["cat > seen.json; grep -q hello seen.json"])
    ran, _ = ask(bench, WRITE)
    assert ran.code == 0 and bench.read("a.txt") == "hello\n" and not (bench.project / "seen.json").exists()


@pytest.mark.parametrize(
    "command", ["/no/such/program", pytest.param("sleep 60", marks=pytest.mark.slow), "kill -9 $$"]
)
def test_before_write_that_cannot_judge_refuses(bench, hook, command, monkeypatch):
    monkeypatch.setattr("nebula.agent.hooks.LIMIT_S", 1.0)
    hook(before_write=[command])
    ran, _ = ask(bench, WRITE)
    assert ran.code == 2 and not (bench.project / "a.txt").exists()


def test_before_write_judges_what_a_command_changed(bench, hook):
    hook(before_write=["grep -q made.txt && exit 1 || exit 0"])
    ran, bodies = ask(bench, Turn("", [Call("runCommand", {"command": "echo x > made.txt"})]))
    assert not (bench.project / "made.txt").exists() and ran.code == 2, bodies


def test_a_hook_allows_nothing(bench, hook):
    hook(before_write=["exit 0"])
    ran, _ = ask(bench, WRITE, flags=())
    assert ran.code == 2 and not (bench.project / "a.txt").exists()


def test_the_moments_of_a_turn(bench, hook, tmp_path):
    out = tmp_path / "heard"
    hook(turn_end=[f"cat >> {out}"], turn_start=[f"cat > {out}.start"], after_write=["exit 4"])
    ran, _ = ask(bench, WRITE)
    told = json.loads(out.read_text())
    assert (told["event"], told["status"], told["files_changed"]) == ("turn_end", "ok", ["a.txt"])
    assert not (tmp_path / "heard.start").exists()  # in a layer nothing stays
    assert "after_write hook" in ran.err


def test_a_hook_that_outlasts_the_turn_leaves_no_process_behind(bench, hook):
    others = children()
    hook(turn_start=["sleep 0.3"])
    ran, _ = ask(bench)
    assert ran.code == 0 and children() <= others


def test_a_project_may_have_none(bench):
    bench.write(".nebula/config.json", json.dumps({"hooks": {"turn_end": ["touch pwned"]}}))
    ran, _ = ask(bench, flags=("--trust",))
    assert ran.code == 0 and not (bench.project / "pwned").exists() and "not for a project to set" in ran.err


@pytest.mark.parametrize("wrong", [[], "x", {"before_write": "cmd"}, {"never": ["x"]}, {"before_write": ["notify"]}])
def test_a_wrong_value_costs_a_remark(bench, wrong):
    place = bench.home / ".nebula/config.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps({"hooks": wrong}))
    ran, _ = ask(bench)
    assert ran.code == 0 and "hooks" in ran.err


def test_what_is_right_beside_what_is_wrong_counts(bench, hook):
    hook(before_write=[3, "exit 1"], waiting=["notify"])
    settings = load_settings(str(bench.project), {"NEBULA_HOME": str(bench.home / ".nebula")})
    assert dict(settings.hooks) == {"before_write": ("exit 1",), "waiting": ("notify",)} and len(settings.remarks) == 1


def children() -> set[str]:
    """Processes that any thread of ours started and that have not ended."""
    return {pid for each in Path("/proc/self/task").glob("*/children") for pid in each.read_text("ascii").split()}
