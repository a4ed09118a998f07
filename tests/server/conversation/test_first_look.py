"""The first look of a page: what the WebSocket would answer, in one answer that a browser asks for by itself."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import json

import pytest
from starlette.testclient import TestClient

from conversation_rig import serving, talk
from nebula.agent.session import CHAT
from nebula.config import Settings
from nebula.graph.graph import Graph
from nebula.server.conversation.app import CHAT_MODES, create_conversation
from nebula.server.conversation.first_look import SOON_S
from nebula.server.conversation.turns.agent import AgentTurns
from nebula.server.gate import Rules


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    from conftest import Bench

    folder = tmp_path_factory.mktemp("look")
    (folder / "project").mkdir()
    (folder / "home").mkdir()
    with serving(Bench(folder / "project", folder / "home"), "vizprompt") as running:
        yield running


def get(server, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def look(server, query=""):
    status, headers, body = get(server, f"/first{query}")
    assert (status, headers["content-type"]) == (200, "application/json")
    return json.loads(body)


async def test_it_is_what_the_line_would_answer(server):
    async with talk(server) as client:
        await client.ask("create_node", prompt="日本語で", response="はい")
        for number in range(60):
            await client.ask("create_node", prompt=f"turn {number}")
        flow = (await client.ask("get_flow", compact=True))["data"]
        hello = (await client.ask("hello"))["data"]
        nodes = (await client.ask("first_nodes"))["data"]["nodes"]
        near = (await client.ask("first_nodes", near=flow["ids"][20]))["data"]["nodes"]
        found = look(server)
        assert found == {"hello": hello | {"seq": found["hello"]["seq"]}, "flow": flow, "nodes": nodes}
        assert nodes[0]["title"] == "日本語で"
        assert look(server, f"?flow={flow['flow_id']}&node={flow['ids'][20]}")["nodes"] == near != nodes
        await client.ask("create_node", prompt="one more")
        assert len(look(server)["flow"]["ids"]) == len(flow["ids"]) + 1


async def test_events_go_on_from_where_it_was_taken(server):
    async with talk(server) as writer, talk(server) as reader:
        hello = look(server)["hello"]
        made = (await writer.ask("create_node", prompt="between the look and the line"))["node_id"]
        answer = await reader.ask("subscribe", since=hello["seq"], epoch=hello["epoch"])
        assert answer["data"]["resumed"]
        assert await reader.event("node_created", node_id=made)


async def test_it_is_read_when_the_page_is_given_and_nothing_is_missed(server):
    async with talk(server) as writer, talk(server) as reader:
        get(server, "/")
        made = (await writer.ask("create_node", prompt="after the page, before its first look"))["node_id"]
        now = (await writer.ask("hello"))["data"]["seq"]
        hello = look(server)["hello"]
        assert hello["seq"] < now
        assert look(server)["hello"]["seq"] >= now, "it is given once"
        await reader.ask("subscribe", since=hello["seq"], epoch=hello["epoch"])
        assert await reader.event("node_created", node_id=made)


@pytest.mark.slow
async def test_what_was_read_long_ago_is_read_anew(server):
    async with talk(server) as client:
        get(server, "/")
        await client.ask("create_node", prompt="long after the page")
        now = (await client.ask("hello"))["data"]["seq"]
        await asyncio.sleep(SOON_S + 0.3)
        assert look(server)["hello"]["seq"] >= now


async def test_what_is_read_for_one_page_is_no_other_s(server):
    async with talk(server) as client:
        get(server, "/?flow=none")
        await client.ask("create_node", prompt="so that there is a flow")
        assert look(server)["flow"]["name"] == "main"


async def test_what_cannot_be_had_is_left_out(server):
    async with talk(server) as client:
        await client.ask("create_node", prompt="so that there is a flow")
    for query in ("?flow=none", "?flow=", "?flow=..%2Fmain"):
        assert list(look(server, query)) == ["hello"]
    assert look(server, "?node=none&figures=7")["flow"]["name"] == "main"


def test_the_page_says_where_it_is(server):
    for query in ("", "?flow=main&node=a-b_c", "?flow=%E6%97%A5+1"):
        assert get(server, f"/{query}")[1]["link"] == f"</first{query}>; rel=preload; as=fetch; crossorigin"
    for query in ("?a>;rel=preconnect,<", '?"', "?a;b", "?a,b"):
        assert get(server, f"/{query}")[1]["link"] is None


def test_it_is_kept_by_nobody(server):
    headers = get(server, "/first")[1]
    assert headers["cache-control"] == "no-store"
    assert (headers["cross-origin-resource-policy"], headers["x-content-type-options"]) == ("same-origin", "nosniff")
    assert headers["access-control-allow-origin"] is None


def test_it_is_compressed_where_it_has_a_way_to_go(tmp_path):
    settings = Settings(root=str(tmp_path))
    graph = Graph(tmp_path / "data")
    graph.create_node("question", "answer")
    rules = Rules(hosts=frozenset({"testserver"}))
    app = create_conversation(graph, settings, rules, AgentTurns(settings, graph, CHAT), CHAT_MODES)
    kinds = {}
    for host in ("127.0.0.1", "192.0.2.1"):
        with TestClient(app, client=(host, 1)).stream("GET", "/first", headers={"accept-encoding": "gzip"}) as answer:
            packed = b"".join(answer.iter_raw())
            kinds[host] = answer.headers.get("content-encoding")
            plain = gzip.decompress(packed) if kinds[host] else packed
            assert json.loads(plain)["flow"]["name"] == "main"
    graph.close()
    assert list(kinds.values()) == [None, "gzip"]
