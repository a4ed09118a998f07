"""The order and the scores of a search are those that another way of working them out finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.project import Project, function
from index.reference_ranking import rank_texts
from nebula.index.ranking import scoring, search
from nebula.index.ranking.outline import OutlinedFile, reordered

FIRST = {
    "app/session.py": function("open_session", "connect_database", "read_cookie")
    + function("save_session", "session", "session", "cookie", "connect_database")
    + function("close_session", "session"),
    "app/database.py": "class DatabasePool:\n"
    + "".join(
        f"    def connect_{i}(self):\n" + "        retry_query()\n" * (i + 2) + "        session()\n\n"
        for i in range(9)
    )
    + "\n\n"
    + function("connect_database", "retry_query", "socket"),
    "app/cookie.py": function("read_cookie", "header", "parse", "cookie")
    + function("parse", "header", *["split"] * 30),
    "app/copy.py": function("read_cookie", "header", "parse", "cookie"),
    "lib/session/store.py": function("load", "bytes_of") + function("bytes_of", "bytes_of", "raw"),
    "lib/retry.py": function("retry_query", "sleep", "session", "retry_query", "query") + function("sleep", "clock"),
    "include/session.h": "int open_session(void);\nint save_session(int cookie);\n",
    "tests/test_session.py": function("test_save_session", "save_session", "session", "cookie"),
    "docs/session.md": "# Session\n\nThe session cookie is saved in the database.\n",
    "settings.yaml": "session:\n  cookie: yes\n  retry: 3\n",
    "empty.py": "",
    "sails/jib.py": "def pull_rope():\n    wind = 1\n",
    "sails/main.py": "def pull_rope():\n    wind = 2\n",
    "sails/spinnaker.py": "def pull_rope():\n    wind = 3\n",
    "sails/letters.py": "def ab_c():\n    query = 1\n",
    "sails/crew.py": "def hoist():\n    pull_rope()\n    ab_c()\n    connect_database()\n",
}
LATER: dict[str, str | None] = {
    "app/session.py": function("open_session", "connect_database") + function("forget", "lantern", "cookie"),
    "app/copy.py": None,
    "lib/retry.py": FIRST["lib/retry.py"] + function("session_retry", "retry_query", "connect_database"),
    "lib/more.py": function("use_all", "open_session", "read_cookie", "retry_query", "connect_database"),
    "lib/session/store.py": FIRST["lib/session/store.py"].replace("raw", "cookie"),
}
QUESTIONS = (
    "where is the session cookie saved",
    "connect to the database",
    "retry a query",
    "`read_cookie` header",
    "tests of save session",
    "session docs",
    "parse",
    "bytes of raw",
    "session.h header file declarations",
    "lantern",
    "store",
    "nothing of this zebra",
    "セッションを保存する",
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, with_git=False)


def change(project: Project, texts: dict[str, str], changes: dict[str, str | None]) -> dict[str, str]:
    after = dict(texts)
    for path, text in changes.items():
        if text is None:
            (project.root / path).unlink()
            del after[path]
        else:
            project.write(path, text)
            after[path] = text
    return after


def assert_ranked_as_worked_out(project: Project, texts: dict[str, str]) -> None:
    with project.index() as index:
        for question in QUESTIONS:
            wanted = rank_texts(texts, question)
            found = [(hit.score, hit.path, hit.span) for hit in index.search(question, 100)]
            assert [each[1:] for each in found] == [each[1:] for each in wanted], question
            assert [each[0] for each in found] == pytest.approx([each[0] for each in wanted], abs=2e-4), question


def test_a_new_index_ranks_as_worked_out(project: Project) -> None:
    texts = change(project, {}, dict(FIRST))
    with project.index() as index:
        index.sync()
    assert_ranked_as_worked_out(project, texts)


@pytest.mark.parametrize("large", [False, True])
def test_an_index_with_dead_chunks_ranks_as_worked_out(
    project: Project, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    """What is dead counts for nothing: neither as a hit, nor in how rare a word is, nor as a reference."""
    monkeypatch.setattr(scoring, "LARGE_CHUNKS", 0 if large else scoring.LARGE_CHUNKS)
    texts = change(project, {}, dict(FIRST))
    with project.index() as index:
        index.sync()
        texts = change(project, texts, LATER)
        index.sync()
        shape = index.store.shape()
        assert shape.dead_chunks and shape.dead_files and len(shape.segments) > 1
    assert_ranked_as_worked_out(project, texts)


def test_only_so_many_candidates_are_ranked(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2, 4, 8, 16):
        project.write(f"m{number:02}.x", "lighthouse " * number + "other " * (40 - number))
    with project.index() as index:
        index.sync()
        everything = ["m16.x", "m08.x", "m04.x", "m02.x", "m01.x"]
        assert [hit.path for hit in index.search("lighthouse", 100)] == everything
        assert [hit.path for hit in index.search("lighthouse", 2)] == everything[:2]
        monkeypatch.setattr(search, "CANDIDATES", 3)
        assert [hit.path for hit in index.search("lighthouse", 100)] == everything[:3]
        monkeypatch.undo()
        monkeypatch.setattr(scoring, "MAX_POSTINGS", 2)
        assert [hit.path for hit in index.search("lighthouse", 100)] == everything[:2], "the heaviest come first"


def test_the_path_alone_brings_up_the_best_chunk_of_a_file(project: Project) -> None:
    project.write("harbour.py", function("first", "a") + function("second", "beacon") + function("third", "c"))
    project.write("other.py", function("plain", "beacon"))
    with project.index() as index:
        index.sync()
        assert next((hit.path, hit.span) for hit in index.search("harbour beacon")) == ("harbour.py", "L5-L8")
        assert [(hit.path, hit.span) for hit in index.search("harbour")] == [("harbour.py", "L1-L4")]


def test_a_filter_is_heeded_before_the_candidates_are_cut(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (4, 8, 16):
        project.write(f"near/m{number}.x", "lighthouse " * number + "other " * (40 - number))
    project.write("far/m1.x", "lighthouse " + "other " * 39)
    project.write("near/m1.py", "lighthouse = 1\n" + "other = 2\n" * 20)
    monkeypatch.setattr(search, "CANDIDATES", 2)
    with project.index() as index:
        index.sync()
        assert [hit.path for hit in index.search("lighthouse", path_prefix="far/")] == ["far/m1.x"]
        assert [hit.path for hit in index.search("lighthouse", language="python")] == ["near/m1.py"]


def test_an_outline_made_before_is_put_in_order_by_the_words_of_the_question() -> None:
    files = [OutlinedFile(f"m{i}.py", name) for i, name in enumerate(("open", "save_cookie", "load", "retry_query"))]
    assert [each.path for each in reordered(files, "retry the query", ())] == ["m3.py", "m0.py", "m1.py", "m2.py"]
    assert [each.path for each in reordered(files, "cookie", ("m2.py",))] == ["m1.py", "m2.py", "m0.py", "m3.py"]
    assert reordered(files, "zebra", ()) == files
