"""Every line of the tour, typed in a new home in both languages: what is printed is what the page shows.

UPDATE_SCREENS=1 writes what is printed into the pages.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import BIN
from scripted_model import Call, ScriptedModel, Turn
from tour_rig import BLOCK, Shell, blank_out, session_screen, shell

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
TOTAL = "def total(prices):\n    return sum(prices)\n"
AVERAGE = TOTAL + "\n\ndef average(prices):\n    return total(prices) / len(prices)\n"
SAFE = AVERAGE.replace("len(prices)", "len(prices) if prices else 0")
TEST = "from shop import average\n\n\ndef test_average():\n    assert average([1, 3]) == 2\n"
READ = Call("readFile", {"path": "shop.py"})
YES = {"en": "Go ahead? (y/N):", "ja": "実行してもよろしいですか？ (y/N):"}
HOW_FAR = re.compile(r"\d+/\d+ .*")
"""What is shown where something takes a second or more: on a busy machine that may be anything."""
WORDS = {
    "en": {
        "page": "tour.md",
        "look": "I look at it first.",
        "does": "`total` adds up the prices that it is given.",
        "adds": "I add `average` beside `total`, and a test for it.",
        "added": "`average` is there, and `test_shop.py` tests it.",
        "wish": "Let average work without prices",
        "mend": "An empty list would divide by zero. I let it return 0.",
        "mended": "`average([])` is 0 now.",
    },
    "ja": {
        "page": "tour.ja.md",
        "look": "まずファイルを見ます。",
        "does": "`total` は渡された価格を合計します。",
        "adds": "`total` の隣に `average` と、そのテストを加えます。",
        "added": "`average` を加え、`test_shop.py` でテストしています。",
        "wish": "価格がなくても average が動くようにして",
        "mend": "空のリストでは 0 で割ってしまいます。0 を返すようにします。",
        "mended": "`average([])` は 0 になりました。",
    },
}


def script(words: dict[str, str]) -> list[Turn]:
    add = [
        Call("editFile", {"path": "shop.py", "new_content": AVERAGE}),
        Call("writeFile", {"path": "test_shop.py", "content": TEST}),
    ]
    return [
        *(Turn(words["look"], [READ]), Turn(words["does"])),
        *(Turn("", [READ]), Turn(words["adds"], add), Turn(words["added"])),
        Turn("", [READ]),
        Turn(words["mend"], [Call("editFile", {"path": "shop.py", "new_content": SAFE})]),
        Turn(words["mended"]),
    ]


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose name is short however the tests are run: where a line is folded depends on it."""
    with tempfile.TemporaryDirectory(prefix="tour", dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_every_line_of_the_tour(lang: str, short_folder: Path) -> None:
    words = WORDS[lang]
    page = DOCS / words["page"]
    text = page.read_text("utf-8")
    (short_folder / "home").mkdir()
    (short_folder / "home/.pyenv").symlink_to(sys.base_prefix)  # commands see the interpreter, as in its user's home
    with ScriptedModel(script(words)) as model:
        env = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(short_folder / "home"), "LANG": "C.UTF-8", **model.env()}
        with shell(short_folder, env | {"NEBULA_LANG": lang}) as opened:
            made = BLOCK.sub(lambda block: carry_out(block[0], opened, lang), text)
    made = made.replace(str(short_folder), "/home/hana")
    if os.environ.get("UPDATE_SCREENS"):
        page.write_text(made, "utf-8")
    assert [blank_out(line) for line in made.splitlines()] == [blank_out(line) for line in text.splitlines()]


def carry_out(block: str, opened: Shell, lang: str) -> str:
    """Return a block with the lines behind each `$` as they are printed now; one without a `$` as it is."""
    commands = re.findall(r"^    \$ (.*)$", block, re.MULTILINE)
    lines: list[str] = []
    for command in commands:
        printed = in_session(opened, lang) if command == "nebula" else in_shell(opened, command)
        lines += [f"$ {command}", *printed]
    return "".join(f"    {line}".rstrip() + "\n" for line in lines).rstrip("\n") + "\n" if commands else block


def in_shell(opened: Shell, command: str) -> list[str]:
    printed, code = opened.run(command)
    assert code == 0, printed
    return [line for line in printed if not HOW_FAR.fullmatch(line)]


def in_session(opened: Shell, lang: str) -> list[str]:
    you, words = "[AGENT] You:", WORDS[lang]
    typed = [(you, words["wish"]), (YES[lang], "y"), (you, "/undo"), (you, "exit")]
    return session_screen(opened.folder, opened.env, typed)
