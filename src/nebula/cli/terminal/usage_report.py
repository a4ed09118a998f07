"""What turns have used."""

from __future__ import annotations

from collections.abc import Iterable

from nebula.events import Usage
from nebula.graph.values import Node
from nebula.value import value


@value
class TurnUsage:
    """What one turn used; `dollars` is None where the price is not known."""

    model: str
    usage: Usage
    dollars: float | None


def remembered(nodes: Iterable[Node], session_id: str) -> list[TurnUsage]:
    """Sum what earlier runs of a session used, by its nodes."""
    return [
        TurnUsage(node.model, Usage(node.usage.input, node.usage.output), node.usage.cost)
        for node in nodes
        if node.usage is not None and node.session == session_id
    ]


def by_model(usages: Iterable[TurnUsage]) -> dict[str, TurnUsage]:
    """Return the sums; one unknown price makes its sum unknown."""
    sums: dict[str, TurnUsage] = {}
    for each in usages:
        sums[each.model] = _sum(sums[each.model], each) if each.model in sums else each
    return sums


def total(usages: Iterable[TurnUsage]) -> TurnUsage:
    result = TurnUsage("", Usage(), 0.0)
    for each in usages:
        result = _sum(result, each)
    return result


def _sum(one: TurnUsage, other: TurnUsage) -> TurnUsage:
    unknown = one.dollars is None or other.dollars is None
    dollars = None if unknown else (one.dollars or 0.0) + (other.dollars or 0.0)
    return TurnUsage(one.model, one.usage + other.usage, dollars)
