"""Names of sessions, and what lists say of one whose last turn failed."""

from __future__ import annotations

import json

from conftest import Bench
from in_process import run_here
from scripted_model import Fault, ScriptedModel, Turn


def test_a_name_is_listed_and_finds_its_session(bench: Bench) -> None:
    with ScriptedModel([Turn("One."), Turn("Two."), Turn("Three."), Turn("Four.")]) as server:
        ran = run_here(bench, "nebula", stdin="first\n/name Parser  work\nexit\n", **server.env())
        assert "nebula --resume 'Parser work'" in ran.out
        run_here(bench, "nebula", stdin="second\nexit\n", **server.env())
        listed = json.loads(run_here(bench, "nebula", "sessions", "--json").out)
        assert [each["name"] for each in listed] == ["", "Parser work"]
        ran = run_here(bench, "nebula", "-p", "more", "--resume", "parser work", **server.env())
        assert ran.code == 0
        ran = run_here(bench, "nebula", stdin="/sessions\n/resume PARSER WORK\n/name\nexit\n", **server.env())
    assert "Parser work · first" in ran.out and "(2 turns so far)" in ran.out
    assert "This session has no name." in ran.out
    assert json.loads(run_here(bench, "nebula", "sessions", "--json").out)[1]["name"] == ""


def test_a_key_in_a_name_is_not_kept_and_an_unknown_one_is_said(bench: Bench) -> None:
    key = "sk-proj-" + "a1B2" * 12
    with ScriptedModel([Turn("One.")]) as server:
        run_here(bench, "nebula", stdin=f"first\n/name {key}\nexit\n", **server.env())
        ran = run_here(bench, "nebula", "-p", "more", "--resume", "no such", **server.env())
    (listed,) = json.loads(run_here(bench, "nebula", "sessions", "--json").out)
    assert listed["name"] and key not in listed["name"]
    assert ran.code == 64 and "no session 'no such'" in ran.err


def test_one_whose_last_turn_failed_is_not_completed(bench: Bench) -> None:
    with ScriptedModel([Turn("One."), Fault.status_code(401)]) as server:
        run_here(bench, "nebula", "-p", "good", **server.env())
        assert run_here(bench, "nebula", "-p", "bad", **server.env()).code == 1
    listed = json.loads(run_here(bench, "nebula", "sessions", "--json").out)
    assert [each["status"] for each in listed] == ["failed", "completed"]
    assert "失敗" in run_here(bench, "nebula", "sessions", NEBULA_LANG="ja").out
