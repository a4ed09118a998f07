"""What a flow comes to: turns, conversations, tokens and cost, by model and by tag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from nebula.graph.values import Flow, Node
from nebula.value import value


@value
class FlowStatistics:
    turns: int
    conversations: int
    branch_points: int
    merges: int
    input_tokens: int
    output_tokens: int
    cost: float
    """US dollars, of the turns whose price is known."""
    unpriced: int
    """Turns whose price is not known."""
    models: dict[str, int]
    tags: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__match_args__}


def count_flow(flow: Flow, nodes: Iterable[Node]) -> FlowStatistics:
    """Return the statistics of a flow whose readable nodes are `nodes`."""
    parents, children = (Counter(getattr(edge, end) for edge in flow.edges) for end in ("target", "source"))
    known = list(nodes)
    used = [node.usage for node in known if node.usage]
    return FlowStatistics(
        turns=len(flow.entries),
        conversations=sum(not parents[entry.index] for entry in flow.entries),
        branch_points=sum(count > 1 for count in children.values()),
        merges=sum(count > 1 for count in parents.values()),
        input_tokens=sum(usage.input for usage in used),
        output_tokens=sum(usage.output for usage in used),
        cost=sum(usage.cost or 0.0 for usage in used),
        unpriced=sum(usage.cost is None for usage in used),
        models=dict(Counter(node.model for node in known if node.model).most_common()),
        tags=dict(Counter(tag for node in known for tag in node.tags).most_common()),
    )
