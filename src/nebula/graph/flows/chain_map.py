"""The chain map of a flow: `→` goes on, `<` branches, `>n` runs into node n.

1→2<
  2<3>5
  2<4>5
>5→6
"""

from __future__ import annotations

from nebula.graph.flows.topology import Topology
from nebula.graph.values import Flow


def draw_map(flow: Flow) -> str:
    """Return the whole flow, one connected part after the other, nodes by their number in the flow."""
    topology = Topology(flow)
    drawing = _Drawing(topology)
    order = [entry.index for entry in flow.entries]
    for part in _parts(topology, order):
        for root in part:
            if not topology.parents[root]:
                drawing.draw(root)
        drawing.draw_merged()
        for index in part:
            # Only a circle has no root to start from.
            if index not in drawing.drawn:
                drawing.draw(index)
                drawing.draw_merged()
    return "\n".join(drawing.lines)


def _parts(topology: Topology, order: list[int]) -> list[list[int]]:
    """Return numbers grouped by connected part, each group and the groups in file order."""
    part_of: dict[int, int] = {}
    parts: list[list[int]] = []
    for start in order:
        if start in part_of:
            continue
        part_of[start] = len(parts)
        pending = [start]
        while pending:
            index = pending.pop()
            for near in topology.children[index] + topology.parents[index]:
                if near not in part_of:
                    part_of[near] = len(parts)
                    pending.append(near)
        parts.append([])
    for index in order:
        parts[part_of[index]].append(index)
    return parts


class _Drawing:
    def __init__(self, topology: Topology) -> None:
        self.children = topology.children
        self.parents = topology.parents
        self.lines: list[str] = []
        self.drawn: set[int] = set()
        self.merges: list[int] = []

    def draw(self, start: int, prefix: str = "") -> None:
        """Draw a chain and, below it and two spaces further in, the branches it ends in."""
        pending = [(prefix, start, 0)]
        while pending:
            before, index, depth = pending.pop()
            line = "  " * depth + before
            if before.endswith("<") and self._is_merge(index):
                self._meet(index)
                self.lines.append(f"{line}>{index}")
                continue
            chain, last, end = self._chain(index)
            self.lines.append(line + chain + end)
            if end == "<":
                pending += [(f"{last}<", child, depth + 1) for child in reversed(self.children[last])]

    def draw_merged(self) -> None:
        """Return the lines of what follows the nodes where branches met; a node where everything ends needs no line."""
        while self.merges:
            index = next(filter(self._is_ready, self.merges), self.merges[0])
            self.merges.remove(index)
            if index not in self.drawn:
                if self.children[index]:
                    self.draw(index, ">")
                self.drawn.add(index)

    def _is_ready(self, index: int) -> bool:
        return all(parent in self.drawn for parent in self.parents[index])

    def _chain(self, index: int) -> tuple[str, int, str]:
        """Return the run of nodes from `index`, its last node, and what ends it: `<`, `>n` or nothing."""
        run = [index]
        self.drawn.add(index)
        while len(self.children[run[-1]]) == 1:
            child = self.children[run[-1]][0]
            if self._is_merge(child):
                self._meet(child)
                return "→".join(map(str, run)), run[-1], f">{child}"
            run.append(child)
            self.drawn.add(child)
        return "→".join(map(str, run)), run[-1], "<" if self.children[run[-1]] else ""

    def _is_merge(self, index: int) -> bool:
        return len(self.parents[index]) > 1 or index in self.drawn

    def _meet(self, index: int) -> None:
        if index not in self.drawn and index not in self.merges:
            self.merges.append(index)
