"""Files that parsers and decoders stumble over: still found, by their lines, in bounded time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import pytest

from index.project import Project, function
from nebula.index.chunks import parsers
from nebula.index.chunks.cutting import cut
from nebula.index.chunks.encoding import NotText, as_utf8
from nebula.index.chunks.lines import Lines
from nebula.index.chunks.suffixes import language_of
from nebula.index.constants import MAX_CHUNK_BYTES, MAX_LINES, WINDOW_LINES
from nebula.index.values import Span

SLOW = {
    "a.js": (b'"' * 96 + b"\n") * 4_000,
    "a.ts": (b'"' * 96 + b"\n") * 4_000,
    "a.py": b"a?b:" * 40 + b"\n" + (b"a?b:" * 40) * 2_000,
}
LIMIT_S = 0.05


def cut_file(path: str, text: str | bytes) -> list[Span]:
    data = text if isinstance(text, bytes) else text.encode()
    return cut(Lines(data), data, language_of(path))


@pytest.mark.parametrize("path", SLOW)
def test_a_file_that_takes_too_long_to_parse_is_cut_into_windows(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsers, "PARSE_SECONDS", LIMIT_S)
    started = time.thread_time()
    found = cut_file(path, SLOW[path])
    assert time.thread_time() - started < 20 * LIMIT_S
    assert {span.symbol for span in found} == {""}
    assert cut_file("after.py", function("lighthouse")) == [Span(1, 4, "lighthouse")], "the next one is whole again"


def test_nothing_of_a_short_file_stays_in_memory() -> None:
    data = function("lighthouse").encode()
    before = sys.getrefcount(data)
    for _ in range(3):
        assert cut_file("a.py", data) == [Span(1, 4, "lighthouse")]
    assert sys.getrefcount(data) == before


def test_nothing_of_a_long_file_stays_in_memory() -> None:
    data = "".join(function(f"lighthouse_{i}") for i in range(2_000)).encode()
    found = cut_file("a.py", data)
    tracemalloc.start()
    try:
        for _ in range(3):
            assert cut_file("a.py", data) == found
        assert tracemalloc.get_traced_memory()[0] < len(data) // 10
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_others_work_while_a_file_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsers, "PARSE_SECONDS", 20 * LIMIT_S)
    parsing = threading.Thread(target=cut_file, args=("a.js", SLOW["a.js"]))
    parsing.start()
    turns = 0
    while parsing.is_alive():
        time.sleep(0.001)
        turns += 1
    assert turns > 3, "the parser hands the interpreter over"


def test_ctrl_c_ends_a_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsers, "PARSE_SECONDS", 60.0)
    for pause in (0.05, 0.1, 0.15):  # it may strike anywhere in what the parser calls
        timer = threading.Timer(pause, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            cut_file("a.js", SLOW["a.js"])
        timer.join()
    assert cut_file("after.py", function("lighthouse")) == [Span(1, 4, "lighthouse")]


def test_an_overlong_line_leaves_the_rest_of_its_file(project: Project) -> None:
    functions = "".join(function(f"lighthouse_{i}", "beacon") for i in range(100))
    project.write("a.py", functions + 'DATA = "' + "x" * (MAX_CHUNK_BYTES + 1) + '"\n' + function("harbour_end"))
    with project.index() as index:
        assert index.sync().skipped == ()
        (hit, *_) = index.search("lighthouse 42")
        assert (hit.path, hit.symbol) == ("a.py", "lighthouse_42")
        assert index.search("harbour end")[0].span == "L402-L405"
        assert index.search("data x", 100) == []


def test_an_overlong_line_parts_the_chunk_around_it() -> None:
    rows = [b"one", b"x" * (MAX_CHUNK_BYTES + 1), b"three", b"four"]
    assert cut_file("a.txt", b"\n".join(rows)) == [Span(1, 1), Span(3, 4)]
    assert cut_file("a.txt", b"x" * MAX_CHUNK_BYTES) == [Span(1, 1)], "so long and no longer"


JAPANESE = "def 挨拶():\n    return '設定ファイルを読み込む'\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_japanese_is_found_in_every_encoding(project: Project, encoding: str) -> None:
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    project.write("other.py", function("lighthouse"))
    project.write("a.py", "x = 1\n".encode(encoding)[:0] + mark + JAPANESE.encode(encoding))
    project.commit()
    with project.index() as index:
        index.sync()
        (hit, *_) = index.search("設定ファイルを読み込む処理")
        assert (hit.path, hit.span, hit.symbol) == ("a.py", "L1-L2", "挨拶")
        assert hit.text.removeprefix("\ufeff") == JAPANESE.removesuffix("\n")
        assert hit.blob == project.git("rev-parse", "HEAD:a.py").strip(), "of the file, not of what was decoded"
        assert index.sync().ingested == 0


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"caf\xe9 (old)\n", "café (old)\n"),
        ("日本語の注釈、".encode() * 9 + b"\xff\n", None),
        ("ﾃｽﾄ\n".encode("cp932"), "ﾃｽﾄ\n"),
        (b"plain\n", "plain\n"),
    ],
    ids=["latin-1", "damaged utf-8", "half-width", "ascii"],
)
def test_text_is_decoded_by_what_it_holds(data: bytes, text: str | None) -> None:
    assert as_utf8(data) == (data if text is None else text.encode())


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfea", b"\xff\xfe\0\0abc", "a\0b".encode("utf-16")])
def test_what_is_no_text_is_named(data: bytes) -> None:
    with pytest.raises(NotText, match=r"binary|it begins as"):
        as_utf8(data)


def symbols(path: str, text: str) -> set[str]:
    return {name for span in cut_file(path, text) for name in span.symbol.split()}


def lines_of(text: str, count: int = 8) -> str:
    return f"{text}\n" * count


C_BODY = "{\n" + lines_of("  x++;") + "}\n"


def test_definitions_in_c_are_found_beside_what_cannot_be_parsed() -> None:
    torn = "#ifdef X\nint torn(int a) {\n#else\nint torn(void) {\n#endif\n  a++;\n}\n"  # two begin, one ends
    text = f"int first(void)\n{C_BODY}\n{torn}\nint second(int a)\n{C_BODY}\nstatic int third(int b)\n{C_BODY}"
    assert {"first", "second", "third"} <= symbols("a.c", text)


def test_definitions_in_c_are_found_inside_conditions() -> None:
    text = f"#if defined(A) && B\nint one(void)\n{C_BODY}#elif C\nint two(void)\n{C_BODY}#else\nint three(void)\n{C_BODY}#endif\n"
    assert {"one", "two", "three"} <= symbols("a.c", text)


def test_definitions_in_c_sharp_are_found_inside_conditions_and_regions() -> None:
    method = "    public void {}() {{\n" + lines_of("      F();") + "    }}\n"
    inner = "".join(method.format(name) for name in ("Read", "ReadAsync", "Skip", "SkipAsync", "Close", "CloseAsync"))
    text = f"#if HAVE_ASYNC\nnamespace N {{\n  public class Reader {{\n#region Reading\n{inner}#endregion\n  }}\n}}\n#endif\n"
    assert len(text.splitlines()) > MAX_LINES
    assert {"N.Reader.Read", "N.Reader.ReadAsync", "N.Reader.CloseAsync"} <= symbols("A.cs", text)
    other = (
        f"#if A\nclass One {{\n{inner}}}\n#elif B\nclass Two {{\n{inner}}}\n#else\nclass Three {{\n{inner}}}\n#endif\n"
    )
    assert {"One.Read", "Two.Read", "Three.Skip"} <= symbols("A.cs", other)


def test_windows_are_of_forty_lines_and_a_short_rest_stays_with_the_last() -> None:
    assert WINDOW_LINES == 40
    assert cut_file("a.txt", "word\n" * 100) == [Span(1, 40), Span(41, 80), Span(81, 100)]
    assert cut_file("a.txt", "word\n" * 85) == [Span(1, 40), Span(41, 85)]
    assert cut_file("a.txt", "word\n" * 86) == [Span(1, 40), Span(41, 80), Span(81, 86)]
    assert cut_file("a.txt", ("x" * 4_000 + "\n") * 9) == [Span(1, 2), Span(3, 4), Span(5, 6), Span(7, 8), Span(9, 9)]


def test_a_node_that_ends_where_a_line_begins_does_not_take_that_line() -> None:
    section = "# {}\n\n" + "words of it\n" * 30 + "\n"
    text = section.format("One") + section.format("Two")
    assert cut_file("a.md", text) == [Span(1, 33, "One"), Span(34, 66, "Two")]
    pairs = "".join(f"key{i}:\n" + "".join(f"  - item{j}\n" for j in range(40)) for i in range(2))
    assert cut_file("a.yaml", pairs) == [Span(1, 41, "key0"), Span(42, 82, "key1")]


CUT = """
import sys
from nebula.index.chunks.cutting import cut
from nebula.index.chunks.lines import Lines

text = eval(sys.argv[1]).encode()
print(len(cut(Lines(text), text, "yaml")))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["'- ' * 2000", "': ' * 2000 + chr(10)", "''.join(' ' * n + 'a:' + chr(10) for n in range(700))"],
    ids=["items", "values", "mappings"],
)
def test_yaml_nested_too_deeply_for_its_parser_is_cut_into_windows(text: str) -> None:
    """In a process of its own: it is the process that would end."""
    told = subprocess.run([sys.executable, "-c", CUT, text], capture_output=True, text=True, check=False)
    assert told.returncode == 0 and int(told.stdout) >= 1, told
