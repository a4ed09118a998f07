"""The closing line says how many of the places that an answer cites are there."""

from __future__ import annotations

import pytest

from conftest import Bench
from in_process import sit_down_here
from scripted_model import ScriptedModel, Turn
from terminal_driver import CTRL_D, Person


@pytest.mark.parametrize(("lang", "closing"), [("en", "2 of 3 citations hold"), ("ja", "引用 3 件中 2 件が一致")])
def test_the_closing_line_says_how_many_citations_hold(bench: Bench, lang: str, closing: str) -> None:
    bench.write("light.py", "def lighthouse():\n    return beacon()\n")

    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("where is it?")
        screen.wait(closing)
        screen.prompt(times=2)
        screen.send(CTRL_D)

    with ScriptedModel([Turn("See light.py:L1-L2 and light.py:L2; not light.py:L2-L3.")]) as server:
        code, _ = sit_down_here(bench, person, **server.env(), NEBULA_LANG=lang)
    assert code == 0
