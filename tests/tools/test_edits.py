"""Exact replacements: in order, all or nothing, and a miss that says where the text nearly stands."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tools.test_tools import Desk, put

from nebula.tools.contract import ToolFailure
from nebula.tools.files.text_edits import apply_edits, read_edits
from rows import each_row


def edited(text, *edits):
    found = [{"old_text": old, "new_text": new, **dict.fromkeys(rest, True)} for old, new, *rest in edits]
    return apply_edits("f.txt", text, read_edits(found))


def complaint(text, *edits):
    with pytest.raises(ToolFailure) as failure:
        edited(text, *edits)
    return str(failure.value)


@pytest.mark.parametrize("start", ["", "\r\n"])
def test_many_replacements_cost_no_more_than_their_number(start):
    text = start + '{"a":1},' * 6_000
    began = time.process_time()
    assert edited(text, (",", ",\n", "all")) == text.replace(",", f",{start or chr(10)}")
    assert time.process_time() - began < 2


def test_places_that_overlap_are_not_counted_for_ever():
    """Each costs as much as the text is long: for a run of blanks of half a megabyte that would be a minute."""
    began = time.process_time()
    assert "more than 1000 places" in complaint(" " * 400_000, (" " * 200_000, "x"))
    assert "1000 places" in complaint("a" * 1_001, ("aa", "b"))
    assert time.process_time() - began < 10


@pytest.mark.parametrize("text", ["a\nb\n", "a\r\nb\n"], ids=["LF", "CRLF among them"])
def test_a_long_text_that_is_nearly_everywhere_is_missed_at_once(text):
    began = time.process_time()
    assert "in 0 places" in complaint(text * 20_000, ("a\nb\n" * 6_500 + "q", "x"))
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("text", "edits"),
    [("a\n", [("a", "aa", "all")] * 40), ("a\r\n", [("a", "a" * 1_000, "all")] * 4)],
    ids=["doubled", "thousandfold"],
)
def test_edits_that_grow_without_end_are_refused_before_the_memory_is_full(text, edits):
    """Doubled forty times, one letter would be a terabyte."""
    assert "would become longer" in complaint(text, *edits)


def test_edits_are_applied_in_order():
    assert edited("a b c\n", ("a", "b1"), ("b1 b", "x")) == "x c\n"


def test_all_replaces_every_place():
    assert edited("x y x y\n", ("x", "xx", "all")) == "xx y xx y\n"


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
@pytest.mark.parametrize("sent", ["\n", "\r\n"])
def test_a_line_break_stands_for_the_files_own(line_break, sent):
    text = line_break.join(["def f():", "    return 1", "", "end"])  # no line break at the end
    new = edited(text, (f"f():{sent}    return 1{sent}", f"g():{sent}    x = 2{sent}    return x{sent}"))
    assert new == line_break.join(["def g():", "    x = 2", "    return x", "", "end"])
    assert edited(text, ("end", f"end{sent}")) == text + line_break


def test_in_a_mixed_file_the_neighbours_decide():
    assert edited("a\r\nb\nc\r\nd\n", ("b", "b\nb2")) == "a\r\nb\nb2\nc\r\nd\n"
    assert edited("a\r\nb\nc\r\nd\n", ("c", "c\nc2")) == "a\r\nb\nc\r\nc2\r\nd\n"


def test_a_byte_order_mark_is_no_part_of_the_text():
    assert edited("\ufeffone\r\n", ("one", "two")) == "\ufefftwo\r\n"
    assert edited("\ufeffone\n", ("\ufeffone", "\ufefftwo")) == "\ufefftwo\n"
    assert edited("\ufeffa\n", ("a", "")) == "\ufeff\n"


def test_special_characters_are_themselves():
    assert edited(r"a.*[x]\d $1 \1", (r".*[x]\d", r"\g<0> \1 $1")) == r"a\g<0> \1 $1 $1 \1"
    assert edited("日本語🗾\u2028x", ("語🗾\u2028", "人")) == "日本人x"


def test_too_many_places_are_counted_and_named():
    said = complaint("x\ny\nx\nx\n", ("y", "z"), ("x", "w"))
    assert said.startswith("Edit 2:")
    assert "3 places" in said
    assert "lines 1, 3, 4" in said
    assert "all: true" in said
    assert "2 places" in complaint("aaa", ("aa", "b"))  # places that overlap are places


@each_row(
    ("text", "old", "parts"),
    [
        ("if x:\n\treturn 1\n", "if x:\n    return 1\n", ["line 2", "only white space", "\\treturn 1", "a tab"]),
        ("foo\u00a0bar\n", "foo bar", ["line 1", "only white space", "(column 4: a no-break space, not a space)"]),
        ("foo\n", "foo \n", ["line 1", "only white space", "(column 4: the line's end, not a space)"]),
        ("alpha = 1\nbeta = 2\ngamma = 3\n", "beta = 2\ngamma = 4\n", ["line 3", "'gamma = 3'", "'gamma = 4'"]),
        ("def handle_request(self):\n", "def handle_requests(self):", ["line 1", "'def handle_request(self):'"]),
        ("one\ntwo\n", "two\nthree\n", ["line 2"]),
        ("one\n", "something else entirely", ["Nothing in the file is like it"]),
        ("", "x", ["0 places"]),
    ],
)
def test_a_miss_names_the_nearest_place(text, old, parts):
    said = complaint(text, (old, "new"))
    assert said.startswith("Edit 1: old_text is in 0 places of f.txt.")
    for part in parts:
        assert part in said


def test_nothing_happens_unless_all_of_it_does(tmp_path):
    desk = Desk(tmp_path)
    put(tmp_path, "a.txt", "one\ntwo\n")
    desk.run("readFile", path="a.txt")
    edits = [{"old_text": "one", "new_text": "1"}, {"old_text": "three", "new_text": "3"}]
    assert "Edit 2" in desk.run("editFile", path="a.txt", edits=edits)[1]["error"]
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"
    assert desk.run("editFile", path="a.txt", edits=edits[:1])[1] == {"success": True}
    assert (tmp_path / "a.txt").read_text() == "1\ntwo\n"


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"new_content": "x", "edits": [{"old_text": "a", "new_text": "b"}]},
        {"edits": []},
        {"edits": "old"},
        {"edits": [{"old_text": "", "new_text": "b"}]},
        {"edits": [{"old_text": "\ufeff", "new_text": "b"}]},
        {"edits": [{"old_text": "one"}]},
        {"edits": [{"old_text": "one", "new_text": "b", "all": "yes"}]},
        {"edits": [{"old_text": "one", "new_text": "one"}]},
    ],
)
def test_what_is_no_edit_is_an_error(tmp_path, args):
    desk = Desk(tmp_path)
    put(tmp_path, "a.txt", "one\n")
    desk.run("readFile", path="a.txt")
    assert "error" in desk.run("editFile", path="a.txt", **args)[1]
    assert (tmp_path / "a.txt").read_text() == "one\n"


def test_only_the_touched_lines_must_have_been_read(tmp_path):
    desk = Desk(tmp_path)
    put(tmp_path, "a.txt", "".join(f"line {number}\n" for number in range(1, 101)))

    def edit(old, new):
        return desk.run("editFile", path="a.txt", edits=[{"old_text": old, "new_text": new}])[1]

    assert "readFile" in edit("line 50\n", "fifty\n")["error"]
    desk.run("readFile", path="a.txt", start_line=40, end_line=60)
    assert "part" in edit("line 70\n", "seventy\n")["error"]
    assert edit("line 50\n", "fifty\nand more\n") == {"success": True}
    assert edit("line 60\n", "sixty\n") == {"success": True}  # known before, and one line further down now
    assert edit("and more\n", "") == {"success": True}  # its own words
    assert edit("line 58\n", "line 58\ninserted\n") == {"success": True}
    assert "part" in edit("line 61\n", "x\n")["error"]
    assert "part" in desk.run("editFile", path="a.txt", new_content="all new\n")[1]["error"]
    put(tmp_path, "a.txt", "somebody else\n")
    assert "readFile" in edit("somebody", "x")["error"]
    for stale in ("line 50\n", "e"):  # nowhere, and in several places, of a content that was never seen
        assert "readFile" in edit(stale, "x")["error"]


def test_a_miss_in_a_secret_file_quotes_nothing(tmp_path):
    desk = Desk(tmp_path, allowed=[".env"])
    put(tmp_path, ".env", "API_KEY=very-secret-value\n")
    outcome, value = desk.run("readFile", path=".env")
    assert outcome.secret
    assert value == {"content": "API_KEY=very-secret-value\n"}
    said = desk.run("editFile", path=".env", edits=[{"old_text": "API_KEY=very secret value", "new_text": "x"}])[1]
    assert "0 places" in said["error"]
    assert "very-secret" not in said["error"]


@given(
    st.lists(st.sampled_from(["a", "b", "\r\n", "\n", "é"]), max_size=12).map("".join),
    st.lists(st.sampled_from(["a", "b", "\n", "é"]), min_size=1, max_size=3).map("".join),
    st.sampled_from(["", "x", "x\n", "a"]),
)
def test_what_is_found_is_what_a_reader_would_find(text, old, new):
    """With line breaks of one kind the result is that of plain replacement."""
    plain = text.replace("\r\n", "\n")
    count = sum(plain.startswith(old, place) for place in range(len(plain)))
    if count == 1:
        assert edited(plain, (old, new)) == plain.replace(old, new)
        if "\n" in plain:
            assert edited(plain.replace("\n", "\r\n"), (old, new)) == plain.replace(old, new).replace("\n", "\r\n")
    else:
        assert f"{count} places" in complaint(plain, (old, new))
