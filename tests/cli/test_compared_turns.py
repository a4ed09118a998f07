"""/compare: two turns beside each other, by number or id; what their files became is the last of it."""

from __future__ import annotations

import pytest

from conftest import Bench
from in_process import run_here
from scripted_model import Call, ScriptedModel, Turn


def wrote(content: str, answer: str) -> list[Turn]:
    return [Turn("", [Call("writeFile", {"path": f"{content}.txt", "content": f"{content}\n"})]), Turn(answer)]


def compared(bench: Bench, typed: str, lang: str = "en") -> str:
    """Two turns, `make one` and `make two`, each with a file of its own; then what was typed."""
    with ScriptedModel([*wrote("one", "It is one."), *wrote("two", "It is two.")]) as server:
        lines = f"make one\ny\nmake two\ny\n{typed}\nexit\n"
        shown = run_here(bench, "nebula", stdin=lines, NEBULA_LANG=lang, **server.env()).out
    return shown[shown.index(f"You: {typed}\n") :]


@pytest.mark.parametrize(
    ("lang", "typed", "titles"),
    [("en", "/compare 2 1", ("Prompt", "Answer")), ("ja", "/compare 2", ("プロンプト", "回答"))],
)
def test_two_turns_are_shown_by_what_differs(bench: Bench, lang: str, typed: str, titles: tuple[str, str]) -> None:
    shown = compared(bench, typed, lang)
    for title, one, other in zip(titles, ("make one", "It is one."), ("make two", "It is two."), strict=True):
        place = shown.index(f"\n{title}\n")
        assert f"-{one}\n" in shown[place:] and f"+{other}\n" in shown[place:]
    assert "No newline" not in shown
    assert "two.txt (+1 −0)" in shown and "+two\n" in shown and "one.txt" not in shown, "both left it alike"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("/compare 1", "Two turns are compared: /compare NODE NODE, or one with the last."),
        ("/compare 1 2 2", "Two turns are compared: /compare NODE NODE, or one with the last."),
        ("/compare nothing", "no node nothing"),
        ("/compare", "There was no race in this session yet. /compare NODE NODE compares two turns."),
    ],
)
def test_what_cannot_be_compared_is_one_line(bench: Bench, typed: str, said: str) -> None:
    assert said in compared(bench, typed)
