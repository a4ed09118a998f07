"""The table of operations: every entry of the palette, key, command and call that it names is there, and the undo is one step."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

import vizprompt
from nebula.graph.graph import Graph
from nebula.value import replace

ROOT = Path(__file__).parents[2]
WEB = ROOT / "src/nebula/web"
PAGES = {"en": ROOT / "docs/reference/operations.md", "ja": ROOT / "docs/reference/operations.ja.md"}
KEYS = "\n".join(path.read_text("utf-8") for path in WEB.rglob("keys.js"))


def rows_of(lang: str) -> list[list[str]]:
    lines = re.findall(r"^\| (.*) \|$", PAGES[lang].read_text("utf-8"), re.MULTILINE)
    return [line.split(" | ") for line in lines[1:]]


def codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def words_of(lang: str) -> dict[str, str]:
    """Return the names of the palette's commands by what they are called in a language."""
    texts = (path.read_text("utf-8") for path in (WEB / "lib/words").glob(f"{lang}*.js"))
    return {words: name for text in texts for name, words in re.findall(r'^  cmd_(\w+): "(.*)",$', text, re.MULTILINE)}


def keys_of(name: str) -> list[str]:
    """Return the keys of a command, as a person reads them: a capital letter under Ctrl is one with Shift."""
    [found] = re.findall(rf'name: "{name}",\s+keys: \[([^\]]*)\]', KEYS)
    keys = re.findall(r'"([^"]+)"', found)
    return [re.sub(r"^Ctrl\+([A-Z])$", r"Ctrl+Shift+\1", key) if key.startswith("Ctrl") else key for key in keys]


@pytest.mark.parametrize("lang", PAGES)
def test_the_palette_has_what_the_page_is_said_to_have(lang: str) -> None:
    known = words_of(lang)
    for row in rows_of(lang):
        entries = re.findall(r"(?<!`)\*([^*`]+)\*(?: `([^`]+)`)?", row[1])
        assert entries, row
        for words, key in entries:
            assert words in known, words
            upper = [each.upper() if each.startswith("Ctrl") else each for each in keys_of(known[words])]
            assert not key or (key.upper() if key.startswith("Ctrl") else key) in upper, (words, key)


def test_every_command_can_be_typed_so() -> None:
    sys.path.insert(0, str(ROOT / "scripts/reference"))
    try:
        from commands import find_parser
    finally:
        sys.path.pop(0)
    for row in rows_of("en"):
        for command in codes(row[2]):
            program, *typed = command.split()
            words = list(takewhile(str.islower, typed))
            parser = find_parser(program, words)
            _, unknown = parser.parse_known_args(typed[len(words) :])
            assert not unknown, command


def test_every_call_is_there() -> None:
    for row in rows_of("en"):
        assert codes(row[3]), row
        for name in codes(row[3]):
            assert callable(getattr(vizprompt, name, None) or getattr(Graph, name)), name


class Place:
    """one → two → three, one → side; `apart` in no flow; `other` is an empty flow."""

    def __init__(self, folder: Path) -> None:
        self.graph = Graph(folder)
        self.one = self.graph.create_node("one", "r", tags=["bug"]).id
        self.two = self.graph.create_node("two", "r", parents=[self.one]).id
        self.three = self.graph.create_node("three", "r", parents=[self.two]).id
        self.side = self.graph.create_node("side", "r", parents=[self.one]).id
        self.apart = self.graph.create_node("apart", "r", flow=self.graph.create_flow("old").id).id
        self.graph.delete_flow("old")
        self.graph.create_flow("other")

    def state(self) -> tuple[Any, ...]:
        flows = sorted((replace(flow, updated="") for flow in self.graph.list_flows()), key=lambda flow: flow.name)
        return flows, sorted(self.graph.list_nodes(), key=lambda node: node.id)


CALLS: dict[str, Callable[[Place], object]] = {
    "update_node": lambda p: p.graph.update_node(
        p.two, prompt="b", response="c", summary="d", tags=["e"], pinned=True, note="f"
    ),
    "rename_tag": lambda p: p.graph.rename_tag("bug", "defect"),
    "connect_nodes": lambda p: p.graph.connect_nodes(p.side, p.three),
    "disconnect_nodes": lambda p: p.graph.disconnect_nodes(p.one, p.two),
    "name_branch": lambda p: p.graph.name_branch(p.one, p.side, "another way"),
    "move_branch": lambda p: p.graph.move_branch(p.two, "other"),
    "nest_branch": lambda p: p.graph.nest_branch(p.two, "track"),
    "link_flow": lambda p: p.graph.link_flow(p.two, "other"),
    "delete_node": lambda p: p.graph.delete_node(p.two),
    "delete_nodes": lambda p: p.graph.delete_nodes([p.two, p.side]),
    "delete_branch": lambda p: p.graph.delete_branch(p.two),
    "create_flow": lambda p: p.graph.create_flow("new"),
    "update_flow": lambda p: p.graph.update_flow("main", name="first", archived=True),
    "delete_flow": lambda p: p.graph.delete_flow("main"),
    "add_node_to_flow": lambda p: p.graph.add_node_to_flow("main", p.apart),
}


def test_every_call_that_is_one_step_is_tried() -> None:
    assert {name for row in rows_of("en") if row[4] == "one step" for name in codes(row[3])} == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_a_program_takes_a_call_back_as_the_page_says(name: str, tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.graph:
        before = place.state()
        with place.graph.recording() as inverses:
            CALLS[name](place)
        assert place.state() != before
        assert inverses
        for inverse in reversed(inverses):
            place.graph.apply(inverse)
        assert place.state() == before


def test_a_branch_is_shared_in_three_forms(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.graph:
        page = vizprompt.export_part(place.graph, place.three, branch=True)
        assert page.startswith("<!doctype html>") and "three" in page and "side" not in page
        assert "three" in vizprompt.export_part(place.graph, "main", form="markdown")
        assert '"format": "nebula-export/1"' in vizprompt.export_part(place.graph, place.two, form="json")
        key = "sk-" + "a1B2" * 12
        place.graph.update_node(place.two, prompt=f"my key is {key}")
        assert key not in vizprompt.export_part(place.graph, place.two)
        with pytest.raises(vizprompt.BadRequest):
            vizprompt.export_part(place.graph, "main", form="pdf")
