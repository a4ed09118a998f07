"""nebula config: what is set, who set it, and changing one's own file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Bench
from in_process import run_here


def users_file(bench: Bench) -> Path:
    folder = bench.home / ".nebula"
    folder.mkdir(exist_ok=True)
    return folder / "config.json"


def test_every_setting_is_listed_with_the_layer_that_won(bench: Bench) -> None:
    users_file(bench).write_text('{"max_rounds": 7, "lang": "en"}')
    (bench.project / ".nebula").mkdir()
    (bench.project / ".nebula" / "config.json").write_text('{"max_rounds": 9}')
    listed = run_here(bench, "nebula", "config", "--json", NEBULA_MODEL="m").json
    assert listed["max_rounds"] == {"value": 9, "origin": str(bench.project / ".nebula" / "config.json")}
    assert listed["lang"]["origin"] == "~/.nebula/config.json"
    assert listed["model"] == {"value": "m", "origin": "environment"}
    assert listed["command_processes"] == {"value": 512, "origin": "default"}
    shown = run_here(bench, "nebula", "config").out
    assert any(line.split()[:2] == ["max_rounds", "9"] for line in shown.splitlines())


def test_a_key_is_never_shown(bench: Bench) -> None:
    ran = run_here(bench, "nebula", "config", "--json", OPENAI_API_KEY="sk-very-secret")
    assert ran.json["openai_api_key"] == {"value": "(set)", "origin": "environment"}
    assert "sk-very-secret" not in ran.out + run_here(bench, "nebula", "config", OPENAI_API_KEY="sk-very-secret").out


@pytest.mark.parametrize(
    ("key", "text", "kept"),
    [
        ("lang", "ja", "ja"),
        ("max_rounds", "12", 12),
        ("auto_summary", "true", True),
        ("check_timeout_s", "1.5", 1.5),
        ("model", "123", "123"),
        ("sandbox_read", "~/a, ~/b", ["~/a", "~/b"]),
        ("sandbox_read", '["~/a,b"]', ["~/a,b"]),
    ],
)
def test_set_keeps_what_was_meant_and_unset_takes_it_back(bench: Bench, key: str, text: str, kept: object) -> None:
    users_file(bench).write_text('{"curtain": "paths"}')
    assert run_here(bench, "nebula", "config", "set", key, text).code == 0
    assert json.loads(users_file(bench).read_text()) == {"curtain": "paths", key: kept}
    assert run_here(bench, "nebula", "config", "unset", key).code == 0
    assert json.loads(users_file(bench).read_text()) == {"curtain": "paths"}


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("set", "max_rounds", "none"), "expected a whole number"),
        (("set", "openai_api_key", "sk-x"), "never kept in a file; set it by OPENAI_API_KEY"),
        (("get", "colour"), "there is no setting 'colour'"),
        (("get",), "nebula config get KEY"),
        (("set", "lang"), "nebula config set KEY VALUE"),
        (("path", "x"), "nebula config path"),
    ],
)
def test_a_mistake_changes_nothing_and_is_one_line(bench: Bench, words: tuple[str, ...], hint: str) -> None:
    ran = run_here(bench, "nebula", "config", *words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (64, "", 1)
    assert hint in ran.err and not users_file(bench).exists()


def test_get_and_path_print_just_that(bench: Bench) -> None:
    assert run_here(bench, "nebula", "config", "get", "max_rounds").out == "100\n"
    assert run_here(bench, "nebula", "config", "path").out == f"{users_file(bench)}\n"


def test_what_get_prints_can_be_set(bench: Bench) -> None:
    assert run_here(bench, "nebula", "config", "get", "backstage").out == "false\n"
    assert run_here(bench, "nebula", "config", "set", "backstage", "true").code == 0
    assert run_here(bench, "nebula", "config", "get", "backstage").out == "true\n"


def test_a_folder_that_is_not_trusted_is_not_shown_as_trusted(bench: Bench) -> None:
    folders = {"/one": "sha256:1", "/two": "declined sha256:2"}
    assert run_here(bench, "nebula", "config", "set", "trusted_folders", json.dumps(folders)).code == 0
    assert run_here(bench, "nebula", "config", "get", "trusted_folders").out == "/one\n"


def test_a_wrong_value_is_put_right_by_the_command_itself(bench: Bench) -> None:
    users_file(bench).write_text('{"model": 3, "lang": "xx", "max_rounds": 7}')
    for words in (("set", "model", "m"), ("unset", "lang"), ("path",)):
        ran = run_here(bench, "nebula", "config", *words)
        assert (ran.code, ran.err) == (0, ""), words
    assert json.loads(users_file(bench).read_text()) == {"model": "m", "max_rounds": 7}
    users_file(bench).write_text("{broken")
    ran = run_here(bench, "nebula", "config", "set", "model", "m")
    assert ran.code == 64 and "line 1, column 2" in ran.err and users_file(bench).read_text() == "{broken"
