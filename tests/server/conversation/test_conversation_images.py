"""Images that come with a prompt over the socket: larger than any other message, and held to limits of their own."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from conversation_rig import Failed, serving, talk
from scripted_model import ScriptedModel, Turn

pytestmark = pytest.mark.slow

MB = 1_000_000
PNG = b"\x89PNG\r\n\x1a\n"


def picture(size):
    return base64.b64encode(PNG + os.urandom(size - len(PNG))).decode()


def memory_of(process, key):
    for line in Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise AssertionError(key)


async def refused(client, /, **data):
    with pytest.raises(Failed) as failed:
        await client.ask("send_prompt", prompt="look", **data)
    return failed.value.code


async def test_an_image_of_five_megabytes_reaches_the_model(bench):
    photo = picture(5 * MB)
    with ScriptedModel([Turn("Seen.")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="look", images=[{"name": "photo.png", "data": photo}])
            heard = await client.turn()
    assert heard[0]["data"]["attachments"] == [{"name": "photo.png", "kind": "image", "size": 5 * MB}]
    assert heard[-1]["data"]["status"] == "ok"
    _, image = model.turns[0].json["messages"][-1]["content"]
    assert image["image_url"]["url"].endswith(photo)


async def test_what_is_no_image_has_the_limits_of_any_message(bench):
    large = "x" * (2 * MB)
    with serving(bench, "nebula") as server:
        async with talk(server) as client:
            assert await refused(client, files=[{"name": "a.txt", "text": large}], images=[]) == "too_large"
            assert await refused(client, images=[{"name": large, "data": "bm8="}]) == "too_large"
            assert await refused(client, images=[{"data": picture(10 * 1024 * 1024 + 1)}]) == "bad_request"
            assert await refused(client, images=[{"data": large}]) == "bad_request"
            answer = await client.ask("list_flows")
            assert answer["status"] == "success"


async def test_a_turn_with_an_odd_file_name_can_be_read_again(bench):
    with ScriptedModel([Turn("Seen.")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            odd = [{"name": "a\u0001b.txt", "text": "said\u0002"}]
            await client.ask("send_prompt", prompt="look", files=odd)
            node_id = (await client.turn())[-1]["data"]["node_id"]
            node = (await client.ask("get_node", node_id=node_id))["data"]
            assert [(each["name"], each["text"]) for each in node["attachments"]] == [("a\u0001b.txt", "said\u0002")]
            assert await refused(client, files=[{"name": "\ud800", "text": "x"}]) == "bad_text"
            assert await refused(client, files=[{"name": "x", "text": "\udfff"}]) == "bad_text"
