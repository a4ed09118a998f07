"""A connection to one server, by the official client: real processes and real HTTP, from its start to its end."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nebula.tools.external import connection as connection_module
from nebula.tools.external.configured import ExternalServer
from nebula.tools.external.connection import MAX_PROMPTS, MAX_REASON, MAX_TOOLS, ServerConnection, ServerFailed
from nebula.tools.external.resources import READ_RESOURCE
from nebula.tools.external.sign_in import SignInNeeded

pytestmark = pytest.mark.slow

SERVER = """
import json, os, sys, time
script = json.loads(sys.argv[1])
if script.get("dies"):
    print("first words\\n" + script["dies"] + "\\n\\n", file=sys.stderr)
    sys.exit(3)
time.sleep(script.get("sleeps", 0))

def page(kind, asked):
    found = script.get(kind, [])
    start, size = int((asked.get("params") or {}).get("cursor") or 0), script.get("page", 1000)
    more = {"nextCursor": str(start + size)} if start + size < len(found) else {}
    return {kind: found[start:start + size], **more}

for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, params = asked["method"], asked.get("params") or {}
    if method == "initialize":
        said = {"protocolVersion": params["protocolVersion"], "capabilities": script["capabilities"],
                "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list" and ("tools" in script["capabilities"] or not script["capabilities"]):
        said = page("tools", asked)
    elif method == "resources/list" and "broken" not in script:
        said = page("resources", asked)
    elif method == "resources/templates/list" and "broken" not in script:
        said = {"resourceTemplates": []}
    elif method == "resources/read":
        said = {"contents": [{"uri": params["uri"], "text": "read " + params["uri"]}]}
    elif method == "prompts/list" and "broken" not in script:
        said = page("prompts", asked)
    elif method == "prompts/get" and params["name"] != "never":
        words = params["name"] + " " + json.dumps(params.get("arguments"))
        said = {"messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
    elif method in ("tools/call", "prompts/get") and params["name"] == "never":
        continue
    elif method == "tools/call" and params["name"] == "die":
        os._exit(1)
    elif method == "tools/call" and params["name"] == "rubbish":
        said = {"content": 7, "isError": "perhaps"}
    elif method == "tools/call" and params["name"] == "slow":
        note = {"progressToken": params["_meta"]["progressToken"], "progress": 1, "total": 3, "message": "on it"}
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": note}), flush=True)
        said = {"content": [{"type": "text", "text": "[]"}]}
    elif method == "tools/call" and params["name"] == "refuse":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32000, "message": "not today"}}), flush=True)
        continue
    elif method == "tools/call":
        text = json.dumps([params["name"], params.get("arguments"), os.getcwd(), os.environ.get("COLOUR")])
        said = {"content": [{"type": "text", "text": text}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}), flush=True)
"""
LOOK = {"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}}


def connection(folder: Path, script: dict[str, Any], **more: Any) -> ServerConnection:
    (folder / "server.py").write_text(SERVER)
    played = {"capabilities": {"tools": {}}, **script}
    args = str(folder / "server.py"), json.dumps(played)
    return ServerConnection(ExternalServer("s", sys.executable, args, **{"timeout_s": 20.0, **more}))


@asynccontextmanager
async def opened(folder: Path, script: dict[str, Any], **more: Any) -> AsyncIterator[ServerConnection]:
    made = connection(folder, script, **more)
    try:
        await made.open()
        yield made
    finally:
        await made.close()


def text_of(result: Any) -> Any:
    return json.loads(result.content[0].text)


async def test_it_runs_from_open_to_close_and_can_be_opened_again(tmp_path: Path) -> None:
    made = connection(tmp_path, {"tools": [LOOK]})
    assert not made.is_open and (made.tools, made.prompts, made.problem, made.left_out) == ((), (), "", ())
    for _ in range(2):
        await made.open()
        task = made._task
        await made.open()  # it runs: nothing happens
        assert made.is_open and made._task is task and [each.name for each in made.tools] == ["look"]
        await made.close()
        assert not made.is_open and task is not None and task.done()
    await made.close()  # a second time does no harm


async def test_the_time_that_our_own_client_takes_to_load_is_not_the_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = threading.Event()
    monkeypatch.setattr(connection_module, "import_module", lambda _: loaded.wait())
    made = connection(tmp_path, {}, timeout_s=0.01)
    opening = asyncio.create_task(made.open())
    await asyncio.wait([opening], timeout=0.3)
    failed_early = opening.done()
    loaded.set()
    assert not failed_early
    with pytest.raises(ServerFailed, match=r"no answer within 0\.01 s"):
        await opening


async def test_a_call_reaches_it_with_its_arguments_where_and_as_it_was_configured(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    where = {"cwd": str(tmp_path / "place"), "env": (("COLOUR", "blue"),)}
    async with opened(tmp_path, {"tools": [LOOK]}, **where) as made:
        assert text_of(await made.call("look", {"at": 1})) == ["look", {"at": 1}, str(tmp_path / "place"), "blue"]
        with pytest.raises(ServerFailed, match="The MCP server s cannot be used: not today"):
            await made.call("refuse", {})
        assert made.is_open and made.problem == ""


async def test_a_call_opens_what_was_closed(tmp_path: Path) -> None:
    made = connection(tmp_path, {"tools": [LOOK]})
    assert text_of(await made.call("look", {}))[0] == "look" and made.is_open
    await made.close()


async def test_all_pages_of_its_tools_are_read_up_to_a_limit(tmp_path: Path) -> None:
    many = [{**LOOK, "name": f"t{number}"} for number in range(MAX_TOOLS + 7)]
    async with opened(tmp_path, {"tools": many[:25], "page": 10}) as made:
        assert [each.name for each in made.tools] == [f"t{number}" for number in range(25)]
    async with opened(tmp_path, {"tools": many, "page": 90}) as made:
        assert [each.name for each in made.tools] == [f"t{number}" for number in range(MAX_TOOLS)]


async def test_resources_are_one_tool_more_where_there_are_any(tmp_path: Path) -> None:
    lens = {"uri": "s://lens", "name": "lens"}
    offers = {"capabilities": {"tools": {}, "resources": {}}, "tools": [LOOK]}
    async with opened(tmp_path, {**offers, "resources": [lens]}) as made:
        assert [each.name for each in made.tools] == ["look", READ_RESOURCE]
        read = await made.call(READ_RESOURCE, {"uri": "s://lens"})
        assert read.content[0].resource.text == "read s://lens"  # type: ignore[union-attr]
    for nothing in ({"resources": []}, {"resources": [lens], "broken": True}):
        async with opened(tmp_path, {**offers, **nothing}) as made:
            assert [each.name for each in made.tools] == ["look"]


async def test_a_tool_of_its_own_with_that_name_is_its_own(tmp_path: Path) -> None:
    offers = {"capabilities": {"tools": {}, "resources": {}}, "resources": [{"uri": "s://lens", "name": "lens"}]}
    async with opened(tmp_path, {**offers, "tools": [{**LOOK, "name": READ_RESOURCE}]}) as made:
        assert [each.name for each in made.tools] == [READ_RESOURCE]
        assert text_of(await made.call(READ_RESOURCE, {"uri": "s://lens"}))[0] == READ_RESOURCE


async def test_a_server_without_tools_is_used_for_the_rest(tmp_path: Path) -> None:
    prompts = [{"name": f"p{number}"} for number in range(MAX_PROMPTS + 3)]
    async with opened(tmp_path, {"capabilities": {"prompts": {}}, "prompts": prompts}) as made:
        assert made.tools == () and [each.name for each in made.prompts] == [f"p{each}" for each in range(MAX_PROMPTS)]
        said = await made.prompt("p1", {"who": "hana"})
        assert said.messages[0].content.text == 'p1 {"who": "hana"}'  # type: ignore[union-attr]
    async with opened(
        tmp_path, {"capabilities": {"prompts": {}, "tools": {}}, "tools": [LOOK], "broken": True}
    ) as made:
        assert (len(made.tools), made.prompts) == (1, ())
    async with opened(tmp_path, {"capabilities": {}, "tools": [LOOK]}) as made:
        assert [each.name for each in made.tools] == ["look"], "one that says nothing of itself is asked"


async def test_why_it_did_not_start_is_its_own_last_word_and_is_kept_until_it_does(tmp_path: Path) -> None:
    made = connection(tmp_path, {"dies": "no key " + "k" * 500})
    with pytest.raises(ServerFailed) as failed:
        await made.open()
    assert made.problem == str(failed.value.values["reason"]) == ("no key " + "k" * 500)[:MAX_REASON]
    assert str(failed.value).startswith("The MCP server s cannot be used: no key kkk") and not made.is_open
    well = connection(tmp_path, {"tools": [LOOK]}).server
    made.server = well
    await made.open()
    assert (made.problem, made.is_open) == ("", True)
    await made.close()


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    made = ServerConnection(ExternalServer("s", "/no/such/program"))
    with pytest.raises(ServerFailed, match="No such file or directory: '/no/such/program'"):
        await made.open()


async def test_a_start_that_is_given_up_leaves_nothing_running(tmp_path: Path) -> None:
    made = connection(tmp_path, {"sleeps": 600})
    opening = asyncio.create_task(made.open())
    await asyncio.sleep(0.5)
    opening.cancel()
    async with asyncio.timeout(25):
        with pytest.raises(asyncio.CancelledError):
            await opening
    assert (made.is_open, made._task) == (False, None)


async def test_two_that_open_it_at_once_start_one(tmp_path: Path) -> None:
    made = connection(tmp_path, {"tools": [LOOK]})
    await asyncio.gather(made.open(), made.open(), made.open())
    assert made.is_open
    await made.close()


async def test_how_far_a_call_is_is_told(tmp_path: Path) -> None:
    told: list[Any] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async with opened(tmp_path, {"tools": [LOOK]}) as made:
        assert text_of(await made.call("slow", {}, report)) == [] and told == [(1.0, 3.0, "on it")]


async def test_what_is_not_answered_in_time_names_the_setting(tmp_path: Path) -> None:
    late = "The MCP server s cannot be used: no answer within 1 s (its timeout_s in mcp_servers)"
    offers = {"capabilities": {"tools": {}, "prompts": {}}, "tools": [LOOK]}
    async with opened(tmp_path, offers, timeout_s=1.0) as made, asyncio.timeout(40):
        for ask in (made.call("never", {}), made.prompt("never", {})):
            with pytest.raises(ServerFailed) as failed:
                await ask
            assert str(failed.value) == late
        assert text_of(await made.call("look", {}))[0] == "look", "it goes on"


async def test_a_server_that_ends_in_a_call_is_started_again_at_the_next(tmp_path: Path) -> None:
    async with opened(tmp_path, {"tools": [LOOK]}) as made:
        with pytest.raises(ServerFailed, match=r": it ended during the call, and is started again at the next one$"):
            await made.call("die", {})
        assert not made.is_open and text_of(await made.call("look", {}))[0] == "look" and made.is_open


async def test_an_answer_that_is_none_is_told_in_one_line(tmp_path: Path) -> None:
    async with opened(tmp_path, {"tools": [LOOK]}) as made:
        with pytest.raises(ServerFailed) as failed:
            await made.call("rubbish", {})
        assert "\n" not in str(failed.value) and "CallToolResult" in str(failed.value)


@contextmanager
def answering(status: int) -> Iterator[str]:
    """The address of a server that answers everything with one status."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "reason"),
    [(500, "it answered with HTTP 500"), (400, "it answered with HTTP 400"), (401, str(SignInNeeded("s")))],
)
async def test_what_a_server_with_an_address_answers_is_the_reason(tmp_path: Path, status: int, reason: str) -> None:
    with answering(status) as url:
        made = ServerConnection(ExternalServer("s", url=url, home=str(tmp_path), timeout_s=20.0))
        with pytest.raises(ServerFailed, match="The MCP server s cannot be used: ") as failed:
            await made.open()
    assert str(failed.value) == f"The MCP server s cannot be used: {reason}"


async def test_an_address_where_nobody_answers_is_told_in_one_line(tmp_path: Path) -> None:
    with answering(200) as url:
        pass  # it is closed again
    made = ServerConnection(ExternalServer("s", url=url, home=str(tmp_path), timeout_s=20.0))
    with pytest.raises(ServerFailed) as failed:
        await made.open()
    reason = str(failed.value).removeprefix("The MCP server s cannot be used: ")
    assert "connect" in reason.lower() and "\n" not in reason and made.problem == reason
