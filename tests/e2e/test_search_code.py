"""searchCode from outside: real process, real HTTP, scripted model, real index."""

from __future__ import annotations

import json
import subprocess

import pytest

from gateway_rig import server_command
from scripted_model import Call, ScriptedModel, Turn

LIGHT = "def lighthouse():\n    return beacon()\n"


@pytest.fixture
def project(bench):
    subprocess.run(["git", "init", "-q"], cwd=bench.project, check=True)
    bench.write("src/light.py", LIGHT)
    bench.write("src/boat.py", "def anchor():\n    return chain()\n")
    bench.write(".gitignore", "ignored.py\n")
    bench.write("ignored.py", "def lighthouse_ignored():\n    pass\n")
    bench.write(".env", "LIGHTHOUSE_KEY=abcdefghij\n")
    return bench


def ask(bench, script, *args, code=0, **env):
    with ScriptedModel(script) as server:
        ran = bench.run("nebula", "-p", "go", "--output-format", "stream-json", *args, **server.env(), **env)
        sent = [turn.json for turn in server.turns]
    assert ran.code == code, ran.err
    return ran.events, sent


def of_type(events, kind):
    return [event for event in events if event["type"] == kind]


def chunks_of(event):
    return event["result"]["content"][0]["Json"]["chunks"]


@pytest.mark.parametrize("mode", ["plan", "agent"])
def test_the_first_search_builds_the_index(project, mode):
    script = [Turn("", [Call("searchCode", {"query": "where is the lighthouse?", "top_k": 1})]), Turn("Found.")]
    events, _ = ask(project, script, "--mode", mode)
    (result,) = of_type(events, "tool_result")
    (chunk,) = chunks_of(result)
    assert set(chunk) == {"path", "span", "text", "score"}
    assert (chunk["path"], chunk["span"], chunk["text"]) == ("src/light.py", "L1-L2", LIGHT.removesuffix("\n"))
    assert [notice["message"] for notice in of_type(events, "notice")] == [
        "The code index of this project is being built; that happens once."
    ]
    (evidence,) = result["evidence"]
    assert (evidence["path"], evidence["span"], len(evidence["blob"])) == ("src/light.py", "L1-L2", 40)
    trace = [json.loads(line) for line in project.read(".nebula/trace.jsonl").splitlines()]
    assert [each["evidence"] for each in trace if "evidence" in each] == [[evidence]]
    events, _ = ask(project, script)
    assert of_type(events, "notice") == [], "the second time it is there"


def test_what_is_secret_or_ignored_never_appears(project):
    script = [Turn("", [Call("searchCode", {"query": "LIGHTHOUSE_KEY abcdefghij ignored", "top_k": 50})]), Turn("ok")]
    events, sent = ask(project, script)
    assert {chunk["path"] for chunk in chunks_of(of_type(events, "tool_result")[0])} <= {"src/light.py", ".gitignore"}
    assert "abcdefghij" not in json.dumps(sent[1]["messages"][-1])


def test_a_search_sees_what_the_turn_itself_wrote(project):
    script = [
        Turn("", [Call("searchCode", {"query": "windmill"})]),
        Turn("", [Call("writeFile", {"path": "src/mill.py", "content": "def windmill():\n    pass\n"})]),
        Turn("", [Call("searchCode", {"query": "windmill", "path_prefix": "src/"})]),
        Turn("src/mill.py:L1-L2 has it."),
    ]
    events, _ = ask(project, script, "--yes")
    first, _, second = of_type(events, "tool_result")
    assert chunks_of(first) == []
    assert [chunk["path"] for chunk in chunks_of(second)] == ["src/mill.py"]
    assert events[-1]["citations"] == {"held": 1, "total": 1}


def test_a_change_is_queued_for_whoever_has_the_index_open(project):
    assert project.run("nebula", "index", "sync").code == 0
    ask(project, [Turn("", [Call("writeFile", {"path": "a.py", "content": "x = 1\n"})]), Turn("ok")], "--yes")
    status = json.loads(project.run("nebula", "index", "status", "--json").out)
    assert (status["queued"], status["files"]) == (1, 3)
    assert json.loads(project.run("nebula", "index", "sync", "--json").out)["ingested"] == 1


def test_nothing_is_queued_where_there_is_no_index(project):
    ask(project, [Turn("", [Call("writeFile", {"path": "a.py", "content": "x = 1\n"})]), Turn("ok")], "--yes")
    assert not list(project.home.rglob("queue")) + list(project.home.rglob("index.db"))


def test_citations_are_checked_against_the_files_as_they_are(project):
    answer = "See src/light.py:L1-L2, src/light.py:L2, `src/boat.py#L1-L2`; not src/light.py:L9-L12 nor gone.py:L1-L2."
    events, _ = ask(project, [Turn(answer)])
    assert events[-1]["citations"] == {"held": 3, "total": 5}
    events, _ = ask(project, [Turn("Nothing is cited; ratio 3:L is no path.")])
    assert "citations" not in events[-1]
    changed = [
        Turn("", [Call("searchCode", {"query": "lighthouse", "top_k": 1})]),
        Turn("", [Call("readFile", {"path": "src/light.py"})]),
        Turn("", [Call("editFile", {"path": "src/light.py", "new_content": "import sea\n" + LIGHT})]),
        Turn("src/light.py:L1-L2"),
    ]
    events, _ = ask(project, changed, "--yes")
    assert events[-1]["citations"] == {"held": 0, "total": 1}, "these lines are not what they were when shown"


def test_lines_that_a_search_showed_may_be_edited(project):
    project.write("src/far.py", LIGHT + "\n" * 3 + "x = 1\n" * 80)
    edits = [{"old_text": "beacon()", "new_text": "lamp()"}]
    beyond = [{"old_text": "x = 1\n" * 80, "new_text": "y = 2\n"}]
    script = [
        Turn("", [Call("searchCode", {"query": "lighthouse beacon", "path_prefix": "src/far.py", "top_k": 1})]),
        Turn("", [Call("editFile", {"path": "src/far.py", "edits": beyond})]),
        Turn("", [Call("editFile", {"path": "src/far.py", "edits": edits})]),
        Turn("done"),
    ]
    events, _ = ask(project, script, "--yes")
    assert [event["status"] for event in of_type(events, "tool_result")] == ["Success", "Error", "Success"]
    assert "lamp()" in project.read("src/far.py") and "y = 2" not in project.read("src/far.py")


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_that_a_search_showed_may_be_edited_in_a_later_session(project, ending):
    (project.project / "src/far.py").write_bytes((LIGHT + "\n" * 3 + "x = 1\n" * 80).replace("\n", ending).encode())
    search = Call("searchCode", {"query": "lighthouse beacon", "path_prefix": "src/far.py", "top_k": 1})
    ask(project, [Turn("", [search]), Turn("Found.")])
    beyond = [{"old_text": f"x = 1{ending}" * 80, "new_text": "y = 2\n"}]
    edits = [{"old_text": "beacon()", "new_text": "lamp()"}]
    script = [
        Turn("", [Call("editFile", {"path": "src/far.py", "edits": beyond})]),
        Turn("", [Call("editFile", {"path": "./src/far.py", "edits": edits})]),
        Turn("done"),
    ]
    events, _ = ask(project, script, "--yes", "--continue")
    assert [event["status"] for event in of_type(events, "tool_result")] == ["Error", "Success"]
    assert "lamp()" in project.read("src/far.py")


def test_lines_that_moved_since_a_search_showed_them_are_read_again_first(project):
    search = Call("searchCode", {"query": "lighthouse", "top_k": 1})
    ask(project, [Turn("", [search]), Turn("Found.")])
    project.write("src/light.py", "import sea\ndef lighthouse(): return beacon()\n")
    edits = [{"old_text": "beacon()", "new_text": "lamp()"}]
    script = [Turn("", [Call("editFile", {"path": "src/light.py", "edits": edits})]), Turn("done")]
    events, _ = ask(project, script, "--yes", "--continue", code=1)
    assert [event["status"] for event in of_type(events, "tool_result")] == ["Error"]


def test_a_remote_index_gets_the_trace_id(project, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "src").mkdir(parents=True)
    (elsewhere / "src/light.py").write_text(LIGHT)
    env = {"EC_TOKEN": "s3cret"}
    with server_command("rag", elsewhere, env={**env, "NEBULA_HOME": str(tmp_path / "there")}) as rag:
        script = [Turn("", [Call("searchCode", {"query": "lighthouse", "top_k": 1})]), Turn("ok")]
        events, _ = ask(project, script, EC_RAG_URL=rag.url, **env)
        assert [chunk["path"] for chunk in chunks_of(of_type(events, "tool_result")[0])] == ["src/light.py"]
        line = rag.audited()[0]
    assert (line["trace_id"], line["method"], line["status"]) == (events[0]["trace_id"], "search", 200)
    assert not list(project.home.rglob("index.db"))
    events, _ = ask(project, script, EC_RAG_URL=rag.url, **env)
    assert of_type(events, "tool_result")[0]["status"] == "Error", "the server has gone; the turn goes on"


def test_a_bad_call_is_an_error_for_the_model(project):
    calls = [{}, {"query": " "}, {"query": "x", "top_k": 0}, {"query": 3}]
    events, _ = ask(project, [*(Turn("", [Call("searchCode", args)]) for args in calls), Turn("ok")])
    assert [event["status"] for event in of_type(events, "tool_result")] == ["Error"] * 4
