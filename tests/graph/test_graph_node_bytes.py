"""A node file byte by byte: what is written, what is read of what others wrote, and what an edit leaves alone."""

from __future__ import annotations

from typing import Any

import pytest

from nebula.attachments import Attachment
from nebula.graph.errors import BadFile, BadText
from nebula.graph.formats import node_xml, tsv
from nebula.graph.formats.node_edit import edit_node, reidentified
from nebula.graph.formats.node_xml import dump_node, load_head, load_node
from nebula.graph.formats.xml_text import attribute, block, escape_impossible, inline, unescape, unwrap
from nebula.graph.values import FileState, Node, NodeUsage, Utterance
from nebula.value import replace
from rows import each_row

FULL = Node(
    "id-1",
    "2025-05-09",
    (Utterance("user", "a]]>b\r", 1, 1.5, 2.25), Utterance("assistant", "")),
    "sum",
    ["x<", "y"],
    "m&",
    True,
    "t2",
    "s'",
    NodeUsage(3, 4, 0.5),
    (FileState("a\x00", "b", "c"), FileState("d")),
    ("id-9", "#t"),
    (Attachment('n"', "image", 5, "text", "png"), Attachment("q", "paste", 1, "p")),
)
WRITTEN = """<?xml version="1.0" encoding="utf-8"?>
<node id="id-1" timestamp="2025-05-09">
<contents>
<text role="user" count="1" duration="1.50" rate="2.25"><![CDATA[
a]]]]><![CDATA[>b]]>&#13;<![CDATA[
]]></text>
<text role="assistant" count="0" duration="0.00" rate="0.00"></text>
</contents>
<metadata>
<model>m&amp;</model>
<summary updated="true" last_built="t2"><![CDATA[
sum
]]></summary>
<tags>
<tag>x&lt;</tag>
<tag>y</tag>
</tags>
<session>s&#39;</session>
<usage input="3" output="4" cost="0.500000"/>
<files>
<file path="a\\u0000" before="b" after="c" escaped="true"/>
<file path="d" before="" after=""/>
</files>
<references>
<reference>id-9</reference>
<reference>#t</reference>
</references>
<attachments>
<attachment name="n&quot;" kind="image" size="5" format="png"><![CDATA[
text
]]></attachment>
<attachment name="q" kind="paste" size="1"><![CDATA[
p
]]></attachment>
</attachments>
</metadata>
</node>
"""
EMPTY = """<?xml version="1.0" encoding="utf-8"?>
<node id="a" timestamp="t">
<contents>
</contents>
<metadata>
<model></model>
<summary updated="false" last_built=""></summary>
<tags/>
</metadata>
</node>
"""


def test_a_node_with_everything() -> None:
    assert dump_node(FULL).decode() == WRITTEN
    assert load_node(WRITTEN.encode(), "x") == FULL


def test_a_node_with_nothing() -> None:
    assert dump_node(Node("a", "t")).decode() == EMPTY
    assert load_node(EMPTY.encode(), "x") == Node("a", "t")


def elements(*found: tuple[str, str]) -> dict[tuple[str, ...], list[node_xml.Element]]:
    """Of `<metadata>`, as reading collects them: path and text."""
    by_path: dict[tuple[str, ...], list[node_xml.Element]] = {}
    for path, text in found:
        element = node_xml.Element(("node", "metadata", *path.split("/")), {}, 0)
        element.text = text
        by_path.setdefault(element.path, []).append(element)
    return by_path


def test_a_part_that_is_one_text() -> None:
    seldom, always = node_xml._line("model"), node_xml._line("model", always=True)
    for part in (seldom, always):
        assert (part.name, part.fields, part.write(FULL)) == ("model", ("model",), "<model>m&amp;</model>")
        assert part.read(elements(("model", " a\n"), ("model", "b"))) == {"model": "a"}
        assert part.read(elements(("session", "a"))) == {}
    assert (seldom.write(Node("a", "t")), always.write(Node("a", "t"))) == ("", "<model></model>")


def test_a_part_that_is_a_list_of_texts() -> None:
    seldom, always = node_xml._lines("tags", "tag", tuple), node_xml._lines("tags", "tag", tuple, always=True)
    for part in (seldom, always):
        written = "<tags>\n<tag>x&lt;</tag>\n<tag>y</tag>\n</tags>"
        assert (part.name, part.fields, part.write(FULL)) == ("tags", ("tags",), written)
        assert part.read(elements(("tags/tag", " a\n"), ("tags/tag", " "), ("tags/tag", "b"))) == {"tags": ("a", "b")}
        assert part.read(elements(("tags", "a"))) == {"tags": ()}
    assert (seldom.write(Node("a", "t")), always.write(Node("a", "t"))) == ("", "<tags/>")


def test_a_price_nobody_knows_stays_unknown() -> None:
    node = Node("a", "t", usage=NodeUsage(1, 2))
    assert b'<usage input="1" output="2" cost=""/>' in dump_node(node)
    assert load_node(dump_node(node), "x") == node


def test_every_attribute_may_be_missing() -> None:
    data = (
        b"<node id='a'><contents><text>q</text></contents><metadata><summary>s</summary><usage/><session> s </session>"
        b"<files><file/></files><attachments><attachment kind='odd'>t</attachment></attachments>"
        b"<tags><tag> </tag><tag> x </tag></tags></metadata></node>"
    )
    assert load_node(data, "x") == Node(
        "a",
        "",
        (Utterance("", "q"),),
        "s",
        ["x"],
        session="s",
        usage=NodeUsage(0, 0),
        files=(FileState(""),),
        attachments=(Attachment("", "file", 0, "t"),),
    )


@each_row(
    ("written", "read"),
    [("1.5", 1.5), ("x", 0), ("nan", 0), ("inf", 0), ("1e15", 0), ("-1e15", 0), ("9e14", 9e14), ("-9e14", -9e14)],
)
def test_a_figure_that_is_none_is_unknown(written: str, read: float) -> None:
    data = f"<node id='a'><contents><text count='{written}' duration='{written}' rate='{written}'/></contents></node>"
    assert load_node(data.encode(), "x").texts == (Utterance("", "", int(read), read, read),)


@each_row(
    ("change", "sentence"),
    [
        ({"id": ""}, "the id '' is empty, too long or holds white space"),
        ({"id": "a b"}, "the id 'a b' is empty, too long or holds white space"),
        ({"timestamp": "x\n"}, r"the timestamp 'x\n' is empty, too long or holds white space"),
        ({"id": "\ud800"}, "the id holds a lone surrogate (U+D800 at position 0), which is not text"),
        (
            {"texts": (Utterance("user", "a\ud800"),)},
            "the prompt holds a lone surrogate (U+D800 at position 1), which is not text",
        ),
        (
            {"texts": (Utterance("tool", "\ud800"),)},
            "the tool text holds a lone surrogate (U+D800 at position 0), which is not text",
        ),
        (
            {"texts": (Utterance("\ud800", "x"),)},
            "the texts role holds a lone surrogate (U+D800 at position 0), which is not text",
        ),
        ({"tags": ["a", "\udfff"]}, "the tags holds a lone surrogate (U+DFFF at position 0), which is not text"),
        (
            {"files": (FileState("\ud800"),)},
            "the files path holds a lone surrogate (U+D800 at position 0), which is not text",
        ),
        (
            {"attachments": (Attachment("n", "file", 1, "\ud800"),)},
            "the attachments text holds a lone surrogate (U+D800 at position 0), which is not text",
        ),
    ],
)
def test_what_cannot_be_stored_is_named(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadText) as caught:
        dump_node(replace(FULL, **change))
    assert str(caught.value) == sentence


def test_an_id_may_have_two_hundred_characters() -> None:
    assert load_node(dump_node(Node("x" * 200, "t")), "x").id == "x" * 200
    with pytest.raises(BadText):
        dump_node(Node("x" * 201, "t"))


def nested(depth: int) -> bytes:
    return b"<node id='x'>" + b"<a>" * depth + b"</a>" * depth + b"</node>"


@each_row(
    ("data", "sentence"),
    [
        (b"", "p: not a node file: no element found: line 1, column 0"),
        (b"<node/>", "p: the node has no usable id"),
        (b"<node id='a b'/>", "p: the node has no usable id"),
        (b"<other id='x'/>", "p: the root element is <other>, not <node>"),
        (b"<!DOCTYPE node SYSTEM 'x'><node id='x'/>", "p: document types and entities are not allowed"),
        (nested(16), "p: nested deeper than 16"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_once(data: bytes, sentence: str) -> None:
    with pytest.raises(BadFile) as caught:
        load_node(data, "p")
    assert str(caught.value) == sentence


def test_fifteen_elements_within_a_node_are_read() -> None:
    assert load_node(nested(15), "p").id == "x"


def test_the_limit_of_a_file_is_allowed_and_no_byte_more(monkeypatch: pytest.MonkeyPatch) -> None:
    data = dump_node(FULL)
    monkeypatch.setattr(node_xml, "MAX_NODE_BYTES", len(data))
    assert dump_node(FULL) == data and load_node(data, "p") == FULL
    larger = replace(FULL, summary="sums")
    with pytest.raises(BadText) as caught:
        dump_node(larger)
    assert str(caught.value) == f"a node of {len(data) + 1} bytes is over the limit of {len(data)}"
    with pytest.raises(BadFile) as refused:
        load_node(data + b"\n", "p")
    assert str(refused.value) == f"p: larger than {len(data)} bytes"
    foreign = dump_node(replace(FULL, summary="")).replace(b"<metadata>", b"<metadata><mine/>")
    assert edit_node(foreign, FULL, "p") == data, "where both do not fit, the node is kept"


@each_row(
    ("data", "head"),
    [
        (b"", None),
        (b"<node id='a'>", ("a", "")),
        (b"<node timestamp='t'>", None),
        (b"<node id='a&amp;'>", None),
        (b"<node id='\xff' timestamp='\xfe'>", ("�", "�")),
        (b'<x/><node  b="1" id = "a" timestamp="t" c="2"/>', ("a", "t")),
        (b"<node id='a b'>", None),
    ],
)
def test_the_head_of_a_file(data: bytes, head: tuple[str, str] | None) -> None:
    assert load_head(data) == head


ASKED = b"<node id='a' timestamp='t'><contents><text role='user' mood='calm' x='1'>q</text></contents></node>"
SPOKEN = '<text role="assistant" count="0" duration="0.00" rate="0.00"><![CDATA[\nnew\n]]></text>\n'


@each_row(
    ("data", "node", "edited"),
    [
        (ASKED, Node("a", "t", (Utterance("user", "q"),)), ASKED.decode()),
        (
            ASKED,
            Node("a", "t", (Utterance("user", "q"), Utterance("assistant", "new")), model="m", session="s"),
            f"<node id='a' timestamp='t'><contents><text role='user' mood='calm' x='1'>q</text>{SPOKEN}</contents>"
            "<metadata>\n<model>m</model>\n<session>s</session>\n</metadata>\n</node>",
        ),
        (
            ASKED,
            Node("a", "t", (Utterance("user", ""),)),
            "<node id='a' timestamp='t'><contents>"
            '<text role="user" count="0" duration="0.00" rate="0.00" mood="calm" x="1"></text></contents></node>',
        ),
        (ASKED, Node("a", "t"), "<node id='a' timestamp='t'><contents></contents></node>"),
        (
            b"<node id='a' timestamp='t'><metadata><model>x</model><rating/></metadata></node>",
            Node("a", "t", model="m", session="s"),
            "<node id='a' timestamp='t'><metadata><model>m</model><rating/><session>s</session>\n</metadata></node>",
        ),
        (b"<node id='a' timestamp='t'/>", Node("a", "t", model="m"), EMPTY.replace("<model>", "<model>m")),
        (
            b"<node id='a' timestamp='t'><metadata/></node>",
            Node("a", "t", model="m"),
            EMPTY.replace("<model>", "<model>m"),
        ),
        (
            b"<node id='a' timestamp='t'></node>",
            Node("a", "t", (Utterance("assistant", "new"),)),
            EMPTY.replace("<contents>\n", f"<contents>\n{SPOKEN}"),
        ),
        (b"<node id='a' timestamp='t'/>", Node("b", "t"), EMPTY.replace('"a"', '"b"')),
    ],
)
def test_an_edit_is_exact(data: bytes, node: Node, edited: str) -> None:
    assert edit_node(data, node, "x").decode() == edited


def test_an_edit_of_what_is_no_node_names_the_file() -> None:
    for edit in (lambda: edit_node(b"<node/>", FULL, "p"), lambda: reidentified(b"<node/>", "n", "p")):
        with pytest.raises(BadFile, match=r"^p: "):
            edit()


@pytest.mark.parametrize(
    ("data", "renamed"),
    [
        (
            b"<node timestamp='t' id = \"a\"><metadata><session><node id='a'/></session></metadata></node>",
            b"<node timestamp='t' id = \"n\"><metadata><session><node id='a'/></session></metadata></node>",
        ),
        (b"<node id='a' timestamp='t'/>", b"<node id='n' timestamp='t'/>"),
        (b"<!-- <node id='z'> --><node id='a' timestamp='t'/>", EMPTY.replace('"a"', '"n"').encode()),
    ],
)
def test_another_id_is_exact(data: bytes, renamed: bytes) -> None:
    assert reidentified(data, "n", "x") == renamed


# Text as XML


def test_text_that_xml_can_hold_is_left_alone() -> None:
    for text in ("", "a\\u0041", "\t\n\r", "日本😀\ufffd"):
        assert escape_impossible(text) == (text, False)


@each_row(
    ("text", "escaped"),
    [
        ("\x00\\", "\\u0000\\u005c"),
        ("\x1f", "\\u001f"),
        ("a\ufffe", "a\\ufffe"),
        ("\uffff", "\\uffff"),
        ("\x0b\x0c", "\\u000b\\u000c"),
    ],
)
def test_text_that_xml_cannot_hold_is_escaped_whole(text: str, escaped: str) -> None:
    assert escape_impossible(text) == (escaped, True)
    assert unescape(escaped) == text
    assert inline("x", text) == f'<x escaped="true">{escaped}</x>'
    assert block("x", ' a="1"', text) == f'<x a="1" escaped="true"><![CDATA[\n{escaped}\n]]></x>'


def test_markup_in_a_line_becomes_entities() -> None:
    assert attribute("&<>\"'\t\n\ra") == "&amp;&lt;&gt;&quot;&#39;&#9;&#10;&#13;a"
    assert inline("x", "a<b") == "<x>a&lt;b</x>"


@each_row(
    ("wrapped", "text"), [("\na\n", "a"), ("\n\na\n\n", "\na\n"), ("a", "a"), ("", ""), ("\n", ""), ("xa\n", "xa")]
)
def test_one_line_break_on_each_side_is_taken_off(wrapped: str, text: str) -> None:
    assert unwrap(wrapped) == text


# The index beside the files


def test_lines_of_an_index_that_make_sense_are_read() -> None:
    text = f"{tsv.HEADER}000/000.xml\ta\tt\n...\n000/001.xml\tb\n0/2.yaml\tc\tt\nx/y.xml\td\tt\n000/003.xml\te\tt\tmore\r\n"
    assert list(tsv.parse(text, "xml")) == [
        ("000/000.xml", "a", "t"),
        ("000/001.xml", "b", ""),
        ("000/003.xml", "e", "t"),
    ]
    assert [line.id for line in tsv.parse(text, "yaml")] == ["c"]
    assert tsv.Line("000/000.xml", "a", "t").text() == "000/000.xml\ta\tt\n"


def test_lines_of_files_that_are_gone_leave_the_index_and_no_other() -> None:
    data = b"relpath\tuuid\ttimestamp\n0/0.xml\ta\tt\r\n0/1.xml\tb\tt\n<<<<\n0/2.xml\tc\tt"
    assert tsv.without(data, {"0/1.xml", "0/9.xml"}) == data.replace(b"0/1.xml\tb\tt\n", b"")
    assert tsv.without(data, {"0/0.xml", "0/2.xml"}) == b"relpath\tuuid\ttimestamp\n0/1.xml\tb\tt\n<<<<\n"


def test_odd_lines_of_an_index_are_counted() -> None:
    good = f"\ufeff{tsv.HEADER[:-1]}\r\n0/0.xml\ta\tt\n\n  \n0/1.xml\tb\tt\n"
    assert tsv.count_odd(good, "xml") == 0
    assert tsv.count_odd(good, "yaml") == 2
    assert tsv.count_odd(f"{good}<<<<<<< HEAD\n0/2.xm", "xml") == 2
