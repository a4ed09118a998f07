"""`nebula.testing`, used as its document says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from nebula.events import Error, Notice
from nebula.language import Sentence
from nebula.llm.errors import LimitError
from nebula.testing import ScriptedCall, ScriptedModel, ScriptedReply, captured_events, scripted_session

ROOT = Path(__file__).parent.parent.parent
EXAMPLE, *_ = re.findall(r"```python\n(.*?)```", (ROOT / "docs/guides/testing.md").read_text("utf-8"), re.DOTALL)


def write(path: str) -> ScriptedReply:
    return ScriptedReply("", [ScriptedCall("writeFile", {"path": path, "content": "x\n"})])


def test_the_example_of_the_document_runs() -> None:
    exec(compile(EXAMPLE, "docs/guides/testing.md", "exec"), {"__name__": "example"})


async def test_without_decisions_everything_is_allowed_that_yes_allows(tmp_path: Path) -> None:
    async with scripted_session([write("a"), "Done."], root=tmp_path) as scripted:
        final = await scripted.turn()
    assert (final.status, (tmp_path / "a").read_text()) == ("ok", "x\n")
    assert scripted.events.types[0] == "task" and scripted.events.types[-1] == "final"


async def test_a_question_without_an_answer_fails_the_test(tmp_path: Path) -> None:
    async with scripted_session([write("a"), "Done."], [], root=tmp_path) as scripted:
        await scripted.turn()
    assert not (tmp_path / "a").exists()
    [error] = scripted.events.of(Error)
    assert "no answer to question 1" in str(error.sentence)


async def test_a_request_without_a_reply_fails_the_turn() -> None:
    async with scripted_session([write("a")]) as scripted:
        final = await scripted.turn()
    assert (final.status, len(scripted.requests)) == ("error", 2)
    assert "no reply to request 2" in str(scripted.events.of(Error)[0].sentence)


async def test_an_error_and_a_function_stand_where_a_reply_does() -> None:
    async def think() -> dict[str, str]:
        return {"text": "Thought."}

    async with scripted_session([think, LimitError("Too much.")]) as scripted:
        first, second = await scripted.turn("one"), await scripted.turn("two")
    assert (first.text, second.status) == ("Thought.", "error")
    assert [error.kind for error in scripted.events.of(Error)] == ["limit"]


async def test_decisions_are_the_words_of_the_wire(tmp_path: Path) -> None:
    async with scripted_session([write("a"), write("b"), "Done."], ["all"], root=tmp_path) as scripted:
        await scripted.turn()
    assert [question.path for question in scripted.questions] == ["a"]
    assert (tmp_path / "b").exists()


def test_captured_events_are_told_apart_by_class() -> None:
    events = captured_events()
    events.emit(Notice(Sentence("Look.")))
    events.emit(Error("x", Sentence("No.")))
    assert events.types == ["notice", "error"]
    assert [str(each.sentence) for each in events.of(Notice)] == ["Look."]


@pytest.mark.slow
def test_the_server_runs_as_a_program(tmp_path: Path) -> None:
    script = tmp_path / "replies.json"
    script.write_text(json.dumps([{"text": "Hello."}]), "utf-8")
    command = [sys.executable, "-m", "nebula.testing", "--script", str(script)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        body = json.dumps({"model": "m", "messages": []}).encode()
        with urllib.request.urlopen(f"{url}/v1/chat/completions", body) as answer:
            assert json.load(answer)["choices"][0]["message"]["content"] == "Hello."
        rest, _ = server.communicate("")
    assert json.loads(rest)["path"] == "/v1/chat/completions"


def test_nothing_of_the_product_imports_it() -> None:
    code = "import sys, nebula.cli.nebula, nebula.agent.assembly; print([m for m in sys.modules if 'testing' in m])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_reply_of_text_alone_goes_over_http_as_that_text() -> None:
    with ScriptedModel(["Hello.", lambda request: f"Again, {request.json['model']}."]) as server:
        assert [_ask(server) for _ in range(2)] == ["Hello.", "Again, m."]


def _ask(server: ScriptedModel) -> str:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
    request = urllib.request.Request(
        f"{server.openai_url}/chat/completions", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        said: str = json.load(answer)["choices"][0]["message"]["content"]
    return said
