"""Chunks: every line in exactly one, cut where definitions are, whatever the file holds."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nebula.index.chunks import lines as lines_module
from nebula.index.chunks.cutting import cut
from nebula.index.chunks.languages import LANGUAGES
from nebula.index.chunks.lines import Lines, has_only_overlong_lines, has_overlong_line
from nebula.index.chunks.suffixes import language_of
from nebula.index.constants import MAX_CHUNK_BYTES
from nebula.index.values import Span
from rows import each_row


def chunks(path: str, text: str | bytes) -> list[Span]:
    data = text.encode() if isinstance(text, str) else text
    lines = Lines(data)
    found = cut(lines, data, language_of(path))
    wanted = [number for number, row in enumerate(lines.rows, 1) if len(row) <= MAX_CHUNK_BYTES]
    assert [line for span in found for line in range(span.start, span.end + 1)] == wanted
    return found


def body(line: str, count: int = 8) -> str:
    return "".join(f"{line}\n" for _ in range(count))


SAMPLES = {
    "a.py": ("@cache\ndef one(a):\n" + body("    a += 1") + "class Two:\n" + body("    x = 1"), {"one", "Two"}),
    "a.js": (
        "function one() {\n" + body("  x()") + "}\nclass Two {\n  m() {\n" + body("y()") + "  }\n}\n"
        "app.get('/three', (q) => {\n" + body("  z()") + "})\n",
        {"one", "Two", "app.get"},
    ),
    "a.ts": (
        "export interface One {\n" + body("  a: string") + "}\nexport const two = () => {\n" + body("  f()") + "}\n",
        {"One", "two"},
    ),
    "a.tsx": ("export function One() {\n" + body("  f()") + "  return <b>x</b>\n}\n", {"One"}),
    "a.go": (
        "package a\n\n// One does.\nfunc One() {\n"
        + body("\tf()")
        + "}\n\ntype Two struct {\n"
        + body("\tx int")
        + "}\n",
        {"One", "Two"},
    ),
    "a.rs": (
        "/// Does.\n#[inline]\npub fn one() {\n" + body("    f();") + "}\nimpl Two {\n" + body("    // x") + "}\n",
        {"one", "Two"},
    ),
    "A.java": ("class One {\n  int x;\n  void two() {\n" + body("    f();") + "  }\n}\n", {"One"}),
    "a.kt": (
        "class One {\n  fun two() {\n" + body("    f()") + "  }\n}\nfun three() {\n" + body("  g()") + "}\n",
        {"One", "three"},
    ),
    "a.c": (
        "static int *one(int a) {\n" + body("  a++;") + "}\nstruct two {\n" + body("  int x;") + "};\n",
        {"one", "two"},
    ),
    "a.cpp": (
        "namespace n {\nclass One {\n" + body("  int x;") + "};\n}\nint Two::three() {\n" + body("  f();") + "}\n",
        {"n", "Two::three"},
    ),
    "a.cs": ("namespace N {\n  class One {\n" + body("    int x;") + "  }\n}\n", {"N"}),
    "a.rb": ("module One\n  def two\n" + body("    f") + "  end\nend\n", {"One"}),
    "a.php": (
        "<?php\nfunction one() {\n" + body("  f();") + "}\nclass Two {\n" + body("  public $x;") + "}\n",
        {"one", "Two"},
    ),
    "a.swift": ("struct One {\n" + body("  var x: Int") + "}\nfunc two() {\n" + body("  f()") + "}\n", {"One", "two"}),
    "a.scala": (
        "object One {\n" + body("  val x = 1") + "}\ntrait Two {\n" + body("  def f: Int") + "}\n",
        {"One", "Two"},
    ),
    "a.sql": ("CREATE TABLE one (\n" + "".join(f"  c{i} int,\n" for i in range(8)) + "  z int\n);\n", {"one"}),
    "a.sh": ("one() {\n" + body("  echo") + "}\n", {"one"}),
    "a.html": (
        "<main>\n" + body("<p>x</p>", 40) + "</main>\n<footer>\n" + body("<p>x</p>", 30) + "</footer>\n",
        {"main", "footer"},
    ),
    "a.css": (
        ".one {\n" + body("  color: red;", 14) + "}\n#two {\n" + body("  color: red;", 14) + "}\n",
        {".one", "#two"},
    ),
    "a.md": (
        "# One\n\n" + body("text") + "## Two\n\n" + body("text", 70) + "# Three\n\n" + body("text"),
        {"One", "One.Two", "Three"},
    ),
    "a.yaml": ("one:\n" + body("  - x", 35) + "two:\n" + body("  - y", 35), {"one", "two"}),
    "a.json": (
        '{\n"one": [\n' + body('"x",', 35) + '"z"],\n"two": [\n' + body('"y",', 35) + '"z"]\n}\n',
        {"one", "two"},
    ),
    "a.toml": ("[one]\n" + "".join(f"k{i} = 1\n" for i in range(35)) + "[two]\nx = 1\n", {"one", "two"}),
}


@each_row("path", SAMPLES)
def test_a_definition_is_a_chunk_with_its_name(path: str) -> None:
    text, names = SAMPLES[path]
    found = {name for span in chunks(path, text) for name in span.symbol.split()}
    assert names <= found


def test_every_language_of_the_table_has_a_sample_and_a_parser() -> None:
    assert {language_of(path) for path in SAMPLES} == set(LANGUAGES)


def test_a_long_class_becomes_a_head_and_its_members() -> None:
    methods = "".join(f"    def m{i}(self):\n{body('        x()', 10)}\n" for i in range(8))
    found = chunks("a.py", f'class Big:\n    """Says what it is."""\n\n{methods}')
    assert [span.symbol for span in found] == ["Big", *(f"Big.m{i}" for i in range(8))]


def test_a_long_function_is_cut_into_windows_that_keep_its_name() -> None:
    whole = [Span(1, 60, "long"), Span(61, 120, "long")]
    assert chunks("a.py", "def long():\n" + body("    x()", 200)) == [
        *whole,
        Span(121, 180, "long"),
        Span(181, 201, "long"),
    ]
    few_more = chunks("a.py", "def long():\n" + body("    x()", 184))
    assert few_more == [*whole, Span(121, 185, "long")], "a few lines more are no window of their own"
    assert chunks("a.txt", body("x", 86)) == [Span(1, 40), Span(41, 80), Span(81, 86)]


def test_a_section_ends_where_the_next_begins() -> None:
    """In these languages it ends at the very start of a line, which is the next one's."""
    assert chunks("a.toml", SAMPLES["a.toml"][0]) == [Span(1, 36, "one"), Span(37, 38, "two")]
    found = [(span.start, span.symbol) for span in chunks("a.md", SAMPLES["a.md"][0])]
    assert found == [(1, "One"), (11, "One.Two"), (71, "One.Two"), (83, "Three")]


def test_the_comment_above_belongs_to_the_definition() -> None:
    found = chunks("a.go", "package a\n\nvar x = 1\n\n// One does.\n// Much.\nfunc One() {\n" + body("\tf()") + "}\n")
    assert next(span for span in found if span.symbol == "One").start == 5


def test_tiny_neighbours_are_joined() -> None:
    found = chunks("a.py", "def a(): pass\ndef b(): pass\ndef c(): pass\n")
    assert [span.symbol for span in found] == ["a b c"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\n\n\n",
        b"x",
        b"def a():\n  return 1",
        b"def a():\r\n  return 1\r\n\r\ndef b():\r\n  return 2\r\n",
        b"def broken(:\n  ((((\nclass\n",
        b"\xff\xfe caf\xe9\ndef a():\n  return '\xe9'\n",
        b"x=1;" * 20_000,
        "\ufeffdef a():\n  return 1\n".encode(),
        b"{" * 3_000,
    ],
    ids=["empty", "one", "blank", "unended", "no-end", "crlf", "broken", "latin", "minified", "mark", "nested"],
)
@pytest.mark.parametrize("suffix", ["py", "js", "json", "md", "c", "txt"])
def test_whatever_a_file_holds_each_line_is_in_one_chunk(data: bytes, suffix: str) -> None:
    chunks(f"a.{suffix}", data)


def test_the_text_of_a_chunk_is_exactly_its_lines() -> None:
    data = b"eins\r\nzwei\r\ndrei"
    lines = Lines(data)
    assert [lines.text(1, 2), lines.text(3, 3)] == ["eins\r\nzwei", "drei"]


PIECES = st.sampled_from(
    [
        "def f():\n",
        "    x = 1\n",
        "class A:\n",
        "\n",
        "}\n",
        "{\n",
        "function g() {\n",
        "# c\n",
        "/* c\n",
        '"""\n',
        "a b",
        "\r\n",
        "é\n",
    ]
)


@given(st.lists(PIECES, max_size=120), st.sampled_from(["a.py", "a.js", "a.rs", "a.md", "a.yaml", "a.rb"]))
def test_any_sequence_of_lines_is_covered_once(pieces: list[str], path: str) -> None:
    chunks(path, "".join(pieces))


@example(b"123", 3)  # so long and no longer
@example(b"123\n456\n", 3)
@given(st.lists(st.binary(max_size=12), max_size=12).map(b"\n".join), st.integers(1, 9))
def test_overlong_lines_are_told_without_a_look_at_each(data: bytes, longest: int) -> None:
    rows = data.split(b"\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "MAX_CHUNK_BYTES", longest)
        overlong = [row for row in rows if len(row) > longest]
        assert has_overlong_line(data) == bool(overlong)
        assert has_only_overlong_lines(data) == (
            bool(overlong) and not any(row.strip() for row in rows if row not in overlong)
        )


@given(st.text("a \n\r", max_size=12).map(str.encode), st.integers(0, 14))
def test_the_first_lines_are_those_of_the_whole_text(data: bytes, most: int) -> None:
    assert Lines(data, most).rows == Lines(data).rows[:most]


def test_definitions_are_looked_for_in_bodies_only() -> None:
    loop = "for each in every:\n    def one(a):\n" + body("        a += 1", 70)
    assert {span.symbol for span in chunks("a.py", loop)} == {""}
    assert {span.symbol for span in chunks("a.py", loop.replace("for each in every", "if every"))} == {"", "one"}
