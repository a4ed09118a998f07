"""Events: to everybody who listens, in order, without waiting for anybody, and resumable by number."""

from __future__ import annotations

import asyncio
import fcntl
import json
import socket

import pytest

from conversation_rig import Failed, serving, talk
from nebula.events import EventStream, Final, Task
from nebula.graph.graph import Graph
from nebula.server.conversation.graph_watch import GraphWatch
from nebula.server.conversation.hub import Hub, Subscriber
from nebula.server.conversation.turns.agent import Job
from nebula.server.conversation.turns.turns import Turns


@pytest.fixture
def server(bench):
    with serving(bench, "vizprompt") as running:
        yield running


def names(events):
    return [event["event"] for event in events]


async def test_two_clients_hear_the_same_in_the_same_order(server):
    async with talk(server) as writer, talk(server) as first, talk(server) as second:
        for client in (first, second):
            await client.ask("subscribe")
        one = (await writer.ask("create_node", prompt="1"))["node_id"]
        two = (await writer.ask("create_node", prompt="2", parents=[one]))["node_id"]
        await writer.ask("update_node", node_id=two, response="x")
        await writer.ask("delete_node", node_id=one)
        heard = []
        for client in (first, second):
            heard.append([await client.receive() for _ in range(7)])
        assert heard[0] == heard[1]
        assert names(heard[0]) == [
            "node_created", "flow_updated", "node_created", "flow_updated", "node_updated", "node_deleted",
            "flow_updated",
        ]  # fmt: skip
        assert [event["seq"] for event in heard[0]] == list(range(1, 8))
        created = heard[0][2]["data"]
        assert (created["node_id"], created["parents"][0]["source"], created["node"]["title"]) == (two, one, "2")
        assert await first.quiet() and await writer.quiet()


async def test_a_ping_is_answered_while_work_goes_on(server, bench):
    """The page gives up a server that does not answer, and one at work is not gone."""
    async with talk(server) as client:
        await client.ask("create_node", prompt="1")
        (lock,) = bench.project.rglob("lock")
        with lock.open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            number = await client.send("create_node", prompt="2")
            await client.connection.send('{"action":"ping"}')
            pong = await client.receive()
            assert (pong["status"], "id" in pong) == ("success", False)
        assert (await client.answer(number))["node_id"]


async def test_subscribing_by_event_and_flow(server):
    async with talk(server) as client, talk(server) as writer:
        await writer.ask("create_flow", name="other")
        await client.ask("subscribe", event="flow_updated", flow_id="main")
        await writer.ask("create_node", prompt="elsewhere", flow_id="other")
        await writer.ask("create_node", prompt="here")
        event = await client.event("flow_updated", "node_created")
        assert (event["event"], event["data"]["name"]) == ("flow_updated", "main")
        assert await client.quiet()
        flow_id = event["data"]["flow_id"]
        await client.ask("unsubscribe", event="flow_updated", flow_id="main")
        await client.ask("subscribe", flow_id=flow_id)
        await writer.ask("create_node", prompt="elsewhere", flow_id="other")
        node_id = (await writer.ask("create_node", prompt="here again"))["node_id"]
        assert [(await client.receive())["event"] for _ in range(2)] == ["node_created", "flow_updated"]
        await writer.ask("update_node", node_id=node_id, prompt="edited")
        assert (await client.receive())["event"] == "node_updated"
        await client.ask("unsubscribe")
        await writer.ask("create_node", prompt="unheard")
        assert await client.quiet()


async def test_overlapping_subscriptions_tell_each_event_once(server):
    async with talk(server) as client:
        await client.ask("subscribe")
        await client.ask("subscribe", flow_id="main")
        await client.ask("subscribe", event="node_created")
        await client.ask("create_node", prompt="x")
        await client.event("flow_updated")
        assert await client.quiet()


async def test_resuming_from_a_number(server):
    async with talk(server) as client:
        await client.ask("subscribe")
        await client.ask("create_node", prompt="1")
        last = await client.event("flow_updated")
    async with talk(server) as writer:
        for number in range(5):
            await writer.ask("create_node", prompt=str(number))
    async with talk(server) as client:
        answer = (await client.ask("subscribe", since=last["seq"]))["data"]
        assert answer["resumed"] is True
        missed = [await client.receive() for _ in range(10)]
        assert [event["seq"] for event in missed] == list(range(last["seq"] + 1, last["seq"] + 11))
        assert await client.quiet()
        await client.ask("create_node", prompt="live")
        assert (await client.event("node_created"))["seq"] == last["seq"] + 11


@pytest.mark.parametrize("wrong", [{"since": 999}, {"since": 0, "epoch": "of another run"}])
async def test_what_cannot_be_resumed_says_so(server, wrong):
    async with talk(server) as client:
        answer = (await client.ask("subscribe", **wrong))["data"]
        assert answer["resumed"] is False
        event = await client.event("resync_required")
        assert event["data"] == {"seq": answer["seq"], "epoch": answer["epoch"]}
        await client.ask("create_node", prompt="goes on")
        assert (await client.event("node_created"))["data"]["node"]["title"] == "goes on"


async def test_changes_by_other_processes_are_noticed(server, bench):
    graph = Graph(bench.project / "data")
    before = graph.create_node("before")
    async with talk(server) as client:
        await client.ask("list_flows")
        await client.ask("subscribe")
        node = graph.create_node("made elsewhere", parents=[before.id])
        assert (await client.event("node_created", node_id=node.id))["data"]["parents"][0]["source"] == before.id
        await client.event("flow_updated")
        await asyncio.sleep(1)  # its own writing is settled, what comes now is an edit
        graph.update_node(node.id, response="edited elsewhere")
        assert (await client.event("node_updated"))["data"]["node_id"] == node.id
        graph.delete_node(node.id)
        assert (await client.event("node_deleted"))["data"]["node_id"] == node.id


@pytest.mark.slow
async def test_a_file_edited_in_place_is_noticed(server, bench):
    graph = Graph(bench.project / "data")
    node = graph.create_node("before", "the answer")
    graph.close()
    async with talk(server) as client:
        await client.ask("subscribe")
        await asyncio.sleep(1)
        [path] = (bench.project / "data" / "nodes").glob("*/*.xml")
        text = path.read_text(encoding="utf-8").replace("the answer", "another answer")
        with path.open("r+", encoding="utf-8") as file:
            file.write(text)
        event = await client.event("node_updated")
        assert event["data"]["node_id"] == node.id


async def test_a_client_that_does_not_read_holds_nobody_up(server):
    """Megabytes of events to a socket nobody reads from: the others hear everything in time."""
    async with talk(server) as writer, talk(server) as quick:
        await quick.ask("subscribe")
        stuck = socket.create_connection(("127.0.0.1", server.port))
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        key = "dGhlIHNhbXBsZSBub25jZQ=="
        stuck.sendall(
            f"GET / HTTP/1.1\r\nHost: {server.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        request = b'{"action": "subscribe"}'
        stuck.sendall(bytes([0x81, 0x80 | len(request), 0, 0, 0, 0]) + request)
        node_id = (await writer.ask("create_node", prompt="big"))["node_id"]
        for number in range(60):
            await writer.ask(
                "update_node", node_id=node_id, tags=[f"{number}-{part}-{'x' * 4000}" for part in range(20)]
            )
        seen = 0
        while seen < 60:
            await quick.event("node_updated")
            seen += 1
        stuck.close()
        assert (await writer.ask("list_flows"))["status"] == "success"


async def test_who_falls_behind_the_ring_is_told_to_start_over():
    hub = Hub(ring_events=10)
    client = Subscriber(hub)
    hub.attach(client)
    client.subscribe()
    sent: list[dict] = []
    gate = asyncio.Event()

    async def send(text: str) -> None:
        sent.append(json.loads(text))
        await gate.wait()

    writer = asyncio.create_task(client.write(send))
    hub.publish("node_created", {})
    while not sent:  # noqa: ASYNC110 - the writer holds it now
        await asyncio.sleep(0)
    for _ in range(50):
        hub.publish("node_created", {})
    gate.set()
    while len(sent) < 2:  # noqa: ASYNC110 - the writer goes on as soon as it is let
        await asyncio.sleep(0)
    hub.publish("node_created", {})
    while len(sent) < 3:  # noqa: ASYNC110
        await asyncio.sleep(0)
    writer.cancel()
    assert [(event["event"], event["seq"]) for event in sent] == [
        ("node_created", 1),
        ("resync_required", 51),
        ("node_created", 52),
    ]


async def test_the_ring_is_bounded_by_size_too():
    hub = Hub(ring_events=1000, ring_characters=10_000)
    for _ in range(100):
        hub.publish("node_created", {"text": "x" * 1000})
    assert not hub.can_resume(50, None)
    assert hub.can_resume(95, None)
    assert hub.can_resume(100, hub.epoch)


async def test_what_happened_to_the_graph_is_heard_before_the_turn_that_did_it_goes_on(tmp_path):
    """A node is announced before the turn's own event that names it, whoever of the two is quicker."""
    hub = Hub()
    with Graph(tmp_path / "data") as graph:
        watch = GraphWatch(graph, hub)
        watching = asyncio.create_task(watch.run())
        await watch.started.wait()

        class Runner:
            takes_references = False

            async def run(self, job, hear, ask, steering):
                stream = EventStream("", job.trace_id, audience=(hear,))
                stream.emit(Task(job.prompt, job.mode, ""))
                node = graph.create_node(job.prompt, "answer")
                stream.emit(Final("answer", "ok", 0, node_id=node.id))

            async def close(self): ...

        turns = Turns(Runner(), hub, watch)
        turns.start(Job("prompt", (), "main", "main"), None)
        await turns.finished()
        watching.cancel()
    assert [hub.get(seq).name for seq in range(1, hub.seq + 1)] == ["task", "node_created", "flow_updated", "final"]


async def test_a_flow_that_cannot_be_read_is_shown_as_such(server, bench):
    data = bench.project / "data"
    async with talk(server) as client:
        node = (await client.ask("create_node", prompt="one"))["node_id"]
        await client.ask("subscribe", event="flow_updated")
        [path] = (data / "flows").rglob("*.yaml")
        good = path.read_text("utf-8")
        path.write_text("name: main\nid: [", "utf-8")
        broken = await client.event("flow_updated")
        assert broken["data"]["name"] == "main" and broken["data"]["problem"] and "deleted" not in broken["data"]
        listed = (await client.ask("list_flows"))["data"]
        assert (listed["flows"], len(listed["unreadable"])) == ([], 1)
        assert listed["unreadable"][0]["path"].endswith(path.name)
        for action, asked in (
            ("get_flow", {}),
            ("create_node", {"prompt": "into main"}),
            ("send_prompt", {"prompt": "into main", "from": []}),
            ("connect_nodes", {"source_id": node, "target_id": node}),
        ):
            with pytest.raises(Failed) as failed:
                await client.ask(action, **asked)
            assert failed.value.code == "bad_file", action
        assert [each.name for each in (data / "flows").rglob("*.yaml")] == [path.name], "no second one"
        assert path.read_text("utf-8") == "name: main\nid: ["
        path.write_text(good, "utf-8")
        again = await client.event("flow_updated")
        assert again["data"]["node_count"] == 1 and "problem" not in again["data"]


async def test_a_node_that_cannot_be_read_is_shown_as_such(server, bench):
    async with talk(server) as client:
        node = (await client.ask("create_node", prompt="one"))["node_id"]
        [path] = (bench.project / "data" / "nodes").rglob("*.xml")
        path.write_text(path.read_text("utf-8")[:-40], "utf-8")
        with pytest.raises(Failed) as failed:
            await client.ask("get_node", node_id=node)
        assert failed.value.code == "bad_file"
        [brief] = (await client.ask("get_nodes", node_ids=[node, "none"]))["data"]["nodes"]
        assert brief["id"] == node and path.name in brief["problem"]
        with pytest.raises(Failed) as failed:
            await client.ask("update_node", node_id=node, prompt="two")
        assert failed.value.code == "bad_file"


async def test_looking_goes_on_after_a_folder_could_not_be_read(server, bench):
    data = bench.project / "data"
    with Graph(data) as graph:
        graph.create_node("before")
    async with talk(server) as client:
        await client.ask("subscribe", event="node_created")
        (data / "flows").rename(data / "away")
        (data / "flows").write_text("in the way")
        while not server.errors:  # noqa: ASYNC110 - a thread of the rig reads them
            await asyncio.sleep(0.01)
        (data / "flows").unlink()
        (data / "away").rename(data / "flows")
        with Graph(data) as graph:
            node = graph.create_node("after")
        while (await client.receive())["data"]["node_id"] != node.id:
            pass
    assert all(b"cannot be looked at now" in each for each in server.errors)
    assert len({*server.errors}) == len(server.errors), "each once"
    server.errors.clear()
