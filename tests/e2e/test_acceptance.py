"""The stories that the agent was made for, end to end with a scripted model."""

import os
import signal
import sqlite3

from scripted_model import Call, Fault, ScriptedModel, Turn

DOMAIN = "package domain\n\ntype Todo struct {\n\tTitle string\n}\n"
USECASE = "package usecase\n\nfunc Add(title string) domain.Todo {\n\treturn domain.Todo{Title: title}\n}\n"
HANDLER = "package handler\n\nfunc Show(t domain.Todo) string {\n\treturn t.Title\n}\n"


def read(path):
    return Call("readFile", {"path": path})


def edit(path, text):
    return Call("editFile", {"path": path, "new_content": text})


def test_a_field_goes_through_three_layers_in_one_turn(bench):
    layers = {"domain/todo.go": DOMAIN, "usecase/add.go": USECASE, "handler/show.go": HANDLER}
    for path, text in layers.items():
        bench.write(path, text)
    changed = {
        path: text.replace("Title string", "Title string\n\tPriority int") + "// priority\n"
        for path, text in layers.items()
    }
    script = [
        Turn("I'll look at the layers.", [Call("list", {"path": ".", "recursive": True})]),
        Turn("", [Call("searchInDirectory", {"directory": ".", "keyword": "Todo"})]),
        Turn("", [read(path) for path in layers]),
        Turn("Now the three files.", [edit(path, text) for path, text in changed.items()]),
        Turn("Todos have a priority in all three layers."),
    ]
    with ScriptedModel(script) as server:
        ran = bench.run("nebula", "-p", "add a priority field", "--yes", "--output-format", "json", **server.env())
    assert ran.code == 0
    assert {path: bench.read(path) for path in layers} == changed
    assert sorted(change["path"] for change in ran.json["files_changed"]) == sorted(layers)
    found = server.turns[2].json["messages"][-1]["content"]
    assert all(path in found for path in layers)


def test_a_write_is_refused_in_plan_and_allowed_after_switching(bench):
    bench.write("sample.txt", "Hello World\n")
    script = [
        Turn("", [read("sample.txt")]),
        Turn("", [edit("sample.txt", "Hello Nebula\n")]),
        Turn("The plan: change one word."),
        Turn("", [edit("sample.txt", "Hello Nebula\n")]),
        Turn("Done."),
    ]
    with ScriptedModel(script) as server:
        planned = bench.run("nebula", "-p", "plan it", "--mode", "plan", "--yes", **server.env())
        assert bench.read("sample.txt") == "Hello World\n"
        done = bench.run("nebula", "-p", "do it", "--continue", "--yes", **server.env())
    assert planned.out == "The plan: change one word.\n"
    assert done.code == 0
    assert bench.read("sample.txt") == "Hello Nebula\n"


def test_a_project_from_nothing_over_three_turns(bench):
    write = lambda path, content: Call("writeFile", {"path": path, "content": content})  # noqa: E731
    script = [
        Turn("What kind of program shall it be?"),
        Turn("I'll lay it out.", [write("greet/__init__.py", ""), write("greet/cli.py", "print('hi')\n")]),
        Turn("Laid out."),
        Turn("", [edit("greet/cli.py", "print('hello')\n"), write("README.md", "# greet\n")]),
        Turn("Finished."),
    ]
    with ScriptedModel(script) as server:
        first = bench.run("nebula", "-p", "build me something", "--yes", **server.env())
        assert not [p for p in bench.project.iterdir() if p.name != ".nebula"]
        assert bench.run("nebula", "-p", "a greeter in Python", "-c", "--yes", **server.env()).code == 0
        assert bench.run("nebula", "-p", "say hello, and add a README", "-c", "--yes", **server.env()).code == 0
    assert first.out == "What kind of program shall it be?\n"
    assert bench.read("greet/cli.py") == "print('hello')\n"
    assert bench.read("README.md") == "# greet\n"
    last = str(server.turns[-1].json["messages"])
    assert "build me something" in last
    assert "What kind of program" in last


def test_kill_9_in_the_middle_of_a_tool_round_resumes_with_all_that_was_recorded(bench):
    bench.write("a.txt", "first content\n")
    script = [
        Turn("Earlier answer."),
        Turn("Looking.", [read("a.txt")]),
        Turn("", fault=Fault.stall(0)),
        Turn("Back, and I remember."),
    ]
    with ScriptedModel(script) as server:
        assert bench.run("nebula", "-p", "earlier question", **server.env()).code == 0
        process = bench.start("nebula", "-p", "look at a.txt", "-c", **server.env())
        server.wait_until(lambda: len(server.turns) == 3)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        again = bench.run("nebula", "-p", "go on", "-c", **server.env())
    assert again.out == "Back, and I remember.\n"
    sent = server.turns[3].json["messages"]
    text = str(sent)
    for part in ("earlier question", "Earlier answer.", "look at a.txt", "Looking.", "first content", "go on"):
        assert part in text, part
    assert [m["role"] for m in sent].count("tool") == 1
    rows = sqlite3.connect(bench.home / ".nebula/memory.db").execute("SELECT count(DISTINCT session_id) FROM messages")
    assert rows.fetchone() == (1,)


def test_every_turn_is_a_node_joined_to_the_one_it_continued(bench):
    with ScriptedModel([Turn("First."), Turn("Second."), Turn("Third.")]) as server:
        first = bench.run("nebula", "-p", "a", "--output-format", "json", **server.env()).json["node_id"]
        second = bench.run("nebula", "-p", "b", "-c", "--output-format", "json", **server.env()).json["node_id"]
        third = bench.run("nebula", "-p", "c", "--from", first, "--output-format", "json", **server.env()).json[
            "node_id"
        ]
    shown = bench.run("vizprompt", "--data-dir", ".nebula/graph", "flow", "show", "main")
    assert shown.code == 0
    assert "1<" in shown.out, shown.out
    from vizprompt import VizPrompt

    graph = VizPrompt(data_dir=str(bench.project / ".nebula/graph"))
    assert [node.id for node in graph.get_history(second)] == [first, second]
    assert [node.id for node in graph.get_history(third)] == [first, third]
    assert graph.get_node(second).prompt == "b"
    assert "First." in str(server.turns[2].json["messages"])
    assert "Second." not in str(server.turns[2].json["messages"])


def test_the_node_owns_its_tool_log_usage_and_file_states(bench):
    bench.write("a.txt", "old\n")
    script = [Turn("Looking.", [read("a.txt")]), Turn("", [edit("a.txt", "new\n")]), Turn("Done.")]
    with ScriptedModel(script) as server:
        final = bench.run("nebula", "-p", "go", "--yes", "--output-format", "json", **server.env()).json
    (xml,) = (bench.project / ".nebula/graph/nodes").rglob("*.xml")
    text = xml.read_text(encoding="utf-8")
    assert final["node_id"] in text
    assert text.count('<text role="tool"') == 2
    assert "<session>" in text
    assert '<usage input="300" output="60"' in text
    (change,) = final["files_changed"]
    assert f'<file path="a.txt" before="{change["before"]}" after="{change["after"]}"' in text


def test_an_earlier_turn_is_readable_in_full(bench):
    script = [
        Turn("a long answer, word for word"),
        lambda request: Turn("", [Call("readNode", {"id": node})]),
        Turn("That was it."),
    ]
    with ScriptedModel(script) as server:
        node = bench.run("nebula", "-p", "first", "--output-format", "json", **server.env()).json["node_id"]
        assert bench.run("nebula", "-p", "what did you say?", **server.env()).code == 0
    told = server.turns[2].json["messages"][-1]["content"]
    assert "a long answer, word for word" in told
    assert node in told


def test_with_auto_summary_each_turn_gets_its_summary_in_the_background(bench):
    (bench.home / ".nebula").mkdir()
    (bench.home / ".nebula/config.json").write_text('{"auto_summary": true}', encoding="utf-8")
    with ScriptedModel([Turn("The answer."), Turn("要約: 短い要約\nタグ: 一, 二")]) as server:
        node = bench.run("nebula", "-p", "question", "--output-format", "json", **server.env()).json["node_id"]
    shown = bench.run("vizprompt", "--data-dir", ".nebula/graph", "node", "show", node, "--json").json
    assert (shown["summary"], shown["tags"]) == ("短い要約", ["一", "二"])


def test_several_nodes_merge_and_both_are_in_the_context(bench):
    with ScriptedModel([Turn("one"), Turn("two"), Turn("three"), Turn("four")]) as server:
        ask = lambda prompt, *args: bench.run(  # noqa: E731
            "nebula", "-p", prompt, *args, "--output-format", "json", **server.env()
        ).json["node_id"]
        root = ask("root")
        left = ask("left", "--from", root)
        right = ask("right", "--from", root)
        merged = ask("merge", "--from", left, "--from", right)
    sent = [m["content"] for m in server.turns[3].json["messages"][1:]]
    assert [part for part in ("one", "two", "three") if part in sent] == ["one", "two", "three"]
    assert sent.count("one") == 1
    from vizprompt import VizPrompt

    graph = VizPrompt(data_dir=str(bench.project / ".nebula/graph"))
    assert [node.id for node in graph.get_history(merged)] == [root, left, right, merged]


def test_going_back_to_a_node_in_a_new_session_may_take_the_files_along(bench):
    write = Call("writeFile", {"path": "a.txt", "content": "one\n"})
    script = [Turn("", [write]), Turn("first"), Turn("", [edit("a.txt", "two\n")]), Turn("second"), Turn("third")]
    with ScriptedModel(script) as server:
        first = bench.run("nebula", "-p", "one", "--yes", "--output-format", "json", **server.env()).json["node_id"]
        assert bench.run("nebula", "-p", "two", "-c", "--yes", **server.env()).code == 0
        assert bench.read("a.txt") == "two\n"
        ran = bench.run("nebula", stdin=f"\n/fork {first}\n/restore\ngo on\n", **server.env())
        assert "a.txt" in ran.out
        assert bench.read("a.txt") == "one\n"
        assert bench.run("nebula", stdin="\n/undo\ny\n", **server.env()).code == 0  # another session asks first
    assert "two" not in str(server.turns[4].json["messages"][1:])
    assert bench.read("a.txt") == "two\n", "the move is itself undoable"
