"""A session from its settings to its files, in this process, with a model that plays a script."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from known_machine import know_the_machine
from nebula.agent.assembly import open_preview, open_session, open_workbench
from nebula.agent.context.preview import preview_turn
from nebula.agent.context.tokens import tool_tokens
from nebula.agent.conversation import CUT_SHORT, WITHDRAWN
from nebula.config import Settings
from nebula.graph.graph import Graph
from nebula.graph.tokens import estimate_tokens
from nebula.llm.choose import ChosenModel
from nebula.llm.errors import LimitError
from nebula.memory.errors import UnknownSession
from nebula.memory.sessions import Sessions
from nebula.messages import AssistantMessage, UserMessage
from nebula.testing import ScriptedConnector, scripted_session
from nebula.tools.approval import Approvals, allow_all
from nebula.value import replace

KEY = "sk-test-0123456789abcdef"


def say(text):
    return {"text": text}


def read(path, text=""):
    return {"text": text, "tool_calls": [{"name": "readFile", "args": {"path": path}}]}


@pytest.fixture
def settings(tmp_path, monkeypatch):
    home, root = tmp_path / "home", tmp_path / "project"
    root.mkdir()
    know_the_machine(home)
    monkeypatch.setenv("NEBULA_HOME", str(home))
    return Settings(home=str(home), root=str(root), openai_api_key=KEY)


def run(settings, *steps, prompts=("go",), **options):
    """Return the turns' results, their events, and the requests they made."""

    async def scenario():
        async with scripted_session(steps, settings=settings, **options) as scripted:
            finals = [await scripted.turn(prompt) for prompt in prompts]
        return finals, scripted.events, scripted.requests

    return asyncio.run(scenario())


def spoken(request):
    """The conversation of a request, who said it and what."""
    said = []
    for message in request.messages:
        if isinstance(message, AssistantMessage):
            said.append(("model", message.content))
        elif message.prompt is not None:
            said.append(("user", message.prompt))
    return said


def notices(events):
    return [str(event.sentence) for event in events if event.type == "notice"]


def test_a_turn_is_in_memory_log_trace_and_graph(settings):
    Path(settings.root, "a.py").write_text("x = 1\n", encoding="utf-8")
    (final,), events, _ = run(settings, read("a.py", "I look."), say("It is 1."), prompts=["What is x?"])
    assert (final.status, final.text, events[-1]) == ("ok", "I look.\n\nIt is 1.", final)
    state = Path(settings.root, ".nebula")
    assert "## AGENT:nebula\nIt is 1." in (state / "log.txt").read_text("utf-8")
    lines = [json.loads(line) for line in (state / "trace.jsonl").read_text("utf-8").splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert [line["type"] for line in lines] == ["task", "message", "step", "tool_result", "message", "final"]
    node = Graph(str(state / "graph")).get_node(final.node_id)
    assert (node.prompt, node.response) == ("What is x?", final.text)
    with Sessions(settings.memory_path) as memory:
        assert len(memory.turns(memory.latest(settings.root).id)[0]) == 4


def test_the_figures_of_a_node_are_those_of_its_own_texts(settings):
    Path(settings.root, "a.py").write_text("x = 1\n" * 500, encoding="utf-8")
    (final,), _, _ = run(settings, read("a.py"), say("It is 1."), prompts=["What is x?"])
    node = Graph(os.path.join(settings.root, ".nebula", "graph")).get_node(final.node_id)
    counts = {text.role: text.count for text in node.texts}
    assert (counts["user"], counts["assistant"]) == (estimate_tokens("What is x?"), estimate_tokens("It is 1."))


def test_a_resumed_session_goes_on_where_it_was(settings):
    Path(settings.root, "a.py").write_text("x = 1\n", encoding="utf-8")
    (first,), _, _ = run(settings, read("a.py"), say("It is 1."), prompts=["What is x?"])
    (second,), events, requests = run(settings, say("Still 1."), prompts=["And now?"], resume="")
    assert spoken(requests[0]) == [("user", "What is x?"), ("model", ""), ("model", "It is 1."), ("user", "And now?")]
    assert events[0].parents == (first.node_id,)
    assert [node.id for node in Graph(os.path.join(settings.root, ".nebula/graph")).get_history(second.node_id)] == [
        first.node_id,
        second.node_id,
    ]


def test_a_session_of_another_project_is_not_resumed(settings, tmp_path):
    run(settings, say("one"))
    with Sessions(settings.memory_path) as memory:
        elsewhere = memory.start(str(tmp_path), "m")
    with pytest.raises(UnknownSession, match="belongs to"):
        run(settings, resume=elsewhere)


def test_a_prompt_that_failed_never_joins_the_next(settings):
    finals, _, requests = run(
        settings,
        LimitError("too much"),
        say("Only listed."),
        prompts=["Delete every test file.", "No, only list them."],
    )
    assert (finals[0].status, finals[0].node_id) == ("error", None)
    told = [("user", "Delete every test file."), ("model", WITHDRAWN), ("user", "No, only list them.")]
    assert spoken(requests[1]) == told
    _, _, resumed = run(settings, say("Yes."), prompts=["Sure?"], resume="")
    assert spoken(resumed[0]) == [*told, ("model", "Only listed."), ("user", "Sure?")]


def test_a_turn_that_was_interrupted_is_told_as_cut_short(settings):
    Path(settings.root, "a.py").write_text("x = 1\n", encoding="utf-8")

    async def interrupt():
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    finals, _, requests = run(settings, read("a.py"), interrupt, say("Well."), prompts=["Do much.", "Stop. Why?"])
    assert (finals[0].status, finals[0].node_id) == ("interrupted", None)
    assert spoken(requests[2]) == [("user", "Do much."), ("model", ""), ("model", CUT_SHORT), ("user", "Stop. Why?")]


def test_an_oversized_prompt_does_not_spoil_the_rest_of_the_session(settings):
    run(settings, LimitError("it does not fit"), prompts=["long " * 60_000])
    _, _, requests = run(settings, say("Short."), prompts=["short"], resume="")
    assert sum(len(text) for _, text in spoken(requests[0])) < 4_000


def test_an_unreadable_row_costs_a_remark_not_the_session(settings):
    run(settings, say("one"))
    with Sessions(settings.memory_path) as memory:
        session_id = memory.latest(settings.root).id
        memory._connection.execute(
            "INSERT INTO messages (session_id, role, tool_results) VALUES (?, 'tool', '{broken')", (session_id,)
        )
    (final,), events, requests = run(settings, say("two"), resume="")
    assert final.status == "ok"
    assert ["left out" in text for text in notices(events)] == [True]
    assert [event.type for event in events[:2]] == ["task", "notice"]
    assert spoken(requests[0])[:2] == [("user", "go"), ("model", "one")]


def test_a_session_that_is_open_elsewhere_is_joined_with_a_warning(settings):
    async def scenario():
        first = await open_session(settings, approver=allow_all, chosen=ChosenModel(ScriptedConnector([]), "m"))
        second = await open_session(
            settings, approver=allow_all, chosen=ChosenModel(ScriptedConnector([]), "m"), resume=first.id
        )
        warned = [str(sentence) for sentence in second.remarks.take()]
        await first.close()
        await second.close()
        third = await open_session(
            settings, approver=allow_all, chosen=ChosenModel(ScriptedConnector([]), "m"), resume=first.id
        )
        after = third.remarks.take()
        await third.close()
        return warned, after

    warned, after = asyncio.run(scenario())
    assert ["in use by another process" in text for text in warned] == [True]
    assert after == []


def test_a_killed_process_leaves_no_session_that_looks_open(settings):
    code = (
        "import os, signal, sys; from nebula.memory.session_lock import SessionLock\n"
        "assert SessionLock(sys.argv[1], 's1').take(); print('held', flush=True); signal.pause()"
    )
    from nebula.memory.session_lock import SessionLock

    with subprocess.Popen([sys.executable, "-c", code, settings.home], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        lock = SessionLock(settings.home, "s1")
        assert not lock.take()
        process.kill()
        process.wait()
    assert lock.take()
    lock.release()


def test_instructions_that_cannot_be_read_are_remarked_once(settings):
    Path(settings.root, "AGENTS.md").mkdir()
    _, events, _ = run(settings, say("one"), say("two"), prompts=["a", "b"])
    assert notices(events) == ["AGENTS.md cannot be read: it is not a regular file"]


def test_a_key_typed_in_a_prompt_reaches_the_model_and_no_file(settings):
    (final,), events, requests = run(settings, say(f"You said {KEY}."), prompts=[f"My key is {KEY}."])
    assert spoken(requests[0]) == [("user", f"My key is {KEY}.")]
    assert KEY not in str(events)
    assert final.text == "You said [redacted]."
    files = [path for top in (settings.root, settings.home) for path in Path(top).rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_model_that_reads_one_file_for_ever_is_stopped(settings):
    Path(settings.root, "a.py").write_text("x = 1\n", encoding="utf-8")
    (final,), events, requests = run(settings, *[read("a.py")] * 100)
    assert (final.status, final.exit_code, len(requests)) == ("limit", 1, 6)
    assert "readFile" in str(final.remark)
    results = [event.result for event in events if event.type == "tool_result"]
    assert ["not run again" in str(result) for result in results] == [False, False, True, True, True]


def test_a_file_that_changed_in_between_is_read_again(settings):
    Path(settings.root, "a.py").write_text("x = 1\n", encoding="utf-8")
    edit = {"text": "", "tool_calls": [{"name": "editFile", "args": {"path": "a.py", "new_content": "x = 2\n"}}]}
    (final,), events, _ = run(settings, read("a.py"), read("a.py"), edit, read("a.py"), say("Done."))
    results = [event.result for event in events if event.type == "tool_result"]
    assert final.status == "ok"
    assert results[-1].content[0].value == {"content": "x = 2\n"}


def test_what_a_session_made_is_found_outside_the_project(settings):
    run(settings, say("one"))
    assert not Path(settings.root, ".nebula", "trails").exists()
    with Sessions(settings.memory_path) as memory:
        session_id = memory.latest(settings.root).id
    assert len(list(Path(settings.home).glob(f"projects/*/sessions/{session_id}"))) == 1


def test_a_session_that_branched_is_resumed_on_its_last_branch(settings):
    async def scenario():
        script = ScriptedConnector([say("one"), say("two"), say("three"), LimitError("too much")])
        session = await open_session(settings, approver=allow_all, chosen=ChosenModel(script, "m"))
        await session.turn("first")
        await session.turn("second")
        session.place.step_back()
        await session.turn("another second")
        await session.turn("never answered")
        await session.close()

    asyncio.run(scenario())
    _, _, requests = run(settings, say("four"), prompts=["third"], resume="")
    assert spoken(requests[0]) == [
        ("user", "first"),
        ("model", "one"),
        ("user", "another second"),
        ("model", "three"),
        ("user", "never answered"),
        ("model", WITHDRAWN),
        ("user", "third"),
    ]
    assert all(isinstance(message, UserMessage | AssistantMessage) for message in requests[0].messages)


def test_a_turn_is_kept_though_git_took_the_one_before_it_along_to_another_branch(settings):
    folder = Path(settings.root)

    def git(*argv):
        who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
        subprocess.run(["git", *who, *argv], cwd=folder, check=True, capture_output=True)

    async def scenario():
        async with scripted_session([say("one"), say("two"), say("three")], settings=settings) as scripted:
            finals = [await scripted.turn("first")]
            git("init", "-q", "-b", "main")
            git("add", "-f", ".nebula/graph")
            git("commit", "-qm", "first")
            git("switch", "-qc", "work")
            finals.append(await scripted.turn("second"))
            git("add", "-f", ".nebula/graph")
            git("commit", "-qm", "second")
            git("switch", "-q", "main")
            return [*finals, await scripted.turn("third")]

    first, second, third = asyncio.run(scenario())
    graph = Graph(str(folder / ".nebula/graph"))
    assert {node.id for node in graph.list_nodes()} == {first.node_id, third.node_id}
    assert second.node_id and third.remark is None


def long_past(settings, turns=12):
    """A conversation too long for the context of these settings; the ids of its nodes."""
    replies = [say(f"Answer {number}. " + "It goes on and on. " * 60) for number in range(turns)]
    finals, _, _ = run(settings, *replies, prompts=[f"Question {number}?" for number in range(turns)])
    return [final.node_id for final in finals], Graph(os.path.join(settings.root, ".nebula", "graph"))


def test_a_preview_is_what_is_sent(settings):
    small = replace(settings, context_tokens=6_000, model="m")
    ids, graph = long_past(small)
    preview = preview_turn(open_preview(small, graph), ids[-1:], "And now?")
    _, _, (request,) = run(small, say("Now."), prompts=["And now?"], from_nodes=ids[-1:])
    assert request.system == preview.system
    sent = "\n".join(text for _, text in spoken(request))
    full = [part for part in preview.parts if part.form == "full"]
    assert [f"Question {number}?" in sent for number in range(12)] == [
        node_id in {part.node_id for part in full} for node_id in ids
    ]
    assert 0 < len(full) < len(preview.parts)
    assert all(part.text in request.system for part in preview.parts if part.form != "full")
    assert {*ids} == {*(part.node_id for part in preview.parts), *preview.left_out}
    assert preview.total_tokens <= preview.budget


def test_what_the_past_takes_at_hand_follows_what_is_sent(settings):
    small = replace(settings, context_tokens=6_000, model="m")
    long_past(small)

    async def scenario():
        chosen = ChosenModel(
            ScriptedConnector([say('{"summary": "Kept.", "tags": []}')] * 40), "m", small.context_tokens
        )
        session = await open_session(small, approver=allow_all, chosen=chosen, resume="")
        try:
            told = [_sent_and_told(session)]
            await session.compact("everything")
            return [*told, _sent_and_told(session)]
        finally:
            await session.close()

    (sent, told), (sent_small, told_small) = asyncio.run(scenario())
    assert sent <= told <= 3_600
    assert sent_small < sent and abs(sent_small - told_small) < 500


def _sent_and_told(session):
    sent = session.build_context("preview")
    beside = estimate_tokens(sent.system) + tool_tokens(sent.tools.specs)
    return beside + sent.past.tokens, session.budget.estimate_next(session.conversation)


def test_a_summary_built_meanwhile_is_what_an_old_turn_is_told_by(settings):
    small = replace(settings, context_tokens=6_000, model="m")
    ids, graph = long_past(small)
    parts = preview_turn(open_preview(small, graph), ids[-1:]).parts
    told = [part.node_id for part in parts if part.form != "full"][-1]  # the oldest goes where the tools take more room
    graph.save_summary(told, "What a model made of it.", ["topic"])
    _, _, (request,) = run(small, say("Now."), resume="")
    assert f"[{told}]: What a model made of it." in request.system


def test_references_are_sent_and_kept_with_the_node(settings):
    (first,), _, _ = run(settings, say("The sky is blue."), prompts=["Which colour?"])
    script = ScriptedConnector(["Blue."])

    async def scenario():
        session = await open_session(settings, approver=allow_all, chosen=ChosenModel(script, "m"))
        try:
            return await session.turn("As said there?", references=[first.node_id])
        finally:
            await session.close()

    final = asyncio.run(scenario())
    assert f"[{first.node_id}]\n[prompt]\nWhich colour?\n[answer]\nThe sky is blue." in script.requests[0].system
    node = Graph(os.path.join(settings.root, ".nebula", "graph")).get_node(final.node_id)
    assert node.references == (first.node_id,)


ENV = 'API_TOKEN="tok-55555-66666"\nDB=postgres://app:pass-word-9@host/db\n'


def test_what_an_allowed_secret_file_holds_reaches_the_model_and_no_record(settings):
    project = Path(settings.root)
    (project / ".env").write_text(ENV, encoding="utf-8")
    write = {"name": "writeFile", "args": {"path": "a.py", "content": "token = 'tok-55555-66666'\n"}}
    steps = (read(".env"), {"text": "The token is tok-55555-66666.", "tool_calls": [write]}, say("pass-word-9, too."))
    (final,), events, requests = run(settings, *steps, allow=[".env"])
    assert final.text == "The token is [redacted].\n\n[redacted], too."
    assert "tok-55555-66666" in str(requests[1].messages)
    assert (project / "a.py").read_text("utf-8") == "token = 'tok-55555-66666'\n"
    questions = [event.diff for event in events if event.type == "approval"]
    assert ["tok-55555-66666" in diff for diff in questions] == [True]
    assert files_with(settings, b"tok-55555") == [".env", "a.py"] and files_with(settings, b"pass-word-9") == [".env"]


def files_with(settings, text):
    """Return the files of the project and of the home that hold a text, those of the journal aside."""
    places = [path for top in (settings.root, settings.home) for path in Path(top).rglob("*") if path.is_file()]
    found = [os.path.relpath(path, settings.root) for path in places if text in path.read_bytes()]
    return sorted(path for path in found if not path.startswith(".nebula/journal/"))


def test_what_is_written_into_a_secret_file_is_in_no_record(settings):
    Path(settings.root, ".env").write_text("OLD=1\n", encoding="utf-8")
    edits = [{"old_text": "OLD=1", "new_text": "NEW=edited-66666\nPIN=x9y8"}]
    calls = [
        {"name": "editFile", "args": {"path": "./.env", "edits": edits}},
        {"name": "writeFile", "args": {"path": "server.key", "content": "a passphrase\nK=made-77777\n"}},
    ]
    said = {"text": "I put made-77777 there.", "tool_calls": calls}
    (final,), _, requests = run(settings, read(".env"), said, say("edited-66666"), allow=[".env", "server.key"])
    assert (final.text, final.exit_code) == ("I put [redacted] there.\n\n[redacted]", 0)
    assert "edited-66666" in str(requests[2].messages)
    assert files_with(settings, b"edited-66666") == files_with(settings, b"x9y8") == [".env"]
    assert files_with(settings, b"passphrase") == files_with(settings, b"made-77777") == ["server.key"]


def test_what_commands_may_see_of_an_allowed_secret_file_is_known_before_any_runs(settings):
    """A command may copy it into any file, whose difference is recorded before the model has read a word of it."""
    Path(settings.root, ".env").write_text(ENV, encoding="utf-8")
    bench = open_workbench(settings, Approvals(allow_all), [".env", "a.txt", "missing.key"])
    try:
        bench.tools("t")
    finally:
        asyncio.run(bench.close())
    assert bench.redactor.text("+tok-55555-66666") == "+[redacted]"


def test_what_is_kept_of_the_past_holds_no_secret(settings):
    Path(settings.root, ".env").write_text(ENV, encoding="utf-8")

    async def scenario():
        steps = [read(".env"), *map(say, ("Read.", "Yes.", "A summary.", "Another.", "It is tok-55555-66666."))]
        async with scripted_session(steps, settings=settings, allow=[".env"]) as scripted:
            for prompt in ("a", "b"):
                await scripted.turn(prompt)
            await scripted.session.compact(focus="the token")
            return scripted.session.conversation.digest

    assert "It is" in asyncio.run(scenario())
    assert files_with(settings, b"tok-55555") == [".env"] and files_with(settings, b"It is [redacted].")


def test_a_secret_learnt_in_one_turn_is_kept_out_of_the_next(settings):
    Path(settings.root, ".env").write_text(ENV, encoding="utf-8")
    finals, _, _ = run(
        settings, read(".env"), say("Read."), say("It was tok-55555-66666."), prompts=["a", "b"], allow=[".env"]
    )
    assert finals[1].text == "It was [redacted]."


def test_a_merge_that_failed_is_still_a_merge_when_it_is_tried_again(settings):
    sides = [run(settings, say(text))[0][0].node_id for text in ("left", "right")]
    finals, events, _ = run(
        settings, LimitError("too much"), say("Both."), prompts=["merge", "merge"], from_nodes=sides
    )
    assert [event.parents for event in events if event.type == "task"] == [tuple(sides), tuple(sides)]
    assert finals[1].status == "ok"


def open_places(folder, but):
    """What this process has open below a folder; other tests' files, and the graph that stays open, do not count."""
    with os.scandir("/proc/self/fd") as entries:
        names = [entry.path for entry in entries]
    places = [os.readlink(name) for name in names if os.path.lexists(name)]
    return [place for place in places if place.startswith(folder) and but not in place]


def test_sessions_that_were_closed_keep_no_files_open(settings, tmp_path):
    Path(settings.root, "a.py").write_text("x = 1\n", encoding="utf-8")
    graph = Graph(str(Path(settings.root, ".nebula", "graph")))

    async def scenario():
        chosen = ChosenModel(ScriptedConnector([read("a.py"), "1"]), "m", settings.context_tokens)
        session = await open_session(settings, approver=allow_all, chosen=chosen, open_graph=lambda: graph)
        await session.turn("go")
        during = open_places(str(tmp_path), but="graph")
        await session.close()
        return during, open_places(str(tmp_path), but="graph")

    during, afterwards = asyncio.run(scenario())
    graph.close()
    assert during
    assert afterwards == []
