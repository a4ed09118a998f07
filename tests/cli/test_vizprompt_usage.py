"""Help, mistakes and start-up of vizprompt."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from nebula.cli.vizprompt import COMMANDS
from rows import each_row
from vizprompt_command import Vizprompt


@pytest.fixture
def vizprompt(tmp_path: Path) -> Vizprompt:
    return Vizprompt(tmp_path)


NESTED = [
    *(("flow", word) for word in ("create", "list", "show", "connect", "disconnect", "branch", "rebuild")),
    *(("node", word) for word in ("show", "edit", "delete")),
]


@each_row("words", [(), *((name,) for name in COMMANDS), *NESTED])
def test_every_command_has_help(vizprompt: Vizprompt, words: tuple[str, ...]) -> None:
    ran = vizprompt(*words, "--help")
    assert ran.code == 0 and ran.err == ""
    assert ran.out.startswith(f"usage: {' '.join(('vizprompt', *words))}")
    assert "\x1b" not in ran.out
    if len(words) < 2 and words != ("serve",):
        assert "examples:" in ran.out


@each_row("words", [(), *((name,) for name in COMMANDS), *NESTED])
def test_help_speaks_japanese(vizprompt: Vizprompt, words: tuple[str, ...]) -> None:
    ran = vizprompt(*words, "--help", env={"NEBULA_LANG": "ja"})
    assert ran.code == 0
    about = [line for line in ran.out.splitlines() if line.startswith("  -") and len(line.split()) > 2]
    assert about and all(re.search("[ぁ-んァ-ヶ一-龠]", ran.out[ran.out.index(line) :][:200]) for line in about)


def test_bad_usage_is_64_and_names_what_is_near(vizprompt: Vizprompt) -> None:
    nothing = vizprompt()
    assert (nothing.code, nothing.out) == (64, "") and "create-node" in nothing.err
    typo = vizprompt("serach")
    assert typo.code == 64 and "did you mean 'search'" in typo.err
    option = vizprompt("--colour")
    assert option.code == 64 and option.err.count("\n") == 1
    assert vizprompt("--version").out.startswith("vizprompt ")


@pytest.mark.parametrize("command", ["search", "check", "serve"])
def test_a_file_is_no_data_folder(vizprompt: Vizprompt, tmp_path: Path, command: str) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    ran = vizprompt("--data-dir", str(tmp_path / "file"), command)
    assert (ran.code, ran.out) == (64, "") and "is not a folder" in ran.err


def test_starting_loads_neither_models_nor_servers() -> None:
    code = (
        "import sys; from nebula.cli.vizprompt import main; main(['--version']);"
        "heavy = {'nebula.graph.graph', 'nebula.llm.http.client', 'sqlite3', 'yaml', 'asyncio', 'fastapi', 'pydantic'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
