"""Lines that stay, move, are reformatted or copied, and whose they are then."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nebula.blame import text
from nebula.blame.inherit import inherit
from nebula.blame.line_record import count_written, record_lines
from nebula.graph.values import FileState

LINES = st.lists(
    st.sampled_from([b"alpha one", b"beta two", b"gamma three", b"}", b"", b"delta four", b"x"]), max_size=12
)
BREAKS = st.sampled_from([b"\n", b"\r\n"])


def owners(old: str, new: str) -> list[str | None]:
    """Return for each line of `new` the text of the line of `old` that it is."""
    before, after = old.encode(), new.encode()
    found = inherit(before, [line.decode() for line in text.split(before)], after)
    whole = [line.decode() for line in text.split(before)]
    return [*whole[: found.head], *found.owners, *whole[len(whole) - found.tail :]]


@given(LINES, LINES, BREAKS, BREAKS, st.booleans(), st.booleans())
def test_common_ends_are_whole_lines(
    old: list[bytes], new: list[bytes], one: bytes, two: bytes, a: bool, b: bool
) -> None:
    before, after = one.join(old) + one * a, two.join(new) + two * b
    start, end = text.common_ends(before, after)
    assert before[:start] == after[:start]
    assert not end or before[-end:] == after[-end:]
    assert start + end <= min(len(before), len(after))
    for content in (before, after):
        parts = content[:start], content[start : len(content) - end], content[len(content) - end :] if end else b""
        assert [line for part in parts for line in text.split(part)] == text.split(content)
        assert sum(map(text.count_lines, parts)) == len(text.split(content))


@given(LINES, LINES)
def test_every_line_is_counted_once(old: list[bytes], new: list[bytes]) -> None:
    before, after = b"\n".join(old), b"\n".join(new)
    count = text.count_lines(before)
    found = inherit(before, list(range(count)), after)
    assert found.head + len(found.owners) + found.tail == text.count_lines(after)
    kept = [*range(found.head), *(each for each in found.owners if each is not None), *range(count - found.tail, count)]
    lost = [line.owner for line in found.lost]
    assert sorted(kept + lost) == list(range(count))
    for line, owner in zip(found.lines, found.owners, strict=True):
        assert owner is None or text.key(line) == text.key(text.split(before)[owner])


def test_a_changed_line_is_nobodys() -> None:
    assert owners("one\ntwo\nthree\n", "one\ntwo!\nthree\n") == ["one", None, "three"]


def test_a_line_in_other_blanks_is_the_same() -> None:
    assert owners("if x:\nreturn total\n", "if x:\n\treturn  total \n") == ["if x:", "return total"]


def test_another_line_break_changes_nothing() -> None:
    assert owners("one\ntwo\n", "one\r\ntwo") == ["one", "two"]


def test_a_byte_order_mark_changes_nothing() -> None:
    assert owners("one\ntwo\n", "\ufeffone\ntwo\n") == ["one", "two"]


def test_a_moved_line_is_the_same() -> None:
    assert owners("first line\nsecond line\nthird line\n", "third line\nfirst line\nsecond line\n") == [
        "third line",
        "first line",
        "second line",
    ]


def test_a_copied_line_is_nobodys() -> None:
    assert owners("first line\nsecond line\n", "first line\nsecond line\nfirst line\n") == [
        "first line",
        "second line",
        None,
    ]


def test_a_moved_block_takes_its_brackets_along() -> None:
    old = "top of it all\nfunction f() {\n  call();\n}\nend of it all\n"
    new = "top of it all\nend of it all\nfunction f() {\n  call();\n}\n"
    assert owners(old, new) == ["top of it all", "end of it all", "function f() {", "  call();", "}"]


def test_a_short_line_moves_where_it_is_the_only_one_of_its_kind() -> None:
    old, new = "x = 1\nfirst line\nsecond line\n", "first line\nsecond line\n\tx=1\n"
    assert owners(old, new)[-1] == "x = 1"
    assert owners(f"\ufeff{old}x = 10\n", f"{new}x = 10\n".replace("\n", "\r\n"))[-2] == "x = 1"
    assert owners(old + "third line\nx = 1\n", new + "third line\nx = 1\n")[2] is None


def test_a_bracket_alone_moves_nowhere() -> None:
    assert (
        owners("first line\n}\nsecond line\nthird line\n", "first line\nsecond line\nthird line changed\n}\n")[-1]
        is None
    )


def test_a_turn_of_many_edits_reads_each_content_once_and_keeps_none() -> None:
    contents = {str(number): b"first line\n" * (number + 1) + b"last line\n" * 99 for number in range(9)}
    steps = [FileState("a", str(number), str(number + 1)) for number in (*range(3), *range(4, 8))]
    read: list[str] = []

    def content(state: str) -> bytes:
        read.append(state)
        return contents[state]

    wrote = record_lines(steps, content, lambda _: True)["a"].wrote
    assert read == [str(number) for number in range(9)]
    assert count_written(wrote) == 7  # one was put there by somebody else
    lost = inherit(b"telling line\n}\nx\n", ["me"] * 3, b"").lost
    assert [(each.key, bool(each.old)) for each in lost] == [(b"tellingline", False), (b"}", False), (b"x", True)]
