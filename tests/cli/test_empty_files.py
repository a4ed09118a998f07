"""A test that needs a key of the repository finds it empty: whoever reads that it failed learns why."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from conftest import Bench
from in_process import run_here
from scripted_model import Call, ScriptedModel, Turn

TOLD = "A command that failed had read files that are empty for it, since they count as secret: testdata/key.pem. "


@pytest.fixture
def repository(bench: Bench) -> Bench:
    bench.write("testdata/key.pem", "a key of tests alone\n")
    for args in (["init", "-q", "-b", "main"], ["add", "-A"]):
        subprocess.run(["git", *args], cwd=bench.project, check=True, capture_output=True)
    bench.write("local.pem", "not in git\n")
    return bench


def ran(bench: Bench, *lines: str, options: tuple[str, ...] = ()) -> tuple[str, list[str]]:
    """Standard error, and what the model was told of each command."""
    script = [*(Turn("", [Call("runCommand", {"command": line})]) for line in lines), Turn("Done.")]
    with ScriptedModel(script) as server:
        printed = run_here(bench, "nebula", "-p", "go", *options, **server.env())
        messages = server.turns[-1].json["messages"]
    told = [json.loads(each["content"]) for each in messages if each["role"] == "tool"]
    return printed.err, [each.get("remark", "") for each in told]


def test_a_failed_command_that_read_an_empty_key_says_so_once(repository: Bench) -> None:
    err, told = ran(repository, "cat testdata/key.pem; exit 3", "test -s testdata/key.pem", "wc local.pem >&2; exit 4")
    assert err.count(TOLD) == 1 and "start with --allow testdata/key.pem" in err
    assert "empty for commands, since they count as secret: testdata/key.pem." in told[0]
    assert told[1] == "", "its size was looked at, and nothing read"
    assert "local.pem" in told[2] and "--allow local.pem" not in err


@pytest.mark.parametrize(
    ("line", "is_told"), [("cat testdata/key.pem", False), ("exit 3", False), ("grep -rq zzz .", True)]
)
def test_neither_success_nor_a_search_is_pointed_out(repository: Bench, line: str, is_told: bool) -> None:
    err, (told,) = ran(repository, line)
    assert TOLD not in err and ("testdata/key.pem" in told) == is_told


def test_what_was_allowed_by_name_is_not_empty(repository: Bench) -> None:
    err, (told,) = ran(repository, "grep tests testdata/key.pem && exit 3", options=("--allow", "testdata/key.pem"))
    assert TOLD not in err and told == ""


def test_a_check_says_so_too_in_japanese(repository: Bench) -> None:
    repository.write(".nebula/config.json", json.dumps({"checks": ["cat testdata/key.pem && false"]}))
    check = Call("runCheck", {"name": "cat testdata/key.pem && false"})
    with ScriptedModel([Turn("", [check]), Turn("Done.")]) as server:
        printed = run_here(repository, "nebula", "-p", "go", "--trust", NEBULA_LANG="ja", **server.env())
        told = server.turns[-1].json["messages"][-1]["content"]
    assert "起動時に次を付けます: --allow testdata/key.pem" in printed.err
    assert "count as secret: testdata/key.pem" in told


ASKED = "A command that failed needs files that it cannot read:"
NEEDS_KEY = '[ "$(cat testdata/key.pem)" ] || exit 3'


def sit_down(bench: Bench, typed: str, *script: Turn, lang: str = "en", **files: str) -> tuple[str, list[Any]]:
    """Sit down, type, and return what was shown and what the model was told of each command."""
    with ScriptedModel(script) as server:
        printed = run_here(
            bench, "nebula", *files.get("options", "").split(), stdin=typed, NEBULA_LANG=lang, **server.env()
        )
        messages = server.turns[-1].json["messages"]
    return printed.out, [json.loads(each["content"]) for each in messages if each["role"] == "tool"]


@pytest.mark.parametrize(
    ("lang", "asked", "allowed"),
    [
        ("en", ASKED, "testdata/key.pem  a secret file that commands may read"),
        (
            "ja",
            "失敗したコマンドは、読めないファイルを必要としています:",
            "testdata/key.pem  コマンドが読んでよい秘密ファイル",
        ),
    ],
)
def test_a_session_asks_by_name_and_a_yes_runs_it_again(repository: Bench, lang: str, asked: str, allowed: str) -> None:
    run = Turn("", [Call("runCommand", {"command": NEEDS_KEY})])
    typed = "go\ny\n/permissions\nn\nagain\n/permissions revoke testdata/key.pem\nonce more\nexit\n"
    shown, told = sit_down(repository, typed, run, Turn("One."), run, Turn("Two."), run, Turn("Three."), lang=lang)
    assert shown.count(asked) == 1 and f"{asked}\n  testdata/key.pem\n" in shown and allowed in shown
    assert [each["exit_code"] for each in told] == [0, 0, 3], "taken back, it is empty again, and nobody is asked twice"


def test_a_no_leaves_it_empty_and_is_not_asked_again(repository: Bench) -> None:
    run = Turn("", [Call("runCommand", {"command": NEEDS_KEY})])
    shown, told = sit_down(repository, "go\nn\nagain\nexit\n", run, Turn("One."), run, Turn("Two."))
    assert shown.count(ASKED) == 1 and [each["exit_code"] for each in told] == [3, 3]


def test_what_such_a_command_says_is_kept_nowhere(repository: Bench) -> None:
    value = "correct-horse-battery"
    repository.write("testdata/key.pem", f"key = {value}\n")
    run = Turn(
        "", [Call("runCommand", {"command": "sed 's/key = /found /' testdata/key.pem; [ -s testdata/key.pem ]"})]
    )
    _, (told,) = sit_down(repository, "go\ny\nexit\n", run, Turn(f"It says {value}."))
    assert value in told["output"]
    kept = [path.read_bytes() for path in (repository.project / ".nebula").rglob("*") if path.is_file()]
    kept += [path.read_bytes() for path in (repository.home / ".nebula").rglob("*") if path.is_file()]
    assert kept and not any(value.encode() in each for each in kept)


def test_what_such_a_command_says_makes_no_ordinary_words_secret(repository: Bench) -> None:
    module = "example.org/some/module/v5/middleware"
    check = f"echo $((6 * 7))-{module}; {NEEDS_KEY}"
    repository.write(".nebula/config.json", json.dumps({"checks": [check]}))
    run = Turn("", [Call("runCheck", {"name": check})])
    shown, (told,) = sit_down(repository, "go\ny\nexit\n", run, Turn(f"All of {module} passes."), options="--trust")
    assert told["passed"] and f"All of {module} passes." in shown
    assert f"42-{module}" in told["output"]
    assert "42-" not in (repository.project / ".nebula/log.txt").read_text("utf-8")


def test_a_check_after_a_change_asks_before_anything_is_repaired(repository: Bench) -> None:
    repository.write(".nebula/config.json", json.dumps({"checks": [NEEDS_KEY], "repair": True}))
    write = Turn("", [Call("writeFile", {"path": "new.txt", "content": "new\n"})])
    shown, _ = sit_down(repository, "go\ny\ny\nexit\n", write, Turn("Written."), options="--trust")
    assert shown.count(ASKED) == 1 and f"verified by {NEEDS_KEY}" in shown
