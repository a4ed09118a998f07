"""Node files: seed 004 §3.2, §4.1, §4.2, and what SPEC §11 adds to them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.graph_seed import NODE_XML, block
from nebula.attachments import Attachment
from nebula.graph.derived.bodies import decode, encode
from nebula.graph.errors import BadFile, BadText
from nebula.graph.formats.node_edit import edit_node
from nebula.graph.formats.node_xml import dump_node, load_head, load_node
from nebula.graph.values import FileState, Node, NodeUsage, Utterance
from nebula.value import replace
from rows import each_row

any_text = st.text(st.characters(exclude_categories=["Cs"]))
nasty = st.lists(
    st.sampled_from(
        ["]]>", "]]", ">", "\r", "\n", "\r\n", "\x00", "\x1b", "\\", "\\u0041", "&", "<", "�", "😀", "\ufffe", " "]
    )
).map("".join)


def node_with(prompt: str, **more: object) -> Node:
    return Node("id-1", "2025-05-09T06:48:06+09:00", (Utterance("user", prompt), Utterance("assistant", "a")), **more)  # type: ignore[arg-type]


def test_4_1_the_seeds_own_example_loads_as_it_stands() -> None:
    assert block("4.1", "xml") in (None, NODE_XML)
    node = load_node(NODE_XML.encode(), "example")
    assert node.id == "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
    assert node.timestamp == "2025-05-09T06:48:06.533720+09:00"
    assert node.prompt == "プロンプト内容をここに記載...\n（改行やフォーマットを保持）"
    assert node.response == "応答内容をここに記載...\n（改行やフォーマットを保持）"
    assert node.texts[0] == Utterance("user", node.prompt, 6, 1.2, 4.99)
    assert node.texts[1] == Utterance("assistant", node.response, 14, 0.08, 179.49)
    assert (node.model, node.summary) == ("gemini-2.0-flash-001", "ノードの要約内容")
    assert (node.updated, node.last_built) == (False, "2025-05-09T06:48:06.533720+09:00")
    assert node.tags == ["タグ1", "タグ2", "タグ3"]


def test_4_1_a_node_is_written_exactly_as_in_the_seed() -> None:
    assert dump_node(load_node(NODE_XML.encode(), "example")).decode() == NODE_XML


def test_4_2_connections_are_not_in_the_node() -> None:
    assert b"connection" not in dump_node(node_with("x"))


@given(any_text | nasty, any_text | nasty)
def test_3_2_any_unicode_text_comes_back_exactly(prompt: str, summary: str) -> None:
    node = node_with(prompt, summary=summary)
    data = dump_node(node)
    assert load_node(data, "x") == node
    # A stranger's XML reader gets through it too.
    assert ElementTree.fromstring(data).tag == "node"


@given(st.lists(any_text.map(str.strip).filter(lambda t: t and t == " ".join(t.split())), max_size=3), any_text)
def test_tags_sessions_and_paths_come_back_exactly(tags: list[str], path: str) -> None:
    node = node_with(
        "p",
        tags=tags,
        model="m<&>",
        session="s\"'",
        usage=NodeUsage(3, 4, 0.5),
        files=(FileState(path, "", "abc", "3:abcdefgh", "ijklmnop"), FileState("b", "1", "")),
        references=("0198-77", *(f"#{tag}" for tag in tags)),
        agent="codex",
        beginning="0198-66",
        pinned=True,
        note=path,
    )
    assert load_node(dump_node(node), "x") == node
    assert decode(encode(node)) == node


def test_the_states_of_a_file_are_content_hashes_with_the_mode_beside_them() -> None:
    old, new = "a" * 64, "b" * 64
    files = (
        FileState("run.sh", f"{old}:644", f"{new}:755"),
        FileState("to", "", f"link:{old}"),
        FileState("d", "folder:755"),
    )
    data = dump_node(node_with("p", files=files))
    [script, link, folder] = ElementTree.fromstring(data).iter("file")
    assert script.attrib == {
        "path": "run.sh", "before": old, "after": new, "before_mode": "644", "after_mode": "755"
    }  # fmt: skip
    assert link.attrib == {"path": "to", "before": "", "after": f"link:{old}"} and folder.get("before") == "folder:755"
    assert load_node(data, "x").files == files
    older = data.replace(f'"{new}"'.encode(), f'"{new}:755"'.encode()).replace(b' after_mode="755"', b"")
    assert load_node(older, "x").files == files, "as they were written once"


def test_an_edit_reaches_every_part_of_the_metadata() -> None:
    old = load_node(FOREIGN.encode(), "x")
    more = {"session": "s", "usage": NodeUsage(1, 2), "files": (FileState("a"),), "references": ("id-9", "#タグ")}
    node = replace(old, **more)
    edited = edit_node(FOREIGN.encode(), node, "x")
    assert load_node(edited, "x") == node
    assert b'<rating by="me">5</rating>' in edited
    back = edit_node(edited, old, "x")
    assert load_node(back, "x") == old
    assert b"<references>" not in back


def test_tool_texts_stand_in_order_between_the_others() -> None:
    texts = (
        Utterance("user", "p"),
        Utterance("tool", '{"a": 1}', 1),
        Utterance("tool", "[RAW]"),
        Utterance("assistant", "r"),
    )
    node = Node("i", "t", texts)
    again = load_node(dump_node(node), "x")
    assert again == node
    assert [text.text for text in again.texts if text.role == "tool"] == ['{"a": 1}', "[RAW]"]
    assert again.response == "r"


@pytest.mark.parametrize("name", ["text", "contents"])
def test_content_is_accepted_for_text_and_for_what_holds_it(name: str) -> None:
    data = re.sub(f"(</?){name}(?=[ >])", r"\1content", NODE_XML)
    assert data.count("<content") == {"text": 3, "contents": 1}[name]
    assert load_node(data.encode(), "x") == load_node(NODE_XML.encode(), "x")


def test_a_file_written_by_hand_is_understood() -> None:
    data = b"""<node timestamp='2025-01-01' id='a'>
      <contents><text role="user">plain &amp; simple</text>
        <text role="assistant" count="many">
          <![CDATA[
two
lines
]]>
        </text></contents><future x="1"><deep/></future></node>"""
    node = load_node(data, "x")
    assert (node.prompt, node.response, node.model, node.tags) == ("plain & simple", "two\nlines", "", [])
    assert load_head(data) == ("a", "2025-01-01")


@each_row(
    "data",
    [
        b"<node>",
        b"<!DOCTYPE node [<!ENTITY a 'b'>]><node id='x'>&a;</node>",
        b"\xff\xfe\x00",
        b"<node id='x'>\x1b</node>",
        b"<?xml version='1.0' encoding='no-such-thing'?><node id='x'/>",
        b"<?xml version='1.0' encoding='shift_jis'?><node id='x'/>",
        b"<?xml version='1.0' encoding='utf-7'?><node id='x'/>",
    ],
)
def test_what_is_no_node_file_is_reported_not_crashed_on(data: bytes) -> None:
    with pytest.raises(BadFile, match=r"nodes/000/000\.xml: "):
        load_node(data, "nodes/000/000.xml")


FOREIGN = NODE_XML.replace("<metadata>", '<!-- mine -->\n<metadata>\n<rating by="me">5</rating>').replace(
    'role="user"', 'mood="calm" role="user"'
)


@given(any_text | nasty, st.lists(st.sampled_from(["x", "タグ"]), max_size=2, unique=True))
def test_an_edit_touches_only_what_it_must(prompt: str, tags: list[str]) -> None:
    old = load_node(FOREIGN.encode(), "x")
    texts = (Utterance("user", prompt, 1), old.texts[1])
    node = Node(old.id, old.timestamp, texts, "new\r\n", tags, "other", True, old.last_built)
    edited = edit_node(FOREIGN.encode(), node, "x")
    assert load_node(edited, "x") == node
    for kept in ("<!-- mine -->", '<rating by="me">5</rating>', 'mood="calm"', "応答内容をここに記載"):
        assert kept in edited.decode()


def test_a_file_in_another_encoding_can_be_edited() -> None:
    data = NODE_XML.replace("utf-8", "utf-16").encode("utf-16")
    old = load_node(data, "x")
    assert old.tags == ["タグ1", "タグ2", "タグ3"]
    node = Node(old.id, old.timestamp, old.texts, "要約", ["x"], old.model, False, old.last_built)
    assert load_node(edit_node(data, node, "x"), "x") == node


ODD = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(ODD, ODD, ODD, ODD)
def test_any_name_and_role_comes_back_exactly(name: str, role: str, built: str, hashed: str) -> None:
    node = Node(
        "n1",
        "2025-01-01T00:00:00+00:00",
        texts=(Utterance(role, "said"),),
        summary="s",
        last_built=built,
        files=(FileState(name, hashed, hashed),),
        attachments=(Attachment(name, "file", 1, "a"), Attachment("p", "image", 1, "b", role)),
    )
    assert load_node(dump_node(node), "x") == node
    assert load_node(edit_node(dump_node(node), replace(node, texts=(Utterance(role, "new"),)), "x"), "x") == replace(
        node, texts=(Utterance(role, "new"),)
    )


@pytest.mark.parametrize("sign", ["\ufffe", "\uffff", "\x01"])
def test_an_id_that_no_file_can_hold_is_refused(sign: str) -> None:
    with pytest.raises(BadText):
        dump_node(Node(f"a{sign}", "t"))
