"""Editing in places, from outside: the command, the model over HTTP, the file on the disk."""

import json

from scripted_model import Call, ScriptedModel, Turn

TEXT = "\ufeffeins\r\nzwei\r\ndrei"


def edits(*pairs):
    return [{"old_text": old, "new_text": new} for old, new in pairs]


def test_edits_keep_line_breaks_mark_and_missing_end(bench):
    (bench.project / "a.txt").write_bytes(TEXT.encode())
    script = [
        Turn("", [Call("readFile", {"path": "a.txt"})]),
        Turn("", [Call("editFile", {"path": "a.txt", "edits": edits(("eins\nzwei", "one\ntwo\nand more"))})]),
        Turn("", [Call("editFile", {"path": "a.txt", "edits": edits(("vier", "four"))})]),
        Turn("Done."),
    ]
    with ScriptedModel(script) as server:
        ran = bench.run("nebula", "-p", "go", "--yes", "--output-format", "json", **server.env())
        told = server.turns[3].json["messages"][-1]["content"]
    assert ran.code == 0
    assert (bench.project / "a.txt").read_bytes() == "\ufeffone\r\ntwo\r\nand more\r\ndrei".encode()
    assert "Edit 1: old_text is in 0 places" in told
    (changed,) = ran.json["files_changed"]
    assert (changed["path"], changed["added"], changed["removed"]) == ("a.txt", 3, 2)
    lines = [json.loads(line) for line in (bench.project / ".nebula/audit.jsonl").read_text().splitlines()]
    assert [(line["method"], line["status"]) for line in lines] == [
        ("read_file", 200),
        ("write_file", 200),
        ("write_file", 422),
    ]


def test_a_large_file_is_read_and_edited_by_ranges(bench):
    big = bench.write("big.txt", "".join(f"line {number}\n" for number in range(1, 60_001)))
    assert big.stat().st_size > 600_000, "more than may be written at once"
    script = [
        Turn("", [Call("readFile", {"path": "big.txt", "start_line": 59_990, "end_line": 60_000})]),
        Turn("", [Call("editFile", {"path": "big.txt", "edits": edits(("line 59995\n", "changed\n"))})]),
        Turn("", [Call("editFile", {"path": "big.txt", "edits": edits(("line 5\n", "unseen\n"))})]),
        Turn("Done."),
    ]
    with ScriptedModel(script) as server:
        ran = bench.run("nebula", "-p", "go", "--yes", **server.env())
        told = server.turns[3].json["messages"][-1]["content"]
    assert ran.code == 0
    text = bench.read("big.txt")
    assert "changed\nline 59996\n" in text
    assert "unseen" not in text
    assert "only a part" in told
