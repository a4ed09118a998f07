"""Everything a client can ask for (seed §12.4, SPEC §11). A new action is a function and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nebula.server.conversation.actions import (
    context_preview,
    figures,
    files,
    flows,
    lines,
    nodes,
    races,
    subscriptions,
    turns,
)
from nebula.server.conversation.actions.declared import Action

_ACTIONS = (
    Action.of(nodes.create_node),
    Action.of(nodes.get_node),
    Action.of(nodes.get_nodes),
    Action.of(nodes.first_nodes),
    Action.of(nodes.update_node),
    Action.of(nodes.delete_node),
    Action.of(nodes.delete_nodes),
    Action.of(nodes.delete_branch),
    Action.of(nodes.rename_tag, takes_long=True),
    Action.of(nodes.list_outside, takes_long=True),
    Action.of(nodes.undo),
    Action.of(nodes.redo),
    Action.of(nodes.search_nodes, takes_long=True),
    Action.of(nodes.list_filters),
    Action.of(nodes.list_tags),
    Action.of(nodes.list_due),
    Action.of(nodes.build, takes_long=True),
    Action.of(context_preview.get_history),
    Action.of(context_preview.preview_context, takes_long=True),
    Action.of(flows.list_flows),
    Action.of(flows.get_flow),
    Action.of(flows.create_flow),
    Action.of(flows.update_flow),
    Action.of(flows.connect_nodes),
    Action.of(flows.disconnect_nodes),
    Action.of(flows.create_branch),
    Action.of(flows.delete_flow),
    Action.of(flows.move_branch),
    Action.of(flows.nest_branch),
    Action.of(flows.link_flow),
    Action.of(flows.add_to_flow),
    Action.of(flows.name_branch),
    Action.of(flows.count_flow, takes_long=True),
    Action.of(flows.export_branch, takes_long=True),
    Action.of(files.node_files, takes_long=True),
    Action.of(files.take_files),
    Action.of(files.give_files_back),
    Action.of(files.compare_files, takes_long=True),
    Action.of(lines.file_lines, takes_long=True),
    Action.of(figures.get_figures, takes_long=True),
    Action.of(subscriptions.hello),
    Action.of(subscriptions.subscribe),
    Action.of(subscriptions.unsubscribe),
    Action.of(turns.list_models, takes_long=True),
    Action.of(turns.send_prompt),
    Action.of(turns.approve),
    Action.of(turns.steer),
    Action.of(turns.cancel),
    Action.of(races.race),
    Action.of(races.compare_tries, takes_long=True),
    Action.of(races.take),
)
ACTIONS: Final[Mapping[str, Action]] = {action.name: action for action in _ACTIONS}
