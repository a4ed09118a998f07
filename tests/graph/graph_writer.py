"""A process that writes to a graph until it has done its number of things, or is killed.

    python graph_writer.py DATA_DIR SEED COUNT

Prints one line for each thing done, after it was done: `create ID`, `delete ID`, `edit ID TEXT`, `connect A B`;
and before a node is edited or deleted a line `try ID`.
"""

from __future__ import annotations

import random
import sys

from nebula.graph.errors import GraphError
from nebula.graph.graph import Graph


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def act(graph: Graph, chance: random.Random, mine: list[str]) -> str:
    kind = chance.choice(["create", "create", "create", "edit", "connect", "disconnect", "delete", "search"])
    if kind == "create" or len(mine) < 3:
        parents = chance.sample(mine, min(len(mine), chance.randint(0, 2)))
        tags = [f"t{chance.randint(0, 3)}"] if chance.random() < 0.3 else []
        node = graph.create_node(f"prompt {chance.random()}", "answer\r\n", parents=parents, tags=tags)
        mine.append(node.id)
        return f"create {node.id}"
    node_id = chance.choice(mine)
    if kind == "edit":
        text = f"edited-{chance.random()}"
        say(f"try {node_id}")
        graph.update_node(node_id, prompt=text)
        return f"edit {node_id} {text}"
    if kind == "delete":
        mine.remove(node_id)
        say(f"try {node_id}")
        graph.delete_node(node_id)
        return f"delete {node_id}"
    if kind == "search":
        graph.search_nodes(text="prompt", limit=3)
        return "search"
    other = chance.choice(mine)
    if kind == "connect":
        graph.connect_nodes(node_id, other)
    else:
        graph.disconnect_nodes(node_id, other)
    return f"{kind} {node_id} {other}"


def main() -> None:
    data_dir, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)
    mine: list[str] = []
    graph = Graph(data_dir)
    for _ in range(count):
        try:
            say(act(graph, chance, mine))
        except GraphError:
            continue  # a circle, or no such connection: an answer like any other
    graph.close()


if __name__ == "__main__":
    main()
