"""What only a database server can do to us: go away, come back, be ahead."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from index.project import Project, function
from nebula.files.home import project_id
from nebula.index.errors import IndexFailed
from nebula.index.stores.postgres import schema_name

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path, postgres_url: str) -> Project:
    project = Project(tmp_path, url=postgres_url)
    project.write("a.py", function("lighthouse"))
    return project


def end_connections(project: Project) -> None:
    with psycopg.connect(project.url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid()")


def test_a_lost_connection_is_made_again(project: Project) -> None:
    with project.index() as index:
        index.sync()
        end_connections(project)
        assert [hit.path for hit in index.search("lighthouse")] == ["a.py"]
        end_connections(project)
        project.write("b.py", function("beacon"))
        assert index.sync().ingested == 1


def test_a_connection_lost_in_a_transaction_is_our_error_and_changes_nothing(project: Project) -> None:
    with project.index() as index:
        index.sync()
        with pytest.raises(IndexFailed, match="gone away"), index.store.db.writing():
            index.store.db.execute("DELETE FROM file")
            end_connections(project)
            index.store.db.execute("DELETE FROM chunk")
        assert [hit.path for hit in index.search("lighthouse")] == ["a.py"]


def test_a_change_that_fails_half_way_is_undone(project: Project) -> None:
    with project.index() as index:
        index.sync()
        with pytest.raises(IndexFailed, match="refuses: syntax error"), index.store.db.writing():
            index.store.db.execute("DELETE FROM file")
            index.store.db.execute("no statement")
        assert [hit.path for hit in index.search("lighthouse")] == ["a.py"]
        with pytest.raises(IndexFailed, match=r"refuses: .*read-only"), index.store.db.reading():
            index.store.db.execute("DELETE FROM file")
        project.write("b.py", function("beacon"))
        assert index.sync().ingested == 1


def test_a_server_that_is_not_there_is_our_error(tmp_path: Path) -> None:
    project = Project(tmp_path, url=f"postgresql://x@/x?host={tmp_path}")
    with pytest.raises(IndexFailed, match="cannot be reached"):
        project.index()


def test_an_index_of_a_newer_version_is_left_alone_and_an_older_one_made_anew(project: Project) -> None:
    with project.index() as index:
        index.sync()
    schema = schema_name(project_id(str(project.root)))
    with psycopg.connect(project.url, autocommit=True) as other:
        (known,) = other.execute(f"UPDATE {schema}.format SET version = version + 1 RETURNING version").fetchone()  # type: ignore[misc]
        with pytest.raises(IndexFailed, match="newer"):
            project.index()
        other.execute(f"UPDATE {schema}.format SET version = {known - 2}")
    with project.index() as index:
        assert index.status().files == 0
        index.sync()
        assert [hit.path for hit in index.search("lighthouse")] == ["a.py"]


def test_a_right_that_is_missing_is_a_sentence(project: Project) -> None:
    with psycopg.connect(project.url, autocommit=True) as other:
        other.execute("DROP DATABASE IF EXISTS bare")
        other.execute("CREATE DATABASE bare")
        other.execute("DROP ROLE IF EXISTS guest")
        other.execute("CREATE ROLE guest LOGIN")
    project.url = psycopg.conninfo.make_conninfo(project.url, dbname="bare", user="guest")
    with pytest.raises(IndexFailed, match='refuses: permission denied to create extension "vector"'):
        project.index()
