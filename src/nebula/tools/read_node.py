"""readNode: read one earlier prompt and its answer in full."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nebula.errors import NebulaError
from nebula.messages import DeclaredSpec
from nebula.tools.contract import Call, FunctionTool, Outcome, ToolFailure, schema, text_argument
from nebula.tools.declaration import ToolDeclaration
from nebula.tools.result_limits import cut_middle

if TYPE_CHECKING:
    from nebula.graph.values import Node

SPEC = DeclaredSpec(
    "readNode",
    "Read one earlier turn of this conversation in full: its prompt and its answer. Use the id that a summary names. "
    "Where turns were left out, 'turns 1-100' as the id lists those, and any words list the turns that hold them.",
    schema(["id"], id={"type": "string", "description": "The id of the turn, or what lists turns."}),
    reads_only=True,
)


async def read_node(
    find: Callable[[str], Node | None], look_up: Callable[[str], list[str]], args: Mapping[str, Any], call: Call
) -> Outcome:
    node_id = text_argument(args, "id").strip()
    try:
        node = await asyncio.to_thread(find, node_id)
    except NebulaError as problem:  # the ids of several turns begin with it
        raise ToolFailure(f"{problem}.", code=400) from None
    if node is None and (listed := await asyncio.to_thread(look_up, node_id)):
        return Outcome.ok({"turns": listed})
    if node is None:
        said = f"There is no turn with the id '{node_id}'. Use an id as a summary or a list names it."
        raise ToolFailure(said, code=404)
    prompt, _ = cut_middle(node.prompt, call.room // 4)
    response, _ = cut_middle(node.response, call.room // 4)
    return Outcome.ok({"id": node.id, "timestamp": node.timestamp, "prompt": prompt, "response": response})


TOOL = ToolDeclaration(
    "readNode",
    lambda kit: FunctionTool(SPEC, partial(read_node, kit.find_node, kit.look_up)) if kit.find_node else None,
    subject="id",
    kind="read",
)
