"""Names of sessions, and what lists say of one whose last turn failed."""

from __future__ import annotations

import json

from conftest import Bench
from in_process import run_here
from scripted_model import Call, Fault, ScriptedModel, Turn


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


def test_one_whose_last_turn_was_refused_is_not_completed(bench: Bench) -> None:
    write = Call("writeFile", {"path": "a.txt", "content": "a\n"})
    with ScriptedModel([Turn("", [write]), Turn("I could not."), Turn("", [write]), Turn("I could not.")]) as server:
        assert run_here(bench, "nebula", "-p", "write it", **server.env()).code == 2
        asked = run_here(bench, "nebula", stdin="write it\nn\nexit\n", **server.env())
    assert not (bench.project / "a.txt").exists() and "I could not." in asked.out
    listed = json.loads(run_here(bench, "nebula", "sessions", "--json").out)
    assert [(each["status"], each["last_words"]) for each in listed] == [("refused", "I could not.")] * 2
    assert "拒否" in run_here(bench, "nebula", "sessions", NEBULA_LANG="ja").out


def test_a_good_turn_after_a_refused_one_makes_it_completed(bench: Bench) -> None:
    write = Call("writeFile", {"path": "a.txt", "content": "a\n"})
    with ScriptedModel([Turn("", [write]), Turn("I could not."), Turn("Then this.")]) as server:
        run_here(bench, "nebula", "-p", "write it", **server.env())
        run_here(bench, "nebula", "-p", "explain it", "-c", **server.env())
        assert [each["content"] for each in server.turns[2].json["messages"] if each["role"] == "assistant"][-1] == (
            "I could not."
        )
    (listed,) = json.loads(run_here(bench, "nebula", "sessions", "--json").out)
    assert listed["status"] == "completed"


def test_one_that_answered_and_could_not_write_has_failed(bench: Bench) -> None:
    (bench.project / "folder").mkdir()
    write = Call("writeFile", {"path": "folder", "content": "a\n"})
    with ScriptedModel([Turn("", [write]), Turn("Done!")]) as server:
        assert run_here(bench, "nebula", "-p", "write it", "--yes", **server.env()).code == 1
    (listed,) = json.loads(run_here(bench, "nebula", "sessions", "--json").out)
    assert (listed["status"], listed["last_words"]) == ("failed", "Done!")
