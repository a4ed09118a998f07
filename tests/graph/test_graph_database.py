"""The derived database gives back what it holds open."""

import gc
import sqlite3

import pytest

from nebula.graph.derived.disposable_database import DisposableDatabase


def test_one_that_nobody_closed_closes_its_connection_when_it_goes(tmp_path):
    """A graph that is only read need not be closed; newer Pythons warn of a connection that is left open."""
    database = DisposableDatabase(lambda: str(tmp_path / "graph.db"), int, int)
    connection = database.writer
    assert connection.execute("SELECT count(*) FROM files").fetchone() == (0,)
    del database
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError):
        connection.execute("SELECT 1")
