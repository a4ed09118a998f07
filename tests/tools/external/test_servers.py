"""The servers of a session together: which are started, what they offer by name, what is said of them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from nebula.language import Sentence
from nebula.tools.approval import Approvals, allow_all
from nebula.tools.external.configured import ExternalServer
from nebula.tools.external.connection import ServerConnection, ServerFailed
from nebula.tools.external.servers import ExternalServers
from nebula.tools.external.tool import MAX_NAME, ExternalTool


def declared(name: str, about: str = "Does it.") -> Any:
    return SimpleNamespace(name=name, description=about, title=None, input_schema={"type": "object"}, arguments=None)


class Standing(ServerConnection):
    """The connection to a server that is there at once, or fails with a word."""

    def __init__(self, name: str, *tools: str, prompts: Any = (), problem: str = "", **server: Any) -> None:
        super().__init__(ExternalServer(name, "command", **server))
        self.offers = tuple(declared(each, f"{each} of {name}") for each in tools), tuple(map(declared, prompts))
        self.fails_with = problem
        self.story: list[str] = []
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self.runs = False

    @property
    def is_open(self) -> bool:
        return self.runs

    async def open(self) -> None:
        self.story.append("open")
        await self.may_go_on.wait()
        if self.fails_with:
            raise ServerFailed("{name}: {reason}", name=self.server.name, reason=self.fails_with)
        self.runs = True
        self.tools, self.prompts = self.offers

    async def close(self) -> None:
        self.story.append("close")
        self.runs = False

    async def prompt(self, name: str, args: dict[str, str]) -> Any:
        said = SimpleNamespace(text=f"{self.server.name} {name} {args}")
        return SimpleNamespace(messages=[SimpleNamespace(content=said)])


def together(*connections: Standing) -> ExternalServers:
    servers = ExternalServers([])
    servers.connections = list(connections)
    return servers


async def test_what_does_not_run_is_started_and_what_runs_is_left_alone() -> None:
    one, two = Standing("one", "look"), Standing("two", "look")
    two.runs = True
    servers = together(one, two)
    assert await servers.open() == []
    assert (one.story, two.story) == (["open"], [])
    await servers.close()
    assert (one.story[1:], two.story) == (["close"], ["close"])


async def test_each_server_has_a_connection_and_its_secrets_are_known() -> None:
    servers = ExternalServers(
        [ExternalServer("a", "x", secrets=("k1", "k2")), ExternalServer("b", "y", secrets=("k3",))]
    )
    assert [each.server.name for each in servers.connections] == ["a", "b"]
    assert servers.secrets == ("k1", "k2", "k3")


async def test_they_start_at_once_and_it_is_shown_which_still_do() -> None:
    slow, quick, long = Standing("slow"), Standing("quick"), Standing("l\U000e0041ong" + "g" * 100)
    slow.may_go_on.clear()
    long.may_go_on.clear()
    shown: list[str] = []
    opening = asyncio.create_task(
        together(slow, quick, long).open(lambda activity: shown.append(str(activity.sentence)))
    )
    while len(shown) < 2:  # noqa: ASYNC110 - the two others have not answered yet
        await asyncio.sleep(0)
    named = "long" + "g" * (MAX_NAME - 4)
    assert shown == [f"starting MCP server slow, quick, {named}", f"starting MCP server slow, {named}"]
    slow.may_go_on.set()
    await asyncio.sleep(0.01)
    long.may_go_on.set()
    assert await opening == []
    assert shown[2:] == [f"starting MCP server {named}"], "nothing is shown where none is starting"


async def test_one_that_fails_costs_a_remark_and_the_others_nothing() -> None:
    servers = together(Standing("one", "look", problem="no such program"), Standing("two", "look"))
    assert [str(each) for each in await servers.open()] == ["one: no such program"]
    assert list(servers.tools(None, plan=False)) == ["two__look"]


async def test_one_whose_program_is_not_there_is_named_with_it() -> None:
    (remark,) = await ExternalServers([ExternalServer("notes", "no-such-server")]).open()
    why = "no-such-server is not installed: no folder of PATH has it."
    assert str(remark) == f"The MCP server notes cannot be used: {why}"


async def test_tools_that_are_left_out_are_named_and_not_without_end() -> None:
    one = Standing("one")
    one.left_out = tuple(f"t{number}" for number in range(12))
    [remark] = await together(one).open()
    assert str(remark) == (
        "Tools of the MCP server one that are not offered, because their description is too large or not valid: "
        "t0, t1, t2, t3, t4, t5, t6, t7, t8, t9"
    )
    one.runs, one.left_out = False, ("a\U000e0041b" + "c" * 100,)
    [remark] = await together(one).open()
    assert str(remark).endswith(": ab" + "c" * (MAX_NAME - 2))


async def test_of_two_of_one_name_the_first_counts() -> None:
    servers = together(Standing("a", "b__c", "d", prompts=["b__c"]), Standing("a__b", "c", prompts=["c", "e"]))
    await servers.open()
    tools = servers.tools(None, plan=False)
    assert {name: tool.spec.description for name, tool in tools.items()} == {
        "a__b__c": "b__c of a",
        "a__d": "d of a",
    }
    prompts = servers.prompts()
    assert list(prompts) == ["a__b__c", "a__b__e"]
    assert await prompts["a__b__c"].ask({"who": "hana"}) == "a b__c {'who': 'hana'}"


async def test_a_server_that_does_not_run_offers_nothing() -> None:
    one, two = Standing("one", "look", prompts=["ask"]), Standing("two", "look", prompts=["ask"])
    servers = together(one, two)
    await servers.open()
    one.runs = False
    assert (list(servers.tools(None, plan=False)), list(servers.prompts())) == (["two__look"], ["two__ask"])


async def test_plan_mode_has_only_what_the_user_says_merely_reads() -> None:
    servers = together(Standing("one", "look", "write", read_only=frozenset({"look"})))
    await servers.open()
    assert list(servers.tools(None, plan=True)) == ["one__look"]
    assert list(servers.tools(None, plan=False)) == ["one__look", "one__write"]


async def test_a_tool_asks_whom_the_session_asks() -> None:
    one = Standing("one", "look")
    servers = together(one)
    await servers.open()
    approvals = Approvals(allow_all)

    async def takes_none() -> bool:
        return False

    tool: Any = servers.tools(approvals, plan=False, takes_images=takes_none)["one__look"]
    assert (tool._connection, tool._approvals, tool._takes_images) == (one, approvals, takes_none)


async def test_one_is_started_again_alone() -> None:
    one, two = Standing("one", "look"), Standing("two", "look")
    servers = together(one, two)
    await servers.open()
    assert await servers.restart(one) == [] and one.story == ["open", "close", "open"] and two.story == ["open"]
    one.fails_with = "gone"
    assert await servers.restart(one) == [Sentence("{name}: {reason}", name="one", reason="gone")]


async def test_one_that_cannot_be_ended_is_told_when_all_are_closed() -> None:
    class Stubborn(Standing):
        async def close(self) -> None:
            raise OSError("stubborn")

    one, two = Stubborn("one"), Standing("two")
    with pytest.raises(OSError, match="stubborn"):
        await together(one, two).close()
    assert two.story == ["close"]


async def test_where_nobody_answers_only_what_was_allowed_before_is_offered() -> None:
    servers = together(Standing("one", "look", "send", "pay", read_only=frozenset({"look"})))
    await servers.open()
    approvals = Approvals(allow_all, "yes")
    (send,) = (each for name, each in servers.tools(approvals, plan=False).items() if name == "one__send")
    assert isinstance(send, ExternalTool)
    approvals.permissions.give(send.permission)
    servers.asks = False
    assert list(servers.tools(approvals, plan=False)) == ["one__look", "one__send"]
    assert list(servers.tools(approvals, plan=True)) == ["one__look"]
    approvals.revoke("one__send")
    assert list(servers.tools(approvals, plan=False)) == ["one__look"]
