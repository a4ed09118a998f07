"""A file that the model could not be shown whole must not be overwritten by it, whatever cut the reading short."""

from scripted_model import Call, ScriptedModel, Turn


def lines(count):
    return "".join(f"line {n:06d} " + "x" * 45 + "\n" for n in range(count))


def last_result(server):
    return server.turns[-1].json["messages"][-1]["content"]


def test_reads_that_share_one_message_are_cut_and_do_not_count(bench):
    for n in range(6):
        bench.write(f"f{n}.txt", lines(1500))
    script = [
        Turn("", [Call("readFile", {"path": f"f{n}.txt"}) for n in range(6)]),
        Turn("", [Call("editFile", {"path": "f0.txt", "new_content": "gone"})]),
        Turn("end"),
    ]
    with ScriptedModel(script) as server:
        bench.run("nebula", "-p", "go", "--yes", **server.env())
    sent = [message["content"] for message in server.turns[1].json["messages"] if message["role"] == "tool"]
    assert sum(len(each.encode()) for each in sent) <= 400_000
    assert "only a part" in last_result(server)
    assert bench.read("f0.txt") == lines(1500)


def test_a_small_context_cuts_a_read_and_what_was_cut_does_not_count(bench):
    bench.write("big.txt", lines(1500))
    script = [
        Turn("", [Call("readFile", {"path": "big.txt"})]),
        Turn("", [Call("editFile", {"path": "big.txt", "new_content": "gone"})]),
        Turn("end"),
    ]
    with ScriptedModel(script, context_length=8192) as server:
        ran = bench.run("nebula", "-p", "go", "--yes", "--model", "qwen3:8b", **server.env("ollama"))
    assert len(server.turns[1].json["messages"][-1]["content"]) < 8192
    assert "only a part" in last_result(server)
    assert "longer than" not in ran.err
    assert bench.read("big.txt") == lines(1500)


def test_a_file_of_half_a_megabyte_is_edited_after_two_ranges(bench):
    bench.write("big.txt", lines(8000))
    script = [
        Turn("", [Call("readFile", {"path": "big.txt"})]),
        Turn("", [Call("editFile", {"path": "big.txt", "new_content": "too early"})]),
        Turn("", [Call("readFile", {"path": "big.txt", "start_line": 1, "end_line": 4000})]),
        Turn("", [Call("readFile", {"path": "big.txt", "start_line": 4001, "end_line": 8000})]),
        Turn("", [Call("editFile", {"path": "big.txt", "new_content": "short\n"})]),
        Turn("end"),
    ]
    with ScriptedModel(script) as server:
        ran = bench.run("nebula", "-p", "go", "--yes", **server.env())
    assert ran.code == 0
    assert "ranges" in server.turns[2].json["messages"][-1]["content"]
    assert bench.read("big.txt") == "short\n"
