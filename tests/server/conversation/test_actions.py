"""Every action of the WebSocket protocol (seed §12.4, SPEC §11), to the server in this process."""

from __future__ import annotations

import json
import threading

import pytest

from conversation_rig import Failed
from conversation_rig.in_process import serving_here
from nebula.agent.session import CHAT
from nebula.config import Settings
from nebula.graph.graph import Graph
from nebula.server.conversation.actions.table import ACTIONS
from nebula.server.conversation.app import CHAT_MODES
from nebula.server.conversation.turns.agent import AgentTurns


@pytest.fixture
async def server(bench):
    settings = Settings(root=str(bench.project))
    graph = Graph(bench.project / "data")
    async with serving_here(settings, graph, AgentTurns(settings, graph, CHAT), CHAT_MODES) as running:
        yield running


@pytest.fixture
async def client(server):
    async with server.talk() as connected:
        yield connected


async def chain(client, *prompts: str) -> list[str]:
    """Nodes one behind the other."""
    ids: list[str] = []
    for prompt in prompts:
        parents = ids[-1:]
        ids.append((await client.ask("create_node", prompt=prompt, response="r", parents=parents))["node_id"])
    return ids


async def refused(client, action: str, /, **data) -> str:
    with pytest.raises(Failed) as failed:
        await client.ask(action, **data)
    return failed.value.code


ASKED_FOR = {
    "create_node": "prompt response? flow_id? tags?",
    "get_node": "node_id",
    "update_node": "node_id prompt? response? tags?",
    "delete_node": "node_id",
    "connect_nodes": "source_id target_id branch_name? flow_id?",
    "disconnect_nodes": "source_id target_id flow_id?",
    "create_branch": "flow_id? node_id branch_name prompt? response?",
    "search_nodes": "tags? keywords? text?",
    "list_tags": "",
    "list_flows": "",
    "get_flow": "flow_id?",
    "update_flow": "flow_id? name? description? nodes? connections?",
    "create_flow": "name description?",
    "build": "node_id?",
    "preview_context": "node_ids prompt? references?",
    "send_prompt": "prompt from? flow_id? mode? references? images?",
    "approve": "approval_id decision hunks? paths?",
    "steer": "text trace_id?",
    "cancel": "trace_id?",
    "subscribe": "event? flow_id? since? epoch?",
    "unsubscribe": "event? flow_id?",
    "hello": "",
    "get_figures": "since? all?",
}


def test_every_action_declares_the_keys_of_the_contract():
    for name, wanted in ASKED_FOR.items():
        declared = {key.name + ("" if key.required else "?") for key in ACTIONS[name].keys}
        assert set(wanted.split()) <= declared, name


async def test_a_wrong_key_is_named_in_the_language_of_the_client(client):
    await client.ask("hello", lang="ja")
    with pytest.raises(Failed, match="'node_id' は文字列"):
        await client.ask("get_node", node_id=5)
    await client.ask("hello", lang="en")
    for data, sentence in (
        ({"node_id": 5}, "'node_id' must be a string"),
        ({}, "'node_id' is missing"),
        ({"node_id": "x", "tags": [1]}, "'tags' must be a list of strings"),
    ):
        with pytest.raises(Failed, match=sentence):
            await client.ask("update_node", **data)


async def test_references_by_id_and_by_tag(client):
    ids = await chain(client, "first question", "second question")
    aside = (await client.ask("create_node", prompt="aside", response="beside the path", tags=["空"]))["node_id"]
    for reference in (aside, "#空"):
        context = (await client.ask("preview_context", node_ids=[ids[1]], references=[reference]))["data"]
        assert [part["node_id"] for part in context["parts"]] == [*ids, aside]
    for unknown in ("none", "#none"):
        assert await refused(client, "preview_context", node_ids=[ids[1]], references=[unknown]) == "not_found"
        assert await refused(client, "send_prompt", prompt="x", references=[unknown]) == "not_found"
    assert await refused(client, "send_prompt", prompt="x", images=[{"name": "a", "data": ""}]) == "bad_request"


async def test_create_node_answers_as_the_seeds_example_reads_it(client, bench):
    answer = await client.ask("create_node", prompt="質問内容", response="回答内容", tags=["a", "b"])
    assert answer["status"] == "success"
    assert answer["node_id"] == answer["data"]["node_id"]
    node = Graph(bench.project / "data").get_node(answer["node_id"])
    assert (node.prompt, node.response, node.tags) == ("質問内容", "回答内容", ["a", "b"])


async def test_get_update_delete(client):
    [node_id] = await chain(client, "first")
    got = (await client.ask("get_node", node_id=node_id))["data"]
    assert (got["node_id"], got["prompt"], got["response"]) == (node_id, "first", "r")
    updated = (await client.ask("update_node", node_id=node_id, response="changed", tags=["t"]))["data"]
    assert (updated["prompt"], updated["response"], updated["tags"]) == ("first", "changed", ["t"])
    assert (await client.ask("delete_node", node_id=node_id))["data"] == {"node_id": node_id}
    assert await refused(client, "get_node", node_id=node_id) == "not_found"
    assert await refused(client, "update_node", node_id=node_id, prompt="x") == "not_found"
    assert await refused(client, "delete_node", node_id=node_id) == "not_found"
    assert await refused(client, "get_history", node_id=node_id) == "not_found"
    assert await refused(client, "export_branch", node_id=node_id) == "not_found"


@pytest.fixture
async def nodes(client, bench) -> list[tuple[str, str]]:
    """Ids of a chain of five, each with its shortest beginning that stands for it alone."""
    ids = await chain(client, *"abcde")
    short = Graph(bench.project / "data").shortest_unique_ids(ids)
    assert all(len(short[each]) < len(each) for each in ids)
    return [(each, short[each]) for each in ids]


async def test_a_unique_beginning_stands_for_an_id(client, nodes):
    async def ask(action: str, /, **data):
        return (await client.ask(action, **data))["data"]

    (a, short_a), (b, short_b), (_, short_c), (d, short_d), (e, short_e) = nodes
    assert (await ask("get_node", node_id=short_a))["node_id"] == a
    assert (await ask("update_node", node_id=short_a.upper(), tags=["x"]))["node_id"] == a
    assert [each["id"] for each in (await ask("get_nodes", node_ids=[short_b, "none"]))["nodes"]] == [b]
    assert (await ask("get_history", node_id=short_b))["node_ids"] == [a, b]
    seen = await ask("preview_context", node_ids=[short_b], references=[short_d])
    assert [part["node_id"] for part in seen["parts"]] == [a, b, d]
    flow = await ask("disconnect_nodes", source_id=short_b, target_id=short_c)
    assert len(flow["connections"]) == 3
    flow = await ask("connect_nodes", source_id=short_b, target_id=short_c)
    assert len(flow["connections"]) == 4
    pair = {"source_id": short_a, "target_id": short_e}
    flow = await ask("update_flow", nodes=[short_a, short_e], connections=[pair])
    assert [(each["source"], each["target"]) for each in flow["connections"]] == [(a, e)]
    assert (await ask("delete_node", node_id=short_d))["node_id"] == d
    assert await refused(client, "get_node", node_id=d) == "not_found"


@pytest.mark.parametrize(
    ("action", "data"),
    [
        ("get_node", {"node_id": "0"}),
        ("delete_nodes", {"node_ids": ["0"]}),
        ("send_prompt", {"prompt": "x", "from": "0"}),
        ("connect_nodes", {"source_id": "0", "target_id": "0"}),
    ],
)
async def test_an_ambiguous_beginning_is_refused_with_its_candidates(client, nodes, action, data):
    with pytest.raises(Failed) as failed:
        await client.ask(action, **data)
    assert failed.value.code == "ambiguous_id"
    assert all(whole in str(failed.value) for whole, _ in nodes)


async def test_any_text_comes_back_exactly(client):
    for text in ("]]>", "a\r\nb\rc\n", "\n\n x \n", "\x00\x1b[31m", "🌌\u200d", "<script>alert(1)</script>"):
        node_id = (await client.ask("create_node", prompt=text, response=text))["node_id"]
        assert (await client.ask("get_node", node_id=node_id))["data"]["prompt"] == text


async def test_flows(client):
    one, two, three = await chain(client, "1", "2", "3")
    flow = (await client.ask("get_flow"))["data"]
    assert (flow["name"], [node["id"] for node in flow["nodes"]]) == ("main", [one, two, three])
    assert flow["connections"] == [{"source": one, "target": two}, {"source": two, "target": three}]
    assert (await client.ask("get_flow", flow_id=flow["flow_id"]))["data"] == flow
    compact = (await client.ask("get_flow", compact=True))["data"]
    assert (compact["flow_id"], compact["ids"], compact["pairs"]) == (flow["id"], [one, two, three], [0, 1, 1, 2])
    await client.ask("disconnect_nodes", source_id=one, target_id=two)
    assert (await client.ask("get_flow", compact=True))["data"]["pairs"] == [1, 2]
    await client.ask("undo")
    other = (await client.ask("create_flow", name="別の流れ", description="d"))["data"]
    assert (other["name"], other["description"], other["nodes"]) == ("別の流れ", "d", [])
    flows = (await client.ask("list_flows"))["data"]["flows"]
    assert [(each["name"], each["node_count"]) for each in flows] == [("main", 3), ("別の流れ", 0)]
    assert await refused(client, "get_flow", flow_id="none") == "not_found"
    assert await refused(client, "create_node", prompt="x", flow_id="none") == "not_found"
    assert await refused(client, "create_flow", name=" ") == "bad_request"


async def test_connect_disconnect_and_cycles(client):
    one, two = await chain(client, "1", "2")
    three = (await client.ask("create_node", prompt="3"))["node_id"]
    flow = (await client.ask("connect_nodes", source_id=two, target_id=three, branch_name="分岐"))["data"]
    assert {"source": two, "target": three, "branch": "分岐"} in flow["connections"]
    assert await refused(client, "connect_nodes", source_id=three, target_id=one) == "cycle_detected"
    assert await refused(client, "connect_nodes", source_id=one, target_id="none") == "not_found"
    flow = (await client.ask("disconnect_nodes", source_id=one, target_id=two, flow_id="main"))["data"]
    assert flow["connections"] == [{"source": two, "target": three, "branch": "分岐"}]
    assert await refused(client, "disconnect_nodes", source_id=one, target_id=two) == "not_found"


async def test_create_branch(client):
    one, two = await chain(client, "1", "2")
    answer = await client.ask(
        "create_branch", flow_id="main", node_id=one, branch_name="other", prompt="p", response="r"
    )
    flow = (await client.ask("get_flow"))["data"]
    assert {"source": one, "target": answer["node_id"], "branch": "other"} in flow["connections"]
    assert (await client.ask("get_node", node_id=answer["node_id"]))["data"]["prompt"] == "p"
    assert await refused(client, "create_branch", flow_id="main", node_id=two) == "bad_request"


async def test_update_flow(client):
    one, two, three = await chain(client, "1", "2", "3")
    flow = (await client.ask("update_flow", flow_id="main", nodes=[three, one]))["data"]
    assert flow["connections"] == [{"source": three, "target": one}]
    wanted = [{"source": one, "target": two}, {"source": one, "target": three, "branch": "b"}]
    flow = (await client.ask("update_flow", flow_id="main", nodes=[one, two, three], connections=wanted))["data"]
    assert flow["connections"] == wanted
    circle = [{"source": one, "target": two}, {"source": two, "target": one}]
    assert await refused(client, "update_flow", flow_id="main", connections=circle) == "cycle_detected"
    assert (await client.ask("get_flow"))["data"]["connections"] == wanted
    flow = (await client.ask("update_flow", flow_id="main", description="what it is about"))["data"]
    assert (flow["description"], flow["connections"]) == ("what it is about", wanted)
    assert await refused(client, "update_flow", flow_id="main") == "bad_request"


async def test_one_action_is_one_step_of_undo(client):
    ids = [(await client.ask("create_node", prompt=f"p{number}"))["node_id"] for number in range(3)]
    flow = (await client.ask("create_flow", name="new"))["data"]["flow_id"]
    await client.ask("undo")
    assert [each["name"] for each in (await client.ask("list_flows"))["data"]["flows"]] == ["main"]
    assert (await client.ask("get_node", node_id=ids[2]))["data"]["prompt"] == "p2"
    await client.ask("redo")
    assert (await client.ask("get_flow", flow_id="new"))["data"]["flow_id"] == flow
    with pytest.raises(Failed, match="already"):
        await client.ask("update_flow", flow_id="main", name="new", nodes=ids[:1])
    assert len((await client.ask("get_flow", flow_id="main"))["data"]["nodes"]) == 3
    await client.ask("delete_nodes", node_ids=ids[:2])
    assert len((await client.ask("get_flow", flow_id="main"))["data"]["nodes"]) == 1
    await client.ask("undo")
    assert len((await client.ask("get_flow", flow_id="main"))["data"]["nodes"]) == 3


async def test_undo_and_redo(client):
    one, two = await chain(client, "1", "2")
    before = (await client.ask("get_flow"))["data"]["connections"]
    await client.ask("disconnect_nodes", source_id=one, target_id=two)
    await client.ask("delete_node", node_id=two)
    assert (await client.ask("undo"))["data"] == {"done": True}
    assert (await client.ask("undo"))["data"] == {"done": True}
    assert (await client.ask("get_flow"))["data"]["connections"] == before
    assert (await client.ask("get_node", node_id=two))["data"]["prompt"] == "2"
    assert (await client.ask("redo"))["data"] == {"done": True}
    assert (await client.ask("get_flow"))["data"]["connections"] == []
    for _ in range(3):
        await client.ask("undo")
    assert (await client.ask("undo"))["data"] == {"done": False}
    assert (await client.ask("get_flow"))["data"]["nodes"] == []


async def test_a_page_takes_back_what_it_did_itself_and_keeps_that_over_a_break(server):
    async with server.talk() as one, server.talk() as other, server.talk() as nameless:
        await one.ask("hello", page="one")
        await other.ask("hello", page="other")
        node = (await one.ask("create_node", prompt="p"))["node_id"]
        await other.ask("update_node", node_id=node, tags=["theirs"])
        assert (await nameless.ask("undo"))["data"] == {"done": False}
        await one.ask("update_node", node_id=node, note="mine")
        await other.ask("update_node", node_id=node, note="theirs")
        with pytest.raises(Failed, match="changed_since"):
            await one.ask("undo")
        await other.ask("undo")
        known = (await one.ask("get_node", node_id=node))["data"]
        assert (known["note"], known["tags"]) == ("mine", ["theirs"])
    async with server.talk() as again:
        await again.ask("hello", page="other")
        await again.ask("undo")
        assert not (await again.ask("get_node", node_id=node))["data"]["tags"]
        assert (await again.ask("undo"))["data"] == {"done": False}


async def test_hits_are_counted_beside_the_event_loop(bench):
    counting: list[int] = []

    class WatchedGraph(Graph):
        def search_nodes(self, *args, **kwargs):
            found = super().search_nodes(*args, **kwargs)
            count = found.count_all
            found.count_all = lambda: counting.append(threading.get_ident()) or count()
            return found

    graph = WatchedGraph(bench.project / "data")
    settings = Settings(root=str(bench.project))
    running = serving_here(settings, graph, AgentTurns(settings, graph, CHAT), CHAT_MODES)
    async with running as server, server.talk() as client:
        await chain(client, "token one", "token two")
        found = await client.ask("search_nodes", text="token", limit=1)
    assert found["data"]["total"] == 2 and len(found["data"]["nodes"]) == 1
    assert counting and threading.get_ident() not in counting


async def test_search_and_tags(client):
    await client.ask("create_node", prompt="日本語の検索", response="見つかる", tags=["検索", "ja"])
    await client.ask("create_node", prompt="English text", response="found", tags=["en"])
    for data, prompts in (
        ({"text": "検索"}, ["日本語の検索"]),
        ({"tags": ["en"]}, ["English text"]),
        ({"tags": ["en"], "text": "検索"}, []),
        ({"keywords": ["ja"]}, ["日本語の検索"]),
        ({"text": "nothing of the kind"}, []),
    ):
        nodes = (await client.ask("search_nodes", **data))["data"]["nodes"]
        assert [node["prompt"] for node in nodes] == prompts, data
    assert set((await client.ask("list_tags"))["data"]["tags"]) == {"検索", "ja", "en"}
    assert await refused(client, "search_nodes", tags=[1]) == "bad_request"


async def test_many_nodes_in_short(client):
    ids = await chain(client, "\n\nfirst line\nsecond", "x" * 500)
    nodes = (await client.ask("get_nodes", node_ids=[*ids, "none"]))["data"]["nodes"]
    assert [(node["id"], node["title"][:10], len(node["title"])) for node in nodes] == [
        (ids[0], "first line", 10),
        (ids[1], "x" * 10, 120),
    ]
    assert await refused(client, "get_nodes", node_ids=["x"] * 501) == "bad_request"
    assert (await client.ask("get_history", node_id=ids[1]))["data"]["node_ids"] == ids


async def test_nodes_that_are_seen_first(client):
    ids = await chain(client, *(f"turn {number}" for number in range(130)))

    async def seen(**data):
        return [node["title"] for node in (await client.ask("first_nodes", **data))["data"]["nodes"]]

    assert await seen() == [f"turn {number}" for number in (*range(40), *range(109, 130), *range(90, 109))]
    assert await seen(near=ids[80]) == [f"turn {number}" for number in (*range(40), *range(60, 100), *range(41, 60))]
    assert "later" not in await seen()
    await client.ask("create_node", prompt="later", parents=ids[-1:])
    assert "later" in await seen()
    await client.ask("create_flow", name="empty")
    assert await seen(flow_id="empty") == []
    assert await refused(client, "first_nodes", flow_id="none") == "not_found"


async def test_preview_context(client):
    ids = await chain(client, "first question", "second question")
    context = (await client.ask("preview_context", node_ids=[ids[1]], prompt="and now?"))["data"]
    assert [(part["node_id"], part["form"]) for part in context["parts"]] == [(ids[0], "full"), (ids[1], "full")]
    assert context["total_tokens"] == sum(part["tokens"] for part in context["parts"])
    assert context["left_out"] == []
    assert "second question" in context["parts"][1]["text"]
    assert await refused(client, "preview_context", node_ids=["none"]) == "not_found"


async def test_build_without_a_model_makes_extracts(client):
    [node_id] = await chain(client, "How do I sort a list in Python? Tell me.")
    await client.ask("subscribe", event="summary_built")
    built = (await client.ask("build"))["data"]
    assert (built["built"], built["failed"]) == ([node_id], [])
    event = await client.event("summary_built")
    assert (event["data"]["node_id"], bool(event["data"]["summary"])) == (node_id, True)
    assert (await client.ask("get_node", node_id=node_id))["data"]["summary"]
    assert await refused(client, "build", node_id="none") == "not_found"


async def raw(client, text) -> dict:
    await client.connection.send(text)
    return await client.receive()


async def test_what_is_not_a_request_is_answered_and_the_line_stays_open(client):
    for text, code in (
        ("no json", "bad_request"),
        ("[1]", "bad_request"),
        ("{}", "bad_request"),
        ('{"action": 1}', "bad_request"),
        ('{"action": "get_node", "data": []}', "bad_request"),
        ('{"action": "get_node", "data": {}}', "bad_request"),
        ('{"action": "get_node", "data": {"node_id": 5}}', "bad_request"),
        ('{"action": "fly"}', "unknown_action"),
        ('{"action": "create_node", "data": {"prompt": "\\ud800"}}', "bad_text"),
        ("[" * 100_000, "bad_request"),
        (b"\x00\x01", "bad_request"),
    ):
        answer = await raw(client, text)
        assert (answer["status"], answer["error"]["code"]) == ("error", code), text[:60]
        assert answer["error"]["message"]
    assert (await client.ask("list_flows"))["status"] == "success"


async def test_a_request_id_of_any_kind_comes_back(client):
    for number in ("seven", 7, {"a": 1}):
        assert (await raw(client, json.dumps({"action": "list_flows", "id": number})))["id"] == number
        assert (await raw(client, json.dumps({"action": "fly", "id": number})))["id"] == number
    assert "id" not in await raw(client, '{"action": "list_flows"}')


@pytest.mark.parametrize("size", [(1 << 20) + 1, 5 << 20])
async def test_a_message_over_one_mebibyte_is_answered_with_an_error(client, size):
    answer = await raw(client, json.dumps({"action": "create_node", "data": {"prompt": "x" * size}}))
    assert (answer["status"], answer["error"]["code"]) == ("error", "too_large")
    assert (await client.ask("list_flows"))["status"] == "success"


async def test_a_refused_message_gets_its_id_back_too(client):
    large = {"action": "create_node", "data": {"prompt": "x" * (1 << 20), "id": "not this"}}
    for number in ("seven", 7):
        for request in (large | {"id": number}, {"id": number} | large, {"action": "fly", "id": number} | large):
            assert (await raw(client, json.dumps(request)))["id"] == number
        assert (await raw(client, json.dumps({"action": "fly", "data": {"a": "\ud800"}, "id": number})))["id"] == number
    assert "id" not in await raw(client, json.dumps(large))


async def test_a_message_of_one_mebibyte_is_carried_out(client):
    frame = json.dumps({"action": "create_node", "data": {"prompt": ""}})
    prompt = "x" * ((1 << 20) - len(frame))
    answer = await raw(client, json.dumps({"action": "create_node", "data": {"prompt": prompt}}))
    assert answer["status"] == "success"
    japanese = json.dumps({"action": "create_node", "data": {"prompt": "語" * 400_000}}, ensure_ascii=False)
    assert (await raw(client, japanese))["error"]["code"] == "too_large"


async def test_requests_are_answered_in_order(client):
    numbers = [await client.send("create_node", prompt=str(number)) for number in range(30)]
    assert [(await client.receive())["id"] for _ in numbers] == numbers


async def test_both_paths_speak(server):
    async with server.talk("/ws") as client:
        assert (await client.ask("hello"))["data"]["epoch"]


async def test_turns_are_pinned_tags_renamed_and_flows_archived_each_one_step(client):
    first, second = await chain(client, "one", "two")
    await client.ask("update_node", node_id=second, pinned=True, note="remember", tags=["bug"])
    found = (await client.ask("search_nodes", pinned=True, brief=True))["data"]["nodes"]
    assert [(node["id"], node["pinned"], node["note"]) for node in found] == [(second, True, "remember")]
    assert (await client.ask("rename_tag", tag="bug", name="defect"))["data"]["node_ids"] == [second]
    await client.ask("undo")
    assert (await client.ask("list_tags"))["data"]["tags"] == ["bug"]
    await client.ask("update_flow", flow_id="main", archived=True)
    assert (await client.ask("list_flows"))["data"]["flows"][0]["archived"] is True
    await client.ask("undo")
    assert "archived" not in (await client.ask("list_flows"))["data"]["flows"][0]
    assert (await client.ask("list_outside"))["data"] == {"nodes": [], "total": 0}
    assert first != second


async def test_a_branch_becomes_a_flow_that_its_turn_opens(client):
    first, second, third = await chain(client, "one", "two", "three")
    made = (await client.ask("nest_branch", node_id=second, name="aside"))["data"]["flow_id"]
    here = (await client.ask("get_flow", compact=True))["data"]
    assert (here["ids"], here["opens"]) == ([first, second], {second: made})
    await client.ask("link_flow", node_id=first, to="aside")
    assert (await client.ask("get_flow", compact=True))["data"]["opens"] == {first: made, second: made}
    await client.ask("delete_flow", flow_id=made)
    assert [node["id"] for node in (await client.ask("list_outside"))["data"]["nodes"]] == [third]
    await client.ask("add_to_flow", node_id=third)
    assert third in (await client.ask("get_flow", compact=True))["data"]["ids"]
    with pytest.raises(Failed):
        await client.ask("nest_branch", node_id=first, name=" ")


@pytest.mark.parametrize("empty", [{"paths": []}, {"paths": ["a.txt"], "hunks": []}])
async def test_an_empty_list_of_what_to_take_is_not_all_of_it(client, empty) -> None:
    [node_id] = await chain(client, "p")
    assert await refused(client, "take", node_id=node_id, **empty) == "bad_request"
