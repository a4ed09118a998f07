"""What the parts of a score promise, whatever a project looks like."""

from __future__ import annotations

import heapq
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from index.project import Project, function
from nebula.index.index import Index
from nebula.index.ranking import scoring
from nebula.index.ranking.kinds import (
    CODE,
    DATA,
    DECLARATION,
    GENERATED,
    PROSE,
    TEST,
    asked_for,
    is_marked_generated,
    kind_of,
)
from nebula.index.ranking.meaning import Meaning
from nebula.index.ranking.parts import Makeup, total_of
from nebula.index.ranking.scoring import Scores, SparseRow, best_places, highest
from nebula.index.ranking.search import measure, rank
from nebula.index.stores.rows import Candidate
from nebula.index.vectors import pack
from rows import each_row

NOTHING = frozenset[int]()


def chunk(language: str, kind: int = CODE) -> Candidate:
    return Candidate(1, 0, 1, 1, 2, "", "digest", "a", "", language, kind, 0.0, 0, False)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, with_git=False)


def in_step(project: Project) -> Index:
    index = project.index()
    index.sync()
    return index


def paths(index: Index, question: str) -> list[str]:
    return [hit.path for hit in index.search(question, 100)]


rows = st.lists(st.integers(0, 9).map(float), max_size=30)


@example([[9.0, 1.0] * 30], 32, 30, False)  # what was looked at promises more than there is
@example([[9.0, 0.001] * 30], 32, 30, False)
@given(st.lists(rows, max_size=3), st.integers(1, 12), st.integers(2, 40), st.booleans())
def test_the_best_places_are_those_with_the_highest_scores(
    all_rows: list[list[float]], limit: int, sample: int, sparse: bool
) -> None:
    """However few scores the guess where they begin has looked at."""
    scores: Scores = {
        segment: SparseRow({i: score for i, score in enumerate(row) if score}) if sparse else row
        for segment, row in enumerate(all_rows, 1)
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "_SAMPLE", sample)
        places = best_places(scores, limit)
    found = [scores[segment][place] for segment, some in places.items() for place in some]
    every = [score for row in all_rows for score in row if score]
    assert sorted(found, reverse=True) == heapq.nlargest(limit, every)
    assert all(len(set(some)) == len(some) for some in places.values())
    assert highest(scores) == max(every, default=0.0)


@pytest.mark.parametrize("large", [False, True])
def test_where_not_all_can_be_looked_at_the_rarest_words_are_first(
    project: Project, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    for number in (1, 2, 4, 8, 16):
        project.write(f"m{number:02}.x", "harbour " * number + "other " * (40 - number))
    project.write("n.x", "lantern " + "other " * 39)
    with in_step(project) as index:
        monkeypatch.setattr(scoring, "LARGE_CHUNKS", 0 if large else scoring.LARGE_CHUNKS)
        assert len(paths(index, "harbour lantern")) == 6
        for room, found in ((1, {"n.x"}), (2, {"n.x", "m16.x"}), (3, {"n.x", "m16.x", "m08.x"})):
            monkeypatch.setattr(scoring, "MAX_POSTINGS", room)
            assert set(paths(index, "harbour lantern")) == found


def test_a_folder_of_many_files_tells_none_of_them_from_another(project: Project) -> None:
    for number in range(8):
        project.write(f"harbour/m{number}.py", function("plain"))
    with in_step(project) as index:
        assert len(paths(index, "harbour")) == 8
        project.write("harbour/m8.py", function("plain"))
        index.sync()
        assert paths(index, "harbour") == []
        for number in range(36):
            project.write(f"sea/n{number}.py", function("plain"))
        index.sync()
        assert len(paths(index, "harbour")) == 9, "nine are few among forty-five"


def test_only_so_many_files_are_brought_up_by_their_path_the_best_first(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("a/harbour.py", "b/harbour_light.py", "c/harbour.py"):
        project.write(path, function("plain"))
    with in_step(project) as index:
        for room in (1, 2, 3):
            monkeypatch.setattr("nebula.index.ranking.search.FILE_CANDIDATES", room)
            best = ["b/harbour_light.py", "a/harbour.py", "c/harbour.py"][:room]
            assert set(paths(index, "harbour light")) == set(best)
        assert paths(index, "harbour") and not index.search("harbour", language="go")
        assert [hit.path for hit in index.search("harbour", path_prefix="c/")] == ["c/harbour.py"]


@pytest.mark.parametrize("large", [False, True])
def test_a_filter_leaves_out_what_stands_before_and_behind(
    project: Project, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    monkeypatch.setattr(scoring, "LARGE_CHUNKS", 0 if large else scoring.LARGE_CHUNKS)
    for folder, times in (("a", 8), ("b", 1), ("c", 8)):
        project.write(f"{folder}/m.x", "lighthouse " * times + "other " * (40 - times))
    with in_step(project) as index:
        monkeypatch.setattr("nebula.index.ranking.search.CANDIDATES", 1)
        assert [hit.path for hit in index.search("lighthouse", path_prefix="b/")] == ["b/m.x"]


def test_the_parts_of_a_chunk_add_up_to_its_score(project: Project) -> None:
    project.write("app/cookie.py", function("save_cookie", "session") + function("load", "cookie", "disk"))
    project.write("app/extra.targets", "cookie session\n")
    project.write("tests/test_cookie.py", function("test_cookie", "save_cookie"))
    project.write("docs/cookie.md", "# Cookie\n\nA session has one.\n")
    with in_step(project) as index:
        shape = index.store.shape()
        every = list(index.store.candidates({each: list(range(size)) for each, (size, _) in shape.segments.items()}))
        index.store.add_vectors("m", [(each.digest, pack((1.0, float(i)))) for i, each in enumerate(every[1:])])
        far: list[float] = []
        for meaning in (None, Meaning(index.store, "m", (0.2, 0.8))):
            for question in ("save the cookie of a session", "disk", "tests of the cookie", "zebra"):
                measured = measure(index.store, question, meaning=meaning)
                added = {(each.path, each.start): total_of(parts) for each, parts in measured}
                ranked = rank(index.store, question, 100, meaning=meaning)
                assert {(each.path, each.start): score for score, each in ranked} == pytest.approx(added)
                assert all(0 <= part <= 1.3 for _, parts in measured for part in parts.values())
                if meaning:
                    far += [parts["meaning"] for each, parts in measured if each.digest == every[0].digest]
        assert set(far) == {0}, "what has no vector is near to nothing"
        by_meaning_alone = rank(index.store, "the of and", 100, meaning=Meaning(index.store, "m", (0.2, 0.8)))
        assert {each.digest for _, each in by_meaning_alone} == {each.digest for each in every[1:]}


def test_names_in_one_chunk_count_up_to_five(project: Project) -> None:
    for path, count in (("a.toml", 7), ("b.toml", 5), ("c.toml", 2)):
        project.write(path, "".join(f"[harbour_{number}]\n" for number in range(count)))
    with in_step(project) as index:
        found = {chunk.path: parts["many definitions"] for chunk, parts in measure(index.store, "harbour")}
    assert found == {"a.toml": 1.0, "b.toml": 1.0, "c.toml": 0.4}


def test_a_file_with_nothing_in_it_is_no_hit(project: Project) -> None:
    project.write("harbour/__init__.py", "")
    for name in ("lighthouse", "beacon"):
        project.write(f"{name}.py", function(name))
    with in_step(project) as index:
        assert paths(index, "harbour") == []


def test_a_language_is_as_rare_as_its_share_of_the_code() -> None:
    makeup = Makeup(
        {("go", CODE): 800, ("python", CODE): 150, ("cpp", CODE): 30, ("c", CODE): 10, ("c", DECLARATION): 10}
    )

    def rare(language: str) -> float:
        return makeup.parts_of(chunk(language), NOTHING)["rare language"]

    assert 0 <= rare("go") < rare("python") < rare("c") < rare("rust") == 1
    assert rare("c") == rare("cpp"), "they are written side by side in one program"
    assert Makeup({("go", CODE): 9}).parts_of(chunk("go"), NOTHING)["rare language"] == 0, "there is no other"
    assert Makeup({}).parts_of(chunk("go"), NOTHING)["rare language"] == 1
    assert makeup.parts_of(chunk(""), NOTHING) == {"rare language": 1, "no language": 1}
    for kind in (TEST, PROSE, DATA, GENERATED):
        assert makeup.parts_of(chunk("go", kind), NOTHING) == {}, "only code is compared"


def test_what_a_project_is_written_in_follows_its_files(project: Project) -> None:
    def rare(index: Index) -> float:
        return next(parts["rare language"] for c, parts in measure(index.store, "harbour") if c.path == "a.py")

    project.write("a.py", function("harbour"))
    with in_step(project) as index:
        assert rare(index) == 0 == rare(index)
        project.write("b.go", "func lighthouse() {\n}\n" * 40)
        index.sync()
        assert rare(index) > 0.3
        index.prune(["b.go"])
        assert rare(index) == 0


def test_a_header_counts_by_how_much_of_the_code_stands_in_headers() -> None:
    makeup = Makeup({("cpp", CODE): 30, ("cpp", DECLARATION): 30, ("c", DECLARATION): 60, ("go", CODE): 9})

    def in_headers(language: str) -> float:
        return makeup.parts_of(chunk(language, DECLARATION), NOTHING)["code in headers"]

    assert in_headers("c") == in_headers("cpp") == 0.75, "headers of either language are of the one program"
    assert in_headers("go") == in_headers("rust") == 0
    asked = makeup.parts_of(chunk("c", DECLARATION), frozenset({DECLARATION}))
    assert asked["asked for"] == 1 and "code in headers" not in asked


@each_row(
    ("path", "kind", "if_generated"),
    [
        ("src/users.go", CODE, GENERATED),
        ("src/users.h", DECLARATION, GENERATED),
        ("config/users.json", DATA, GENERATED),
        ("tests/users_test.go", TEST, TEST),
        ("docs/users.md", PROSE, PROSE),
        ("SRC/TESTS/USERS.GO", TEST, TEST),
    ],
)
def test_what_a_program_made_is_generated_unless_its_place_says_more(path: str, kind: int, if_generated: int) -> None:
    assert (kind_of(path), kind_of(path, True)) == (kind, if_generated)


@each_row(
    ("text", "is_marked"),
    [
        (b"@generated", True),
        (b"// Code generated by x. DO NOT EDIT.\n", True),
        (b"# This file was autogenerated from y\n", True),
        (b"x" * 985 + b" @generated", True),
        (b"x" * 995 + b" @generated", False),
        (b"# how code is generated, and who may edit it\n", False),
        (b"", False),
    ],
)
def test_a_file_says_at_its_head_that_a_program_made_it(text: bytes, is_marked: bool) -> None:
    assert is_marked_generated(text) is is_marked


@each_row(
    ("question", "kinds"),
    [
        ("Where are the TESTS of the parser", {TEST}),
        ("the readme and\n\nthe header   file", {PROSE, DECLARATION}),
        ("一番のテスト", {TEST}),
        ("the latest contest", set()),
        (" ".join(["word"] * 15) + " tests", {TEST}),
        (" ".join(["word"] * 16) + " tests", set()),
        ("x" * 8_000 + " tests", set()),
    ],
)
def test_a_question_names_the_kind_it_wants_at_its_beginning(question: str, kinds: set[int]) -> None:
    assert asked_for(question) == kinds
