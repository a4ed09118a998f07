"""The three examples do what the document says, against the real programs and the scripted model."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from conftest import Bench
from conversation_rig import serving
from scripted_model import Call, ScriptedModel, Turn
from vizprompt import VizPrompt

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def run(bench: Bench, example: str, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / example), *args]
    return subprocess.run(command, cwd=bench.project, env=bench.env(), capture_output=True, text=True, timeout=60)


def test_a_tool(bench: Bench) -> None:
    added = bench.run("nebula", "mcp", "add", "words", "--", sys.executable, str(EXAMPLES / "word_tool.py"))
    assert added.code == 0, added.err
    script = [Turn("I count.", [Call("words__count_words", {"text": "one two three"})]), Turn("Three.")]
    with ScriptedModel(script) as model:
        ran = bench.run("nebula", "-p", "How many words?", "--yes", "--output-format", "stream-json", **model.env())
    assert ran.code == 0, ran.err
    [result] = [event for event in ran.events if event["type"] == "tool_result"]
    assert result["status"] == "Success" and "3" in str(result["result"])


def test_a_connector(bench: Bench) -> None:
    answer = "import sys; text = sys.stdin.read(); print('You said', text.rpartition('user: ')[2].strip())"
    ran = run(bench, "command_model.py", "two and two", "--", sys.executable, "-c", answer)
    assert (ran.returncode, ran.stdout) == (0, "You said two and two\n"), ran.stderr
    failed = run(bench, "command_model.py", "two and two", "--", "false")
    assert failed.returncode == 1 and "Traceback" not in failed.stderr


def test_a_client_of_the_socket(bench: Bench) -> None:
    script = [Turn("I write.", [Call("writeFile", {"path": "a.txt", "content": "x\n"})]), Turn("You said no.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        ran = run(bench, "socket_client.py", server.address, "Write a file.")
        wrong = run(bench, "socket_client.py", server.address.partition("#")[0] + "#token=no", "Write a file.")
    assert (ran.returncode, ran.stdout) == (2, "I write.\nYou said no.\n"), ran.stderr
    assert not (bench.project / "a.txt").exists()
    assert wrong.returncode == 1 and wrong.stderr


@pytest.mark.parametrize("page", ["writing-code.md", "writing-code.ja.md"])
def test_the_document_shows_the_examples_as_they_are(page: str) -> None:
    text = (ROOT / "docs" / "guides" / page).read_text("utf-8")
    shown = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for name in ("word_tool.py", "command_model.py", "socket_client.py"):
        assert f"examples/{name}" in text
        assert any(block in (EXAMPLES / name).read_text("utf-8") for block in shown), name


@pytest.mark.parametrize("page", ["graph.md", "graph.ja.md"])
@pytest.mark.parametrize("other", [None, "VizPromptManager"])
def test_the_graph_as_a_library_is_what_the_page_says(page: str, other: str | None, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "concepts" / page).read_text("utf-8")
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE)
    code = "\n".join(textwrap.dedent(each) for each in blocks if "graph." in each and " = " in each)
    assert code.count("import") == 2 and "GraphChange" in code
    code = code.replace('"project/.nebula/graph"', repr(str(tmp_path / "graph"))).replace('"0198f3"', "first.id[:20]")
    if other is not None:  # "which is the same"
        code = code.replace("from nebula.graph.graph import Graph", f"from vizprompt.core import {other} as Graph")
    names: dict[str, Any] = {}
    exec(compile(code, page, "exec"), names)
    graph, first, second = names["graph"], names["first"], names["second"]
    assert graph.get_node(first.id).prompt == first.prompt, "taken out, and back again"
    assert not graph.problems()
    assert second.id not in {node.id for node in graph.get_history(first.id)}
    graph.close()


def test_the_other_face_of_the_graph_answers_with_ids(tmp_path: Path) -> None:
    with VizPrompt(str(tmp_path / "graph")) as graph:
        assert graph.get_node(graph.create_node("question", "answer")).response == "answer"
