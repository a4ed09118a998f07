"""A project with more chunks than one segment can count."""

from __future__ import annotations

import pytest

from index.project import Project, contents, function
from nebula.index import constants
from nebula.index.building import segments
from nebula.index.building.batches import build
from nebula.index.postings import places
from nebula.index.stores.rows import Stamp

TINY = "".join(f"def f{i}():\n  a\n  b\n  c\n" for i in range(5_000))


@pytest.mark.slow
def test_more_chunks_than_a_segment_holds_make_several(project: Project) -> None:
    for i in range(14):
        project.write(f"m{i}.py", TINY.replace("a\n", f"lighthouse{i}\n", 1))
    with project.index() as index:
        index.sync()
        assert index.status().chunks == 70_000
        sizes = [chunks for chunks, _ in index.store.shape().segments.values()]
        assert len(sizes) > 1 and max(sizes) <= constants.SEGMENT_CHUNKS
        for i in (0, 13):
            assert index.search(f"lighthouse{i}")[0].path == f"m{i}.py"


def test_a_file_goes_whole_into_the_next_segment(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "SEGMENT_CHUNKS", 5)
    for i in range(5):
        project.write(f"m{i}.py", "".join(function(f"light{i}_{j}", "beacon", "harbour") for j in range(2)))
    project.write("large.py", "".join(function(f"large{j}", "beacon", "harbour") for j in range(6)))
    project.write("bad.dat", b"\0")
    with project.index() as index:
        assert len(index.sync().skipped) == 1
        found = {path: (segment, count) for path, segment, count in index.store.db.execute(FILES)}
        assert found["large.py"][1] == 1, "one with more chunks than any segment holds is cut into windows"
        assert [found[f"m{i}.py"][1] for i in range(5)] == [2] * 5
        assert len({segment for segment, _ in found.values()}) == 3
        assert {hit.path for hit in index.search("beacon harbour", 20)} == found.keys()
        built = build(index.root, [(path, Stamp(*state.stamp)) for path, state in index.store.states().items()])
        assert [segment.chunk_count for segment in built.segments] == [5, 4, 2]
        assert max(place for segment in built.segments for _, data, _ in segment.terms for place in places(data)) == 4
        monkeypatch.undo()
        with project.fresh() as fresh:
            fresh.sync()
            kept, anew = contents(index), contents(fresh)
            assert kept["files"] == anew["files"]


FILES = "SELECT path, segment, chunks FROM file"
