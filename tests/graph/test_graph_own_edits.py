"""Who changed something through a graph reads it so, however slow the disk was at the last look."""

from __future__ import annotations

from pathlib import Path

import pytest

from nebula.graph.derived import node_cache
from nebula.graph.graph import Graph


def test_an_edit_is_listed_after_a_look_that_took_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_cache, "_QUICK", -1.0)
    monkeypatch.setattr(node_cache, "_PATIENCE", 1e9)
    with Graph(tmp_path) as graph:
        node = graph.create_node("asked", "answered")
        assert graph.list_nodes() == [node]
        edited = graph.update_node(node.id, prompt="asked anew", tags=["bug"])
        assert graph.list_nodes() == [edited]
        assert [found.id for found in graph.search_nodes(text="anew")] == [node.id]
        graph.delete_node(node.id)
        assert graph.list_nodes() == []
