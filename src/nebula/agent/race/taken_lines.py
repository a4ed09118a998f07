"""What the node of a try keeps of the lines that were taken from it, so that a clone without the journal knows them.

A try that nobody took wrote nothing into the project, so its node says nothing of lines until then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nebula.agent.assembly import graph_opener
from nebula.agent.recording.line_recorder import written_lines
from nebula.config import Settings
from nebula.events import Diff
from nebula.graph.errors import GraphError
from nebula.graph.flows.change import GraphChange, NodeEdit
from nebula.graph.values import FileState
from nebula.messages.redaction import Redactor
from nebula.value import replace
from nebula.workspace.local import LocalWorkspace
from nebula.workspace.state_folder import prepare_state_folder

if TYPE_CHECKING:
    from nebula.graph.graph import Graph


def keep_taken_lines(taken: Mapping[str, Sequence[Diff]], workspace: LocalWorkspace, settings: Settings) -> None:
    """Write down in each node, by id, which lines of these changes are its own. A graph that cannot be written costs
    nothing but that."""
    state = prepare_state_folder(settings.root)
    if not (state.has_graph and state.keeps_records):
        return
    redactor = Redactor(settings.secrets)
    graph = graph_opener(settings)()
    try:
        for node_id, applied in taken.items():
            _add_lines(graph, node_id, written_lines(applied, workspace, redactor))
    except (GraphError, OSError):
        return  # what was taken is in the files and in the journal
    finally:
        graph.close()


def _add_lines(graph: Graph, node_id: str, told: Mapping[str, FileState]) -> None:
    node = graph.get_node(node_id)
    files = tuple(_with_lines(each, told[each.path]) if each.path in told else each for each in node.files)
    if files != node.files:
        graph.apply(GraphChange(edit=(NodeEdit(node, replace(node, files=files)),)))


def _with_lines(state: FileState, own: FileState) -> FileState:
    """Return it with these lines as well: of one file some hunks may be taken today, and others tomorrow. What was
    taken back and is taken again is in it already."""
    wrote = " ".join(dict.fromkeys((*state.wrote.split(), *own.wrote.split())))
    removed = state.removed if state.removed.endswith(own.removed) else state.removed + own.removed
    return replace(state, wrote=wrote, removed=removed)
