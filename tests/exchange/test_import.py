"""Turns of other agents become nodes, once, with their branches, files and times. The records are those that the
agents themselves wrote on a scripted model."""

import json
import os
import subprocess

import pytest

from exchange.conftest import APP
from in_process import run_here
from nebula.graph.graph import Graph

KEY = "sk-proj-abcdefghijklmnopqrstuvwx1234567890"


def flow_of(bench, name):
    with Graph(str(bench.project / ".nebula/graph")) as graph:
        flow = graph.get_flow(name)
        return [graph.get_node(each) for each in flow.nodes], flow.connections


def count_nodes(bench):
    with Graph(str(bench.project / ".nebula/graph")) as graph:
        return graph.count_nodes()


@pytest.mark.parametrize(
    ("agent", "model", "tool"),
    [
        ("claude", "claude-sonnet-4-5", "claude-code"),
        ("codex", "gpt-5-codex", "codex"),
        ("gemini", "gemini-2.5-pro", "gemini-cli"),
    ],
)
def test_a_session_of_this_directory_comes_in_once(bench, histories, agent, model, tool):
    getattr(histories, agent)()
    ran = run_here(bench, "nebula", "import", agent)
    assert (ran.code, ran.out) == (0, f"2 turns added to the flow {agent}; 0 were there already\n"), ran.err
    (first, second), connections = flow_of(bench, agent)
    assert first.prompt == "Make greet say good evening" and first.response == "greet() says good evening now."
    assert second.prompt == "What did you change?" and second.response == "One line of app.py."
    assert [(each.source, each.target) for each in connections] == [(first.id, second.id)]
    assert (first.model, first.agent) == (model, tool) and first.timestamp.startswith("2026-11-16T21:30:")
    assert any("greet" in text.text for text in first.texts if text.role == "tool")
    again = run_here(bench, "nebula", "import", agent)
    assert again.out == f"0 turns added to the flow {agent}; 2 were there already\n"
    assert count_nodes(bench) == 2


@pytest.mark.parametrize(("agent", "tool"), [("claude", "claude-code"), ("gemini", "gemini-cli")])
def test_blame_knows_the_line_that_another_agent_wrote(bench, histories, agent, tool):
    getattr(histories, agent)()
    bench.write("app.py", APP)
    run_here(bench, "nebula", "import", agent)
    runs = run_here(bench, "nebula", "blame", "app.py", "--json").json
    written = next(run for run in runs if run["start_line"] == 2)
    assert (written["by"], written["tool"], written["end_line"]) == ("other", tool, 2)
    assert {run["by"] for run in runs if run is not written} == {"before"}


def test_a_dry_run_writes_nothing(bench, histories):
    histories.claude()
    ran = run_here(bench, "nebula", "import", "claude", "--dry-run")
    assert ran.out == "2 turns would be added to the flow claude; 0 are there already\n"
    assert not (bench.project / ".nebula/graph").exists()


def test_sessions_of_other_directories_stay_out_and_are_counted(bench, histories):
    text = histories.record("codex.jsonl").replace(str(bench.project), "/somewhere/else")
    histories.put(".codex/sessions/2026/11/16/rollout-2.jsonl", text)
    ran = run_here(bench, "nebula", "import", "codex")
    assert ran.out.startswith("0 turns added") and "sessions of other directories: 1" in ran.err
    named = run_here(bench, "nebula", "import", "codex", str(histories.home / ".codex"))
    assert named.out.startswith("2 turns added")


def entry(uuid, parent, role, text, **more):
    message = {"role": role, "content": text, **({"model": "m"} if role == "assistant" else {})}
    return json.dumps({"type": role, "uuid": uuid, "parentUuid": parent, "message": message, **more})


def lines(*entries):
    return "\n".join(entries) + "\n"


def test_branches_and_sub_agents_become_branches(bench, histories):
    task = [{"type": "tool_use", "id": "t", "name": "Task", "input": {"prompt": "look around", "description": "d"}}]
    histories.claude(
        text=lines(
            entry("u1", None, "user", "first"),
            entry("a1", "u1", "assistant", "one"),
            entry("u2", "a1", "user", "left"),
            entry("a2", "u2", "assistant", task),
            entry("s1", None, "user", "look around", isSidechain=True, agentId="scout"),
            entry("s2", "s1", "assistant", "seen", isSidechain=True),
            entry("a3", "a2", "assistant", "two"),
            entry("u3", "a1", "user", "right"),
            entry("a4", "u3", "assistant", "three"),
        )
    )
    assert run_here(bench, "nebula", "import", "claude").out.startswith("4 turns added")
    nodes, connections = flow_of(bench, "claude")
    name = {node.id: node.prompt for node in nodes}
    assert {(name[c.source], name[c.target], c.branch) for c in connections} == {
        ("first", "left", None),
        ("first", "right", None),
        ("left", "look around", "scout"),
    }


def test_parallel_calls_and_their_results_stay_in_one_turn(bench, histories):
    def call(name):
        return [{"type": "tool_use", "id": name, "name": "Bash", "input": {"command": name}}]

    def result(name):
        return [{"type": "tool_result", "tool_use_id": name, "content": f"{name} done"}]

    histories.claude(
        text=lines(
            entry("u1", None, "user", "do both"),
            entry("a1", "u1", "assistant", call("one")),
            entry("a2", "a1", "assistant", call("two")),
            entry("r1", "a1", "user", result("one")),
            entry("r2", "a2", "user", result("two")),
            entry("a3", "r2", "assistant", "both done"),
        )
    )
    run_here(bench, "nebula", "import", "claude")
    (node,), _ = flow_of(bench, "claude")
    assert node.response == "both done" and "one done" in node.said_by("tool") and "two done" in node.said_by("tool")


def test_thoughts_and_injected_words_stay_out(bench, histories):
    said = [{"type": "thinking", "thinking": "secretly"}, {"type": "text", "text": "openly"}]
    histories.claude(
        text=lines(
            entry("m", None, "user", "Caveat: injected"),
            entry("u1", "m", "user", "hello<system-reminder>be nice</system-reminder>"),
            entry("a1", "u1", "assistant", said),
            entry("c1", "a1", "user", "a summary of before", isCompactSummary=True),
            entry("u2", "c1", "user", "no answer to this"),
        )
    )
    ran = run_here(bench, "nebula", "import", "claude")
    (node,), _ = flow_of(bench, "claude")
    assert (node.prompt, node.response) == ("hello", "openly")
    assert "turns without an answer: 1" in ran.err


def test_keys_are_marked_and_counted(bench, histories):
    histories.claude(text=lines(entry("u", None, "user", f"use {KEY}"), entry("a", "u", "assistant", "ok")))
    ran = run_here(bench, "nebula", "import", "claude")
    assert "keys marked as [redacted]: 1" in ran.err
    kept = "".join(
        p.read_text("utf-8") for p in (bench.project / ".nebula").rglob("*") if p.suffix in (".xml", ".yaml")
    )
    assert "use [redacted]" in kept and KEY not in kept


def test_what_came_since_the_last_import_is_added_behind_it(bench, histories):
    begun = [entry("u", None, "user", "first"), entry("a", "u", "assistant", "one")]
    histories.claude(text=lines(*begun))
    run_here(bench, "nebula", "import", "claude")
    histories.claude(text=lines(*begun, entry("v", "a", "user", "second"), entry("b", "v", "assistant", "two")))
    ran = run_here(bench, "nebula", "import", "claude")
    assert ran.out == "1 turns added to the flow claude; 1 were there already\n"
    (first, second), connections = flow_of(bench, "claude")
    assert [(c.source, c.target) for c in connections] == [(first.id, second.id)]


def chatgpt(*nodes):
    mapping = {
        name: {
            "id": name,
            "parent": parent,
            "children": [],
            "message": role
            and {
                "author": {"role": role},
                "create_time": 1700000000.5,
                "content": {"content_type": kind, "parts": [text]},
                "metadata": {"model_slug": "gpt-4o"} if role == "assistant" else {},
            },
        }
        for name, parent, role, text, kind in nodes
    }
    return [{"title": "t", "conversation_id": "c1", "mapping": mapping, "current_node": nodes[-1][0]}]


def test_chatgpt_keeps_the_answers_that_were_made_again(bench):
    held = chatgpt(
        ("root", None, None, "", "text"),
        ("sys", "root", "system", "be good", "text"),
        ("q", "sys", "user", "why?", "text"),
        ("think", "q", "assistant", "hmm", "thoughts"),
        ("one", "think", "assistant", "because", "text"),
        ("two", "q", "assistant", "therefore", "text"),
        ("q2", "two", "user", "and?", "text"),
        ("three", "q2", "assistant", "so", "text"),
    )
    bench.write("conversations.json", json.dumps(held))
    ran = run_here(bench, "nebula", "import", "chatgpt", "conversations.json")
    assert ran.out.startswith("3 turns added"), ran.err
    nodes, connections = flow_of(bench, "chatgpt")
    assert {(node.prompt, node.response) for node in nodes} == {
        ("why?", "because"),
        ("why?", "therefore"),
        ("and?", "so"),
    }
    name = {node.id: node.response for node in nodes}
    assert {(name[c.source], name[c.target]) for c in connections} == {("therefore", "so")}
    assert nodes[0].timestamp == "2023-11-14T22:13:20.500000+00:00"


def test_an_export_of_claude_ai(bench):
    chats = [
        {"uuid": "h", "sender": "human", "text": "hi", "created_at": "2025-01-02T03:04:05Z"},
        {"uuid": "a", "sender": "assistant", "content": [{"type": "text", "text": "hello"}], "created_at": "x"},
    ]
    bench.write("conversations.json", json.dumps([{"uuid": "c", "name": "n", "chat_messages": chats}]))
    run_here(bench, "nebula", "import", "claude", "conversations.json")
    (node,), _ = flow_of(bench, "claude")
    assert (node.prompt, node.response) == ("hi", "hello")


AIDER = """
# aider chat started at 2025-03-04 05:06:07

> Main model: gpt-4o with diff edit format
> Git repo: .git with 1 files

#### make greet say good evening
#### please

app.py
```python
<<<<<<< SEARCH
    return "hello"
=======
    return "good evening"
>>>>>>> REPLACE
```

> Applied edit to app.py

#### /add app.py

> Added app.py

#### thanks

You are welcome.
"""


def test_the_history_of_aider(bench):
    bench.write(".aider.chat.history.md", AIDER)
    bench.write("app.py", APP)
    assert run_here(bench, "nebula", "import", "aider").out.startswith("2 turns added")
    (first, second), connections = flow_of(bench, "aider")
    assert first.prompt == "make greet say good evening\nplease" and first.model == "gpt-4o"
    assert second.response == "You are welcome." and len(connections) == 1
    runs = run_here(bench, "nebula", "blame", "app.py", "--json").json
    assert [(run["start_line"], run["tool"]) for run in runs if run["by"] == "other"] == [(2, "aider")]


def test_a_conversation_in_plain_markdown(bench):
    bench.write(
        "talk.md",
        "# A talk\n\n## User\nhow?\n\n## Assistant\nlike this:\n```\nUser: no\n```\n\n**User:** why?\n\n**AI:** so\n",
    )
    run_here(bench, "nebula", "import", "markdown", "talk.md")
    (first, second), _ = flow_of(bench, "markdown")
    assert (first.prompt, second.prompt, second.response) == ("how?", "why?", "so") and "User: no" in first.response


def test_files_of_codex_by_its_patches(bench, histories):
    patch = '*** Begin Patch\n*** Update File: app.py\n@@\n def greet():\n-    return 1\n+    return "good evening"\n*** End Patch'
    meta = {"type": "session_meta", "payload": {"id": "s", "cwd": str(bench.project)}}
    user = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "do"}]}
    call = {"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": "c"}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    items = [{"type": "response_item", "payload": each} for each in (user, call, said)]
    histories.put(".codex/sessions/rollout-3.jsonl", lines(*map(json.dumps, [meta, *items])))
    bench.write("app.py", APP)
    run_here(bench, "nebula", "import", "codex")
    runs = run_here(bench, "nebula", "blame", "app.py", "--json").json
    assert [(run["start_line"], run["tool"]) for run in runs if run["by"] == "other"] == [(2, "codex")]


def test_what_is_missing_is_a_mistake_of_the_user(bench):
    assert run_here(bench, "nebula", "import", "chatgpt").code == 64
    assert run_here(bench, "nebula", "import", "claude").code == 64
    assert run_here(bench, "nebula", "import", "claude", "nowhere.jsonl").code == 64
    assert run_here(bench, "nebula", "import", "emacs").code == 64


# What a stranger may have written


def test_circles_deep_nests_and_rubbish_do_no_harm(bench, histories):
    deep = '{"type":"user","uuid":"d","message":' + "[" * 100_000 + "]" * 100_000 + "}"
    histories.claude(
        text=lines(
            entry("x", "y", "user", "round"),
            entry("y", "x", "assistant", "and round"),
            entry("self", "self", "user", "me"),
            entry("b", "self", "assistant", "you"),
            deep,
            "not json",
            '"a string"',
            '{"uuid": 5, "type": ["user"]}',
            '{"uuid": "q", "type": "user", "message": 7, "timestamp": {}}',
            entry("c", {"no": "parent"}, "user", "\x00\x1b[31m control \udcff"),
            entry("e", "c", "assistant", "]]> ok"),
        )
    )
    ran = run_here(bench, "nebula", "import", "claude")
    assert ran.code == 0 and ran.out.startswith("3 turns added"), ran.err
    assert "lines that cannot be understood: 3" in ran.err and "messages that continue themselves: 1" in ran.err
    assert run_here(bench, "nebula", "graph", "check").code == 0
    assert run_here(bench, "nebula", "import", "claude").out.startswith("0 turns added")


def test_a_pipe_a_link_and_a_folder_hold_nobody_up(bench, histories, tmp_path):
    place = histories.claude(text=lines(entry("u", None, "user", "hi"), entry("a", "u", "assistant", "ho")))
    os.mkfifo(place.parent / "pipe.jsonl")
    secret = tmp_path / "secret.jsonl"
    secret.write_text(lines(entry("s", None, "user", "linked"), entry("t", "s", "assistant", "no")))
    (place.parent / "link.jsonl").symlink_to(secret)
    (place.parent / "round").symlink_to(place.parent)
    ran = run_here(bench, "nebula", "import", "claude")
    assert ran.code == 0 and ran.out.startswith("1 turns added") and "files that cannot be read: 1" in ran.err


def test_paths_outside_and_secret_files_are_not_recorded(bench, histories):
    def written(path):
        result = {
            "type": "create",
            "filePath": path,
            "content": "TOKEN=1\n",
            "structuredPatch": [],
            "originalFile": None,
        }
        content = [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]
        return {"content": content, "toolUseResult": result}

    paths = ["/etc/passwd", "../up.py", f"{bench.project}/.env", f"{bench.project}/ok.py", "a\x00b"]
    entries = [entry("u", None, "user", "write", cwd=str(bench.project))]
    for number, path in enumerate(paths):
        one = written(path)
        before = f"r{number - 1}" if number else "u"
        entries.append(entry(f"r{number}", before, "user", one["content"], toolUseResult=one["toolUseResult"]))
    histories.claude(text=lines(*entries, entry("a", "r4", "assistant", "done")))
    run_here(bench, "nebula", "import", "claude")
    (node,), _ = flow_of(bench, "claude")
    assert {file.path: bool(file.wrote) for file in node.files} == {".env": False, "ok.py": True}
    assert all(not file.after for file in node.files if file.path == ".env")


@pytest.mark.slow
def test_a_long_chain_is_walked_without_calling_itself(bench, histories):
    entries = [entry("0", None, "user", "start"), entry("1", "0", "assistant", "go")]
    entries += [entry(str(n), str(n - 1), "assistant", "x") for n in range(2, 30_000)]
    histories.claude(text=lines(*entries))
    assert run_here(bench, "nebula", "import", "claude").out.startswith("1 turns added")


@pytest.mark.parametrize("argv", [("import", "claude"), ("import", "agent-trace", "records.jsonl")])
def test_what_comes_in_stays_out_of_git_until_it_is_shared(bench, histories, argv):
    subprocess.run(["git", "init", "-q", "."], cwd=bench.project, check=True)
    histories.claude()
    by = {"contributor": {"type": "ai"}, "ranges": [{"start_line": 1, "end_line": 1}]}
    record = {"id": "1", "vcs": {"type": "git", "revision": "a" * 40}, "tool": {"name": "x"}}
    bench.write("records.jsonl", json.dumps(record | {"files": [{"path": "a", "conversations": [by]}]}))
    assert run_here(bench, "nebula", *argv).code == 0
    seen = subprocess.run(["git", "status", "--short"], cwd=bench.project, check=True, capture_output=True, text=True)
    assert ".nebula" not in seen.stdout


def test_the_flow_that_the_page_begins_with_is_there_beside_the_imported_one(bench, histories):
    histories.claude()
    run_here(bench, "nebula", "import", "claude")
    with Graph(str(bench.project / ".nebula/graph")) as graph:
        assert sorted(flow.name for flow in graph.list_flows()) == ["claude", "main"]
