"""nebula graph share: let git keep the conversation of this project, once the user has seen what is in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing

from nebula.cli.arguments import Parser
from nebula.cli.asking import agreed
from nebula.cli.nebula_commands.conversation.graph_merge import install_driver
from nebula.cli.printing import print_line, tell_line, tell_remark
from nebula.errors import EXIT_FAILED, EXIT_OK, EXIT_POLICY
from nebula.files.descriptors import closed_after
from nebula.git import find_repository
from nebula.graph.graph import Graph
from nebula.graph.values import Node
from nebula.language import translate
from nebula.messages.redaction.key_shapes import holds_key
from nebula.workspace.guard.jail import Jail
from nebula.workspace.shared_graph import is_shared, share
from nebula.workspace.state_folder import open_state_dir

MOST_NAMED = 20
AT_A_TIME = 200
"""Turns that are read at a time: a conversation may be long."""


def main(root: str, argv: Sequence[str]) -> int:
    parser = Parser(
        "nebula graph share",
        "Lets git keep the conversation of this project.",
        about=(
            "Until then all of it stays out of git. Says how many turns there are and which of them may hold secrets,\n"
            "asks, and changes the rules in .nebula/.gitignore; nothing is staged or committed."
        ),
    )
    parser.add_flag("--yes", "share it without a question")
    options = parser.parse_args(argv)
    if find_repository(root) is None:
        tell_remark("This folder lies in no git repository: there is nobody to share with.")
        return EXIT_FAILED
    if is_shared(root):
        install_driver(root)
        tell_remark("The conversation of this project is shared already.")
        return EXIT_OK
    _tell_what_is_in_it(os.path.join(root, ".nebula", "graph"))
    if not (options.yes or agreed(translate("Let git keep the prompts and answers of this project? (y/N): "))):
        tell_remark("Nothing was shared.")
        return EXIT_POLICY
    with closing(Jail(root)) as jail, closed_after(open_state_dir(jail.fd)) as state_fd:
        share(root, state_fd)
    install_driver(root)
    tell_line("Shared: git add .nebula takes the conversation from now on.")
    return EXIT_OK


def _tell_what_is_in_it(data_dir: str) -> None:
    with Graph(data_dir) as graph:
        turns = graph.count_nodes()
        parts = (graph.list_nodes(AT_A_TIME, start) for start in range(0, turns, AT_A_TIME))
        suspected = [node.id for part in parts for node in part if _may_hold_secrets(node)]
        short = graph.shortest_unique_ids(suspected)
    tell_line("{turns} turns, {secrets} with suspected secrets", turns=turns, secrets=len(suspected))
    for node_id in suspected[:MOST_NAMED]:
        print_line(f"  {short[node_id]}")
    if len(suspected) > MOST_NAMED:
        tell_line("  … and {count} more", count=len(suspected) - MOST_NAMED)


def _may_hold_secrets(node: Node) -> bool:
    attached = (each.text for each in node.attachments if each.kind != "image")
    return any(holds_key(text) for text in (*(each.text for each in node.texts), *attached, node.summary or ""))
