"""Files that lie in a data folder under a name that nobody reads: renamed by hand, or a copy that a program for
synchronising left (`000 (conflicted copy).xml`)."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from typing import NamedTuple

from nebula.graph.derived.metadata import INDEX, TAGS
from nebula.graph.disk.files import Files
from nebula.graph.disk.flow_files import FOLDER as FLOWS
from nebula.graph.disk.flow_files import INDEX as FLOW_INDEX
from nebula.graph.disk.node_files import FOLDER as NODES
from nebula.graph.disk.node_files import INDEX as NODE_INDEX
from nebula.graph.disk.step import is_ours
from nebula.graph.errors import NotFound
from nebula.graph.formats.config_yaml import FILE as SETTINGS
from nebula.graph.formats.flow_yaml import load_flow
from nebula.graph.formats.node_edit import reidentified
from nebula.graph.formats.node_xml import load_node
from nebula.graph.ids import id_of_content
from nebula.graph.store import GraphStore

_ENDINGS = (".xml", ".yaml", ".yml")
_READ = frozenset({INDEX, TAGS, SETTINGS, NODE_INDEX, FLOW_INDEX})
# Folders that are the graph's alone. Beside them a data folder may hold what its owner likes: a README, or a project.
_OURS = (f"{NODES}/", f"{FLOWS}/", "metadata/")
_DEEPEST = 6


def find_strays(files: Files) -> Iterator[str]:
    """Yield the path of every file in the graph's own folders, and of every XML and YAML file beside them, that is
    neither a node nor a flow nor anything else that is read. Names that begin with a dot are left out."""
    pending = [""]
    while pending:
        folder = pending.pop()
        for name in sorted(files.names(folder or ".")):
            path = f"{folder}/{name}" if folder else name
            found = files.status(path)
            if found is None or name.startswith("."):
                continue
            if stat.S_ISDIR(found.st_mode) and path.count("/") < _DEEPEST:
                pending.append(path)
            elif not _is_read(path) and _is_expected_to_be(path, found.st_mode):
                yield path


def _is_expected_to_be(path: str, mode: int) -> bool:
    return path.startswith(_OURS) or (stat.S_ISREG(mode) and may_be_taken_in(path))


def may_be_taken_in(path: str) -> bool:
    """Say whether a node or a flow may be in it."""
    return path.lower().endswith(_ENDINGS)


def _is_read(path: str) -> bool:
    return path in _READ or is_ours(path)


def kind_of(path: str) -> str:
    return NODES if path.lower().endswith(".xml") else FLOWS


class StrayContent(NamedTuple):
    """A node or flow to be taken in under a number: its bytes, and what the index says of it."""

    data: bytes
    id: str
    timestamp: str


def read_node(store: GraphStore, path: str, data: bytes) -> StrayContent | None:
    """Return the node, under another id where another node has its id by now; None where a node just like it is read
    already. Raises BadFile for what is no node."""
    node = load_node(data, path)
    try:
        known = store.read(node.id)
    except NotFound:
        return StrayContent(data, node.id, node.timestamp)
    fresh = id_of_content(data)
    return None if known == node else StrayContent(reidentified(data, fresh, path), fresh, node.timestamp)


def read_flow(store: GraphStore, path: str, data: bytes) -> StrayContent | None:
    """Return the flow; the check looks at clashes of flows by itself."""
    flow = load_flow(data, path).flow
    return (
        None if any(loaded.flow == flow for loaded in store.flows.all()) else StrayContent(data, flow.id, flow.created)
    )
