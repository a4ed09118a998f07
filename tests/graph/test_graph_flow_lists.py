"""Flow files of another writer, read by pattern: the same as YAML reads them, in a time that a turn can bear."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from nebula.graph.errors import BadFile
from nebula.graph.formats import flow_tree
from nebula.graph.formats.flow_edit import edit
from nebula.graph.formats.flow_yaml import FlowFile, load_flow
from nebula.graph.values import Edge, FlowEntry

HEAD = "name: main\ncreated: '2025-01-01'\nid: abc\nupdated: 2025-01-01\ndescription: ''\n"
ITEMS = [
    "{0}- id: n1\n{0}  index: 1\n",
    "{0}- index: 2  # two\n{0}  id: 'n2'\n",
    "{0}-   id: \"n3\"\n{0}    index: '3'\n",
    "{0}- {{index: 4, id: n4}}\n",
    "{0}- {{ id: n5 , index: 5 }} # five\n",
    "{0}- flow: f6\n{0}  id: n6\n{0}  index: 6\n",
    "{0}- id: n7\n{0}  index: 7\n{0}  flow: f7\n",
    "{0}- id: n8\n{0}  index: 8\n{0}  note: |\n{0}    - id: n9\n{0}      index: 9\n",
    "{0}- index: 1\n{0}  id: twice\n",
    "{0}- n10\n",
    "{0}- id: null\n{0}  index: 11\n",
    "{0}- id: n12\n{0}  # between\n{0}  index: 12\n",
    "{0}- id: n13\n{0}  index: 13\n{0}\n{0}  # after\n{0}  flow: f13\n",
    "{0}- id: n14\n{0}  index: 14\n{0}    more\n",
    "{0}- id: n15\n{0}  index: 15\n{0}  id: again\n",
    '{0}- note: "open\n{0}- id: n16\n{0}  index: 16\n',
    '{0}  closed"\n',
    "{0}- [a, b]\n",
    "{0}- {{index: 17,\n{0}  id: n17}}\n",
    "{0}-\n",
    "# comment\n",
    "\n",
    "{0}# deeper\n",
    "{0}   stray\n",
    "---\n",
    "{0}- id: n18\t\n{0}  index: 18\n",
    "{0}- id: &a n19\n{0}  index: 19\n",
    "{0}- id: *a\n{0}  index: 20\n",
    "{0}- id: n21\r\n{0}  index: 21\r\n",
    "{0}- id: n22 # \u2028 x\n{0}  index: 22\n",
    "{0}- id: n23\n{0}  index: 23\n{0}  note: |+\n{0}    x\n\n\n",
]
EDGES = [
    "{0}- to: 2\n{0}  from: 1\n",
    "{0}- from: 1\n{0}  to: 2\n",
    "{0}- {{from: 2, to: 4}}\n",
    '{0}- branch: "a: b"\n{0}  from: 4\n{0}  to: 5\n',
    "{0}- from: 1\n{0}  to: 99\n",
    "{0}- plain\n",
    "# comment\n",
]
BETWEEN = ["", "# between\n", "other: 1\n", 'description2: "\nnodes:\n"\n', "text: |\n  nodes:\n  - id: x\n\n", "\n"]

pieces = st.tuples(
    st.sampled_from(["", "  ", "    "]),
    st.lists(st.sampled_from(ITEMS), max_size=8),
    st.sampled_from(["", "  "]),
    st.lists(st.sampled_from(EDGES), max_size=5),
    st.lists(st.sampled_from(BETWEEN), min_size=4, max_size=4),
    st.booleans(),
    st.booleans(),
)


def text_of(
    indent: str, nodes: list[str], deeper: str, edges: list[str], between: list[str], turned: bool, cut: bool
) -> str:
    lists = [
        "nodes:" + (" # all\n" if turned else "\n") + "".join(item.format(indent) for item in nodes),
        "connections:\n" + "".join(item.format(deeper) for item in edges),
    ]
    parts = [lists[1], HEAD, lists[0]] if turned else [HEAD, *lists]
    text = "".join(before + part for before, part in zip(between, parts, strict=False)) + between[3]
    return text.removesuffix("\n") if cut else text


def read(text: str) -> FlowFile | str:
    try:
        return flow_tree.read_any_shape(text, "x")
    except BadFile as error:
        return str(error)


def read_as_yaml(text: str) -> FlowFile | str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow_tree, "take_lists", lambda text: None)
        return read(text)


@given(pieces)
@example(("", [ITEMS[0], ITEMS[7], ITEMS[1]], "", [EDGES[0]], ["", "", "", ""], False, False))
@example(("  ", [ITEMS[15], ITEMS[16]], "", [EDGES[0]], ["", "", "", ""], False, False))
@example(("  ", [ITEMS[5], ITEMS[0], ITEMS[15], ITEMS[3], ITEMS[16]], "", [], ["", "", "", ""], False, False))
@example(("  ", [ITEMS[0], ITEMS[26], ITEMS[1], ITEMS[27]], "", [], ["", "", "", ""], False, False))
@example(("  ", [ITEMS[0], ITEMS[30], ITEMS[1]], "  ", [EDGES[1], EDGES[3]], ["", "", "", ""], True, True))
def test_what_is_read_by_pattern_is_what_yaml_reads(
    parts: tuple[str, list[str], str, list[str], list[str], bool, bool],
) -> None:
    text = text_of(*parts)
    assert read(text) == read_as_yaml(text)


def writers(count: int) -> dict[str, str]:
    """Return one flow as other programs write it."""
    flow = {
        "id": "abc",
        "name": "main",
        "created": "2025-01-01T00:00:00Z",
        "updated": "2025-01-01T00:00:00Z",
        "description": "",
        "nodes": [{"index": place, "id": f"n-{place}"} for place in range(1, count + 1)],
        "connections": [{"from": place, "to": place + 1} for place in range(1, count)],
    }
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    sorted_keys = yaml.dump(flow, Dumper=dumper)
    in_order = yaml.dump(flow, Dumper=dumper, sort_keys=False)
    return {
        "sorted": sorted_keys,
        "in order": in_order,
        "in braces": yaml.dump(flow, Dumper=dumper, default_flow_style=None),
        "deeper": in_order.replace("- index", "  - index").replace("\n  id: ", "\n    id: "),
        "with a comment": in_order.replace("  id: n-2\n", "  id: n-2 # two\n# three\n"),
    }


@pytest.mark.parametrize("style", writers(3))
def test_a_new_turn_in_another_writers_file_costs_a_fraction_of_reading_it_as_yaml(style: str) -> None:
    file = load_flow(writers(400)[style].encode(), "x")
    wanted = replace(
        file.flow,
        entries=(*file.flow.entries, FlowEntry(401, "n-401")),
        edges=(*file.flow.edges, Edge(400, 401)),
    )
    edited = edit(file, wanted)
    assert edited.flow == wanted
    assert read_as_yaml(edited.text) == edited
    assert shortest(lambda: edit(file, wanted)) < shortest(lambda: read_as_yaml(edited.text)) / 2


def shortest(work: Callable[[], object]) -> float:
    """Return the processor time of some work, without what else happened to be at work."""
    took = []
    for _ in range(4):
        before = time.process_time()
        work()
        took.append(time.process_time() - before)
    return min(took)
