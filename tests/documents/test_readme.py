"""Every line of the README does what it says, in a new home, in both languages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conftest import BIN
from scripted_model import Call, ScriptedModel, Turn
from tour_rig import shell

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NOT_TYPED = {
    "./scripts/demo": "tests/e2e plays the demo",
    "./scripts/test": "it runs this test",
    "pip install": "it downloads; scripts/setup installs the same package",
    "pipx install": "as above",
    "uv tool install": "as above",
    "export ": "the scripted model stands in for a key",
    "cd ": "the shell is there",
    "nebula": "the tour types a session",
    "nebula serve": "it runs until it is stopped; tests/web opens it",
    "nebula doctor": "it ends with 1 where a provider does not answer, which is so here",
}
CHANGE = Call("writeFile", {"path": "verbose.py", "content": "VERBOSE = True\n"})


def lines_of(page: str) -> list[str]:
    blocks = re.findall(r"^    (\S.*)$", (ROOT / page).read_text("utf-8"), re.MULTILINE)
    return [re.split(r"\s+#", line)[0].strip() for line in blocks]


@pytest.mark.parametrize(("page", "lang"), [("README.md", "en"), ("README.ja.md", "ja")])
def test_every_line_can_be_typed(page: str, lang: str, tmp_path: Path) -> None:
    script = [Turn("It is empty."), Turn("Nothing to say."), Turn("I add it.", [CHANGE]), Turn("Added.")]
    (tmp_path / "home").mkdir()
    project = tmp_path / "project"
    project.mkdir()
    typed = [line for line in lines_of(page) if not any(_is(line, each) for each in NOT_TYPED)]
    assert len(typed) == 3, typed
    with ScriptedModel(script) as model:
        home = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(tmp_path / "home"), "LANG": "C.UTF-8", "NEBULA_LANG": lang}
        with shell(project, home | model.env()) as opened:
            opened.run("git init -q . && echo x > a.txt && git add a.txt")
            ran = [opened.run(line) for line in typed]
    assert [code for _, code in ran] == [0, 0, 0], ran
    final = next(json.loads(line) for line in ran[-1][0] if line.startswith("{"))
    assert final["status"] == "ok" and (project / "verbose.py").exists()


def _is(line: str, beginning: str) -> bool:
    return line == beginning or (line.startswith(beginning) and beginning not in ("nebula", "nebula doctor"))


@pytest.mark.parametrize("page", ["README.md", "README.ja.md"])
def test_it_is_one_screen_and_names_the_two_commands(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert "./scripts/demo" in text and "./scripts/test" in text
    assert len(text.splitlines()) <= 60
    assert [text.count(f"- **{program}**") for program in ("nebula", "evercontext", "vizprompt")] == [1, 1, 1]
