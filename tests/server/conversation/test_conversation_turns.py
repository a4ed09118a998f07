"""send_prompt, approve, cancel (SPEC §11): real turns against the scripted model, over the socket."""

from __future__ import annotations

import asyncio
import base64

import pytest

from conversation_rig import Failed, serving, talk
from nebula.graph.graph import Graph
from scripted_model import Call, Fault, RecordedRequest, ScriptedModel, Turn, refused_url
from slow_git import slow_git

WRITE = [Turn("I'll write it.", [Call("writeFile", {"path": "a.txt", "content": "one\n"})]), Turn("Written.")]
SLOW = Turn("late", fault=Fault.slow(30))


def names(events):
    """Return the events' names, but for those that only say what goes on: how many there are is a matter of time."""
    return [event["event"] for event in events if event["event"] != "activity"]


async def code_of(client, action, /, **data) -> str:
    with pytest.raises(Failed) as failed:
        await client.ask(action, **data)
    return failed.value.code


async def test_a_turn_with_its_approval(bench):
    with ScriptedModel(WRITE) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            trace_id = (await client.ask("send_prompt", prompt="Write a.txt"))["data"]["trace_id"]
            asked = await client.event("approval")
            data = asked["data"]
            assert (data["path"], data["tool"], data["trace_id"]) == ("a.txt", "writeFile", trace_id)
            assert "+one" in data["diff"]
            assert not (bench.project / "a.txt").exists()
            for odd in ({"decision": "some"}, {"decision": "yes", "hunks": [1]}):
                assert await code_of(client, "approve", approval_id=data["approval_id"], **odd) == "bad_request"
            await client.ask("approve", approval_id=data["approval_id"], decision="yes")
            heard = await client.turn()
            final = heard[-1]["data"]
            assert (final["status"], final["text"]) == ("ok", "I'll write it.\n\nWritten.")
            assert bench.read("a.txt") == "one\n"
            assert final["files_changed"][0]["path"] == "a.txt"
            node = (await client.ask("get_node", node_id=final["node_id"]))["data"]
            assert (node["prompt"], node["response"]) == ("Write a.txt", "I'll write it.\n\nWritten.")
            assert await code_of(client, "approve", approval_id=data["approval_id"], decision="yes") == "not_found"
            assert await code_of(client, "approve", approval_id="none", decision="yes") == "not_found"


async def test_a_first_prompt_that_is_asked_again_is_a_try_of_the_same(bench):
    script = [Turn("One."), Turn("Two."), Turn("Three.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            made: list[str] = []
            for again in (None, 0, 1):
                asked = {"again": made[again]} if again is not None else {}
                await client.ask("send_prompt", **{"prompt": "why?", "from": [], **asked})
                made.append((await client.turn())[-1]["data"]["node_id"])
            for node_id in made:
                assert (await client.ask("get_node", node_id=node_id))["data"]["beside"] == made
            flow = (await client.ask("get_flow", compact=True))["data"]
            assert (flow["ids"], flow["tries"]) == (made, dict.fromkeys(made[1:], made[0]))
            assert await code_of(client, "send_prompt", prompt="x", again="nowhere") == "not_found"


async def test_hunks_of_a_diff_are_allowed_one_by_one(bench):
    bench.write("a.txt", "".join(f"line {number}\n" for number in range(40)))
    edits = [{"old_text": f"line {number}\n", "new_text": f"LINE {number}\n"} for number in (2, 20, 38)]
    script = [
        Turn("", [Call("readFile", {"path": "a.txt"})]),
        Turn("", [Call("editFile", {"path": "a.txt", "edits": edits})]),
        Turn("Two of three."),
    ]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="Edit it")
            data = (await client.event("approval"))["data"]
            assert [line for line in data["diff"].split("\n") if line.startswith("@@")] == [
                "@@ -1,6 +1,6 @@",
                "@@ -18,7 +18,7 @@",
                "@@ -36,5 +36,5 @@",
            ]
            for odd in ([0], [4], [1, 4]):
                asked = {"approval_id": data["approval_id"], "decision": "some", "hunks": odd}
                assert await code_of(client, "approve", **asked) == "bad_request"
            await client.ask("approve", approval_id=data["approval_id"], decision="some", hunks=[1, 3])
            heard = await client.turn()
    result = [event["data"] for event in heard if event["event"] == "tool_result"][-1]
    assert result["decision"] == "hunks 1, 3"
    told = result["result"]["content"][0]["Json"]
    assert told["success"] and "+LINE 20" in told["remark"] and "+LINE 2\n" not in told["remark"]
    text = bench.read("a.txt")
    assert "LINE 2\n" in text and "line 20\n" in text and "LINE 38\n" in text


async def test_images_and_files_come_with_a_prompt(bench):
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()
    bench.write("a.txt", "lighthouse")
    with ScriptedModel([Turn("Seen.")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            for odd in ({"name": "x.png"}, {"name": "x.png", "data": "bm8="}, {"name": "x.png", "data": "%"}):
                assert await code_of(client, "send_prompt", prompt="x", images=[odd]) == "bad_request"
            assert await code_of(client, "send_prompt", prompt="x", images=[{"data": png}] * 11) == "bad_request"
            preview = (await client.ask("preview_context", node_ids=[], prompt="look at @a.txt"))["data"]
            plain = (await client.ask("preview_context", node_ids=[], prompt="look at a.txt"))["data"]
            assert preview["frame_tokens"] > plain["frame_tokens"]
            await client.ask("send_prompt", prompt="look at @a.txt", images=[{"name": "x.png", "data": png}])
            heard = await client.turn()
            node = (await client.ask("get_node", node_id=heard[-1]["data"]["node_id"]))["data"]
    assert heard[0]["data"]["attachments"] == [
        {"name": "x.png", "kind": "image", "size": 48},
        {"name": "a.txt", "kind": "file", "size": 10},
    ]
    assert [event["data"]["message"] for event in heard if event["event"] == "notice"] == [
        "Attached: x.png, an image of 48 bytes",
        "Attached: a.txt, 10 bytes, about 2 tokens",
    ]
    words, image = model.turns[0].json["messages"][-1]["content"]
    assert "lighthouse" in words["text"] and image["image_url"]["url"].endswith(png)
    assert node["attachments"][0] == {"name": "x.png", "kind": "image", "size": 48, "text": png, "format": "png"}


async def test_a_part_of_a_set_is_allowed(bench):
    line = {"command": "echo 1 > a.txt; echo 2 > b.txt; chmod 755 b.txt"}
    script = [Turn("", [Call("runCommand", line)]), Turn("Done.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="Run it")
            data = (await client.event("approval"))["data"]
            assert [(each["path"], each["kind"], each["added"]) for each in data["changes"]] == [
                ("a.txt", "created", 1),
                ("b.txt", "created", 1),
            ]
            assert data["path"] == "a.txt"
            await client.ask("approve", approval_id=data["approval_id"], decision="some", paths=["b.txt"])
            final = (await client.turn())[-1]["data"]
    assert [change["path"] for change in final["files_changed"]] == ["b.txt"]
    assert bench.read("b.txt") == "2\n"
    assert not (bench.project / "a.txt").exists()


async def test_the_network_is_asked_for(bench):
    script = [Turn("", [Call("runCommand", {"command": "echo ran", "network": True})]), Turn("Done.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="Run it")
            data = (await client.event("approval"))["data"]
            assert data["network"] == "echo ran"
            await client.ask("approve", approval_id=data["approval_id"], decision="Not today.")
            heard = await client.turn()
    (result,) = [event["data"]["result"] for event in heard if event["event"] == "tool_result"]
    assert result["content"][0]["Json"] == {"error": "The user refused: Not today."}


async def test_the_events_carry_what_the_stage_decided(bench):
    with ScriptedModel(WRITE) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="Write a.txt")
            asked = await client.event("approval")
            await client.ask("approve", approval_id=asked["data"]["approval_id"], decision="yes")
            heard = await client.turn()
    shown = {event["data"]["type"]: [cue["cue"] for cue in event["data"]["stage"]] for event in heard}
    assert "backstage" in shown["tool_result"] and "close" in shown["final"]
    answer = next(event["data"] for event in heard if event["event"] == "message")
    assert (answer["act"], answer["show"]) == (2, "Written.")
    assert [event["data"]["seq"] for event in heard] == sorted(event["data"]["seq"] for event in heard)


async def test_a_client_is_told_what_goes_on_while_the_context_is_built(bench):
    path, _ = slow_git(bench, 2)
    with ScriptedModel([Turn("Hello.")]) as model, serving(bench, "nebula", **model.env(), PATH=path) as server:
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="hi")
            assert (await client.event("activity"))["data"]["message"] == "looking at the project"
            assert not model.turns
            heard = await client.turn()
    assert heard[-1]["data"]["text"] == "Hello."


@pytest.mark.parametrize(("decision", "told"), [("no", "did not allow"), ("Use tabs, please.", "Use tabs, please.")])
async def test_a_refusal_reaches_the_model_and_the_turn_goes_on(bench, decision, told):
    with ScriptedModel(WRITE) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="Write a.txt")
            asked = await client.event("approval")
            await client.ask("approve", approval_id=asked["data"]["approval_id"], decision=decision)
            final = (await client.turn())[-1]["data"]
            assert (final["status"], final["exit_code"]) == ("refused", 2)
        assert told in str(model.turns[1].json["messages"])
    assert not (bench.project / "a.txt").exists()


async def test_all_holds_for_the_conversation_and_no_longer(bench):
    def write(name):
        return [Turn("", [Call("writeFile", {"path": name, "content": "x\n"})]), Turn("Done.")]

    script = [*write("a.txt"), *write("b.txt"), *write("c.txt")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="a")
            asked = await client.event("approval")
            await client.ask("approve", approval_id=asked["data"]["approval_id"], decision="all")
            await client.turn()
            await client.ask("send_prompt", prompt="b")
            assert "approval" not in names(await client.turn())
            assert bench.read("b.txt") == "x\n"
            await client.ask("send_prompt", prompt="a new conversation", **{"from": []})
            await client.event("approval")
            await client.ask("cancel")
            await client.turn()


@pytest.mark.parametrize("path", [".env", "AGENTS.md"])
async def test_all_is_no_answer_where_a_file_is_asked_about_by_name(bench, path):
    script = [Turn("", [Call("writeFile", {"path": path, "content": "x\n"})]), Turn("Done.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="write")
            asked = (await client.event("approval"))["data"]
            assert asked["once"]
            assert await code_of(client, "approve", approval_id=asked["approval_id"], decision="all") == "bad_request"
            assert not (bench.project / path).exists()
            await client.ask("approve", approval_id=asked["approval_id"], decision="yes")
            await client.turn()
    assert bench.read(path) == "x\n"


async def test_continuing_branching_and_merging(bench):
    with (
        ScriptedModel([Turn("one"), Turn("two"), Turn("two again"), Turn("merged")]) as model,
        serving(bench, "nebula", **model.env()) as server,
    ):
        async with talk(server) as client:

            async def say(prompt, **more):
                await client.ask("send_prompt", prompt=prompt, **more)
                return (await client.turn())[-1]["data"]["node_id"]

            first = await say("1")
            second = await say("2")
            sibling = await say("2b", **{"from": [first]})
            merged = await say("3", **{"from": [second, sibling]})
            flow = (await client.ask("get_flow"))["data"]
            edges = {(edge["source"], edge["target"]) for edge in flow["connections"]}
            assert edges == {(first, second), (first, sibling), (second, merged), (sibling, merged)}
            assert await code_of(client, "send_prompt", prompt="x", **{"from": ["none"]}) == "not_found"
        sent = [[message["content"] for message in turn.json["messages"][1:]] for turn in model.turns]
    assert "two" not in str(sent[2]) and "one" in str(sent[2])
    assert "two again" in str(sent[3]) and str(sent[3]).count("'one'") == 1


async def test_a_turn_goes_into_the_flow_it_was_asked_for(bench):
    with ScriptedModel([Turn("one"), Turn("two")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client, talk(server) as elsewhere, talk(server) as there:
            await client.ask("create_flow", name="side")
            await elsewhere.ask("subscribe", flow_id="main")
            await there.ask("subscribe", flow_id="side")
            await client.ask("send_prompt", prompt="1", flow_id="side")
            first = (await client.turn())[-1]["data"]["node_id"]
            assert names(await there.turn())[-1] == "final"
            assert await elsewhere.quiet()
            await client.ask("send_prompt", prompt="2", **{"from": [first]})
            second = (await client.turn())[-1]["data"]["node_id"]
            flow = (await client.ask("get_flow", flow_id="side"))["data"]
            assert [node["id"] for node in flow["nodes"]] == [first, second]
            assert await code_of(client, "send_prompt", prompt="x", flow_id="none") == "not_found"


async def test_branches_of_a_flow_are_at_work_at_the_same_time(bench):
    script = [Turn("root"), SLOW, Turn("quick"), Turn("quick too")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client, talk(server) as other:
            await client.ask("send_prompt", prompt="root")
            root = (await client.turn())[-1]["data"]["node_id"]
            slow = (await client.ask("send_prompt", prompt="slow", **{"from": [root]}))["data"]["trace_id"]
            await client.event("task")
            while len(model.turns) < 2:  # noqa: ASYNC110 - the model serves in a thread of its own
                await asyncio.sleep(0.01)
            await other.ask("send_prompt", prompt="the same place", **{"from": [root]})
            assert (await other.turn())[-1]["data"]["text"] == "quick"
            await other.ask("send_prompt", prompt="another place", **{"from": []})
            assert (await other.turn())[-1]["data"]["text"] == "quick too"
            [under_way] = (await other.ask("hello"))["data"]["turns"]
            assert under_way["trace_id"] == slow
            await client.ask("cancel")
            assert (await client.turn())[-1]["data"]["status"] == "interrupted"


async def test_two_begin_from_nothing_and_one_is_cancelled(bench):
    with ScriptedModel([SLOW, Turn("mine"), Turn("after")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client, talk(server) as other:
            trace_id = (await client.ask("send_prompt", prompt="slow"))["data"]["trace_id"]
            assert await code_of(other, "cancel") == "not_found"
            assert await code_of(other, "cancel", trace_id="none") == "not_found"
            # Cancelled before the model was asked, the slow answer would be the next prompt's.
            while not model.turns:  # noqa: ASYNC110 - the server runs in a thread of its own
                await asyncio.sleep(0.01)
            await client.ask("send_prompt", prompt="me too")
            assert (await client.turn())[-1]["data"]["text"] == "mine"
            stopped = (await client.ask("cancel"))["data"]
            assert stopped["trace_ids"] == [trace_id]
            final = (await client.turn())[-1]["data"]
            assert (final["status"], final["exit_code"]) == ("interrupted", 130)
            await client.ask("send_prompt", prompt="again")
            assert (await client.turn())[-1]["data"]["text"] == "after"
            assert await code_of(client, "cancel") == "not_found"


async def test_another_client_may_cancel_by_trace_id_and_hears_as_a_subscriber(bench):
    with ScriptedModel([SLOW]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client, talk(server) as other:
            await other.ask("subscribe", flow_id="main")
            trace_id = (await client.ask("send_prompt", prompt="slow"))["data"]["trace_id"]
            await other.event("task")
            await other.ask("cancel", trace_id=trace_id)
            assert (await other.turn())[-1]["data"]["status"] == "interrupted"
            assert (await client.turn())[-1]["data"]["status"] == "interrupted"


async def test_the_node_of_a_turn_is_reported_before_the_turn_ends(bench):
    with ScriptedModel([Turn("Hello.")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await client.ask("subscribe", flow_id="main")
            await client.ask("send_prompt", prompt="Hi")
            *before, final = await client.turn()
            made = [event["data"]["node_id"] for event in before if event["event"] == "node_created"]
            assert made == [final["data"]["node_id"]]


async def test_who_leaves_does_not_end_the_turn_and_another_decides(bench):
    with ScriptedModel(WRITE) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="Write a.txt")
            await client.event("approval")
        async with talk(server) as other:
            [turn] = (await other.ask("hello"))["data"]["turns"]
            assert (turn["prompt"], turn["parents"], turn["approval"]["path"]) == ("Write a.txt", [], "a.txt")
            await other.ask("subscribe", since=turn["since"])
            asked = await other.event("approval")
            await other.ask("approve", approval_id=asked["data"]["approval_id"], decision="yes")
            assert (await other.turn())[-1]["data"]["status"] == "ok"
            assert (await other.ask("hello"))["data"]["turns"] == []
    assert bench.read("a.txt") == "one\n"


async def test_plan_mode_cannot_write(bench):
    with ScriptedModel(WRITE) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="Write a.txt", mode="plan")
            heard = await client.turn()
            assert "approval" not in names(heard)
            assert await code_of(client, "send_prompt", prompt="x", mode="dance") == "bad_request"
            assert await code_of(client, "send_prompt", prompt="  ") == "bad_request"
    assert not (bench.project / "a.txt").exists()


@pytest.mark.parametrize("kind", ["nebula", "vizprompt"])
async def test_no_model_is_told_clearly_and_the_server_goes_on(bench, kind):
    with serving(bench, kind, OLLAMA_HOST=refused_url()) as server:
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="hello?")
            heard = await client.turn()
            assert names(heard) == ["task", "error", "final"]
            assert "OPENAI_API_KEY" in heard[1]["data"]["message"]
            assert (heard[-1]["data"]["status"], heard[-1]["data"]["exit_code"]) == ("error", 1)
            await client.ask("send_prompt", prompt="again")
            await client.turn()


async def test_plain_chat_has_no_file_tools_and_knows_the_path(bench):
    with (
        ScriptedModel([Turn("It is blue."), Turn("Since ever.")]) as model,
        serving(bench, "vizprompt", **model.env()) as server,
    ):
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="What colour is the sky?")
            first = (await client.turn())[-1]["data"]["node_id"]
            await client.ask("send_prompt", prompt="Since when?", **{"from": [first]})
            heard = await client.turn()
            assert names(heard)[:2] == ["task", "message"] and heard[-1]["data"]["text"] == "Since ever."
        requests = [turn.json for turn in model.turns]
    assert [[tool["function"]["name"] for tool in request["tools"]] for request in requests] == [["readNode"]] * 2
    assert str(bench.project) not in str(requests)
    assert "It is blue." in str(requests[1]["messages"]) and requests[1]["messages"][-1]["role"] == "user"
    node = Graph(bench.project / "data").get_history(heard[-1]["data"]["node_id"])
    assert [each.prompt for each in node] == ["What colour is the sky?", "Since when?"]
    assert [event["type"] for event in bench.trace()] == ["task", "message", "final"] * 2
    assert "## AGENT:nebula\nSince ever.\n" in (bench.project / ".nebula/log.txt").read_text()


async def test_plain_chat_reads_a_node_by_a_call_and_keeps_every_answer(bench):
    key = "sk-key-of-this-test-0123456789"
    asking = "I want to know the details of [{id}]. [{id}]の詳細を知りたい"

    def script(request: RecordedRequest) -> Turn:
        last = request.json["messages"][-1]
        if last["role"] == "tool":
            assert "the whole answer" in last["content"]
            return Turn(asking.format(id=aside))
        return Turn("One moment.", (Call("readNode", {"id": aside}),))

    with (
        ScriptedModel(script) as model,
        serving(bench, "vizprompt", **model.env() | {"OPENAI_API_KEY": key}) as server,
    ):
        async with talk(server) as client:
            aside = (await client.ask("create_node", prompt="aside", response="the whole answer"))["node_id"]
            await client.ask("send_prompt", prompt=f"my key is {key}", **{"from": []})
            heard = await client.turn()
        assert len(model.turns) == 2
    assert names(heard) == ["task", "message", "step", "tool_result", "message", "final"]
    assert [event["data"].get("show") for event in heard if event["event"] == "message"] == [
        "One moment.",
        asking.format(id=aside),
    ]
    node = Graph(bench.project / "data").get_node(heard[-1]["data"]["node_id"])
    assert node.response == f"One moment.\n\n{asking.format(id=aside)}"
    files = [path for path in bench.project.parent.rglob("*") if path.is_file()]
    assert files and not [path for path in files if key.encode() in path.read_bytes()]


@pytest.mark.parametrize(("program", "folder"), [("vizprompt", "data"), ("nebula", ".nebula/graph")])
async def test_the_model_that_the_data_folder_names_is_heeded(bench, program, folder):
    with Graph(bench.project / folder) as graph:
        graph.create_flow("main")
    config = bench.project / folder / "config.yaml"
    config.write_text(config.read_text("utf-8").replace("gpt-4\n", "gpt-4.1-mini\n"), encoding="utf-8")
    with ScriptedModel([Turn("Yes."), Turn("Yes.")]) as model, serving(bench, program, **model.env()) as server:
        async with talk(server) as client:
            assert (await client.ask("list_models"))["data"]["current"] == "openai/gpt-4.1-mini"
            for wanted in ({}, {"model": "openai/gpt-4.1"}):
                await client.ask("send_prompt", prompt="Which one?", **wanted, **{"from": []})
                await client.turn()
            assert (await client.ask("preview_context", node_ids=[]))["data"]["model"] == "gpt-4.1-mini"
        assert [turn.json["model"] for turn in model.turns] == ["gpt-4.1-mini", "gpt-4.1"]


async def test_a_reference_reaches_the_model_in_chat(bench):
    with ScriptedModel([Turn("I see.")]) as model, serving(bench, "vizprompt", **model.env()) as server:
        async with talk(server) as client:
            aside = (await client.ask("create_node", prompt="aside", response="beside the path"))["node_id"]
            await client.ask("send_prompt", prompt="Look at that.", references=[aside], **{"from": []})
            await client.turn()
        assert "beside the path" in str(model.turns[0].json["messages"])


@pytest.mark.parametrize("kind", ["nebula", "vizprompt"])
async def test_a_preview_is_what_the_model_gets(bench, kind):
    turns = [Turn("One."), Turn("Two."), Turn("Three.")]
    with ScriptedModel(turns) as model, serving(bench, kind, **model.env()) as server:
        async with talk(server) as client:
            aside = (await client.ask("create_node", prompt="Aside?", response="Beside."))["node_id"]
            ids = []
            for prompt in ("First?", "Second?"):
                await client.ask("send_prompt", prompt=prompt, **({"from": ids[-1:]} if ids else {"from": []}))
                ids.append((await client.turn())[-1]["data"]["node_id"])
            asked = {"prompt": "Third?", "references": [aside], "files": [{"name": "a.txt", "text": "attached " * 400}]}
            bare = (await client.ask("preview_context", node_ids=ids[-1:], prompt="Third?", references=[aside]))["data"]
            context = (await client.ask("preview_context", node_ids=ids[-1:], **asked))["data"]
            await client.ask("send_prompt", **{"from": ids[-1:]}, **asked)
            await client.turn()
    sent = "\n\n".join(str(message["content"]) for message in model.turns[-1].json["messages"])
    [attached] = context["attached"]
    assert attached["name"] == "a.txt" and attached["tokens"] > 300 and bare["attached"] == []
    assert context["frame_tokens"] - bare["frame_tokens"] == attached["tokens"]
    assert sent.count("attached ") >= 400
    assert [part["node_id"] for part in context["parts"]] == [*ids, aside]
    for part in context["parts"]:
        assert all(line in sent for line in part["text"].splitlines()), part


async def test_stopping_the_server_ends_the_turn_properly(bench):
    with ScriptedModel([SLOW]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="slow")
            await client.event("task")
            await asyncio.to_thread(server.stop)
    assert bench.trace()[-1]["type"] == "final"
    assert bench.trace()[-1]["status"] == "interrupted"


async def test_a_summary_by_the_model(bench):
    with (
        ScriptedModel([Turn("要約: 空の色の話。\nタグ: 空, 色, 青")]) as model,
        serving(bench, "vizprompt", **model.env()) as server,
    ):
        async with talk(server) as client:
            node_id = (await client.ask("create_node", prompt="空の色は？", response="青です。"))["node_id"]
            assert (await client.ask("build", node_id=node_id))["data"]["built"] == [node_id]
            node = (await client.ask("get_node", node_id=node_id))["data"]
            assert node["summary"] == "空の色の話。" and set(node["tags"]) >= {"空", "色", "青"}
