"""The outline of a project: which files count most, and what each is said to define."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.project import Project
from nebula.index.constants import OUTLINE_HITS, OUTLINE_SYMBOLS
from nebula.index.ranking.outline import OutlinedFile, fitting, reordered
from nebula.index.ranking.search import rank


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write("core.py", "def light_house():\n    return 1\n\n\ndef first_beacon():\n    return 2\n")
    for name in ("one", "two", "three"):
        made.write(f"{name}.py", f"from core import light_house\n\n\ndef {name}_harbour():\n    return light_house()\n")
    made.write("apart.py", "def sea_gull():\n    return 'cookie'\n")
    made.write("notes.txt", "nothing is defined here\n")
    return made


def paths(found: list[OutlinedFile]) -> list[str]:
    return [each.path for each in found]


def test_what_others_refer_to_stands_first_with_what_it_defines(project: Project) -> None:
    with project.index() as index:
        index.sync()
        found = index.outline()
        assert found[0] == OutlinedFile("core.py", "light_house, first_beacon")
        assert found[0].line == "core.py: light_house, first_beacon"
        assert sorted(paths(found)) == sorted(paths(index.outline(limit=100)))
        assert OutlinedFile("notes.txt", "").line == "notes.txt"
        assert paths(index.outline(limit=1)) == ["core.py"]
        assert paths(index.outline("  ")) == paths(found)


def test_a_question_and_what_was_read_bring_files_forward(project: Project) -> None:
    with project.index() as index:
        index.sync()
        assert paths(index.outline("sea_gull cookie"))[:2] in (["apart.py", "core.py"], ["core.py", "apart.py"])
        assert paths(index.outline("sea_gull cookie", ["apart.py"]))[0] == "apart.py"
        assert paths(index.outline("", ["two.py"], limit=2)) == ["core.py", "two.py"]
        assert paths(index.outline("three harbour", ["three.py"], limit=1)) == ["three.py"]
        assert paths(index.outline("zebra zzz")) == paths(index.outline())


def test_what_only_the_question_finds_is_told_with_what_it_defines(project: Project) -> None:
    with project.index() as index:
        index.sync()
        assert "two.py" not in [path for _, path, _ in index.store.ranked_files(4, ())]
        assert index.outline("two_harbour", limit=2)[1] == OutlinedFile("two.py", "two_harbour")


def test_references_question_and_reading_are_added_up(tmp_path: Path) -> None:
    made = Project(tmp_path)
    made.write("tests/shared.py", "def shared_shore():\n    return 1\n")
    names = [f"{each}_tower" for each in ("amber", "bronze", "copper", "denim", "ebony", "flint", "granite", "hazel")]
    for number, name in enumerate(names):
        uses = "".join(f"from m{other} import {names[other]}\n" for other in range(number))
        calls = "".join(f"    {names[other]}()\n" for other in range(number))
        uses += "from tests.shared import shared_shore\n"  # no code: what counts most of the code has less than it
        calls += "    shared_shore()\n" * 9
        made.write(f"m{number}.py", f"{uses}\n\ndef {name}():\n{calls}    return 'word{number} harbour'\n")
    made.write("far.py", "def far_away():\n    return 'harbour word3 word3'\n")
    made.write("calm.py", "def calm_day():\n    return 2\n")
    made.write("weather.py", "from calm import calm_day\n\n\ndef weather():\n    return calm_day()\n")
    made.write("old.md", "Of ships and shores.\n" * 40 + "A harbour.\n")  # what speaks of it counts against it
    with made.index() as index:
        index.sync()
        for question, recent in (
            ("harbour", ()),
            ("word3 harbour", ("m7.py",)),
            ("word6", ("m1.py", "far.py")),
            ("", ()),
        ):
            referred = {path: rank for _, path, rank in index.store.ranked_files(100, recent)}
            assert len(set(referred.values())) > 5 and max(referred.values()) < 1
            asked: dict[str, float] = {}
            for score, hit in rank(index.store, question, OUTLINE_HITS):
                asked[hit.path] = max(asked.get(hit.path, 0.0), score)
                referred.setdefault(hit.path, hit.rank)
            worth = {
                path: referred[path] / max(referred.values())
                + asked.get(path, 0.0) / max([1e-9, *asked.values()])
                + (path in recent)
                for path in referred
            }
            assert paths(index.outline(question, recent)) == sorted(worth, key=lambda path: (-worth[path], path))


def test_a_file_with_nothing_in_it_is_told_by_its_name(project: Project) -> None:
    project.write("pkg/__init__.py", "")
    with project.index() as index:
        index.sync()
        assert OutlinedFile("pkg/__init__.py", "") in index.outline(limit=100)


def test_only_the_best_hits_of_a_question_bring_files_forward(tmp_path: Path) -> None:
    made = Project(tmp_path)
    for number in range(OUTLINE_HITS + 10):
        made.write(f"m{number:02}.py", f"def name{number}():\n    return 'harbour'\n")
    made.write("apart.py", "def sea_gull():\n    return 'cookie'\n")
    with made.index() as index:
        index.sync()
        best = [hit.path for _, hit in rank(index.store, "harbour", OUTLINE_HITS)]
        assert sorted(paths(index.outline("harbour", limit=OUTLINE_HITS))) == sorted(best)
        rest = paths(index.outline("harbour", limit=100))[OUTLINE_HITS:]
        assert rest == sorted(rest) and not set(rest) & set(best)
        assert rest[0] == "apart.py", "it stands before what the question would have found beyond that"


def test_an_empty_project_has_none(tmp_path: Path) -> None:
    with Project(tmp_path).index() as index:
        index.sync()
        assert (index.outline(), index.outline("harbour", ["gone.py"])) == ([], [])
    assert reordered([], "harbour", ()) == []


def test_words_that_few_files_have_say_more() -> None:
    names = ("open_file", "read_query", "write_query", "retry_now", "query_all", "close", "end")
    files = [OutlinedFile(f"m{number}.py", name) for number, name in enumerate(names)]
    assert paths(reordered(files, "query retry", ()))[:3] == ["m3.py", "m1.py", "m2.py"]
    assert paths(reordered(files, "query retry", ("m6.py",)))[:4] == ["m3.py", "m1.py", "m2.py", "m6.py"]


def test_a_file_that_is_gone_leaves_its_place_to_the_next(project: Project) -> None:
    with project.index() as index:
        index.sync()
        first, second, third = paths(index.outline(limit=3))
        (project.root / first).unlink()
        assert paths(index.outline(limit=2)) == [second, third]


def test_names_are_told_once_in_the_order_of_the_file_and_not_without_end(project: Project) -> None:
    names = [f"name{number}" for number in range(OUTLINE_SYMBOLS + 3)]
    body = "\n\n".join(f"def {name}():\n" + "".join(f"    x{line} = {line}\n" for line in range(30)) for name in names)
    project.write("many.py", body + f"\n\ndef {names[0]}():\n    return 1\n")
    with project.index() as index:
        index.sync()
        [many] = [each for each in index.outline(limit=100) if each.path == "many.py"]
        assert many.symbols == ", ".join(names[:OUTLINE_SYMBOLS]) + ", …"
        exact = "\n\n".join(f"def {name}():\n    return 1" for name in names[:OUTLINE_SYMBOLS])
        project.write("many.py", exact + "\n")
        index.sync()
        [many] = [each for each in index.outline(limit=100) if each.path == "many.py"]
        assert many.symbols == ", ".join(names[:OUTLINE_SYMBOLS])


def test_as_many_lines_as_there_is_room_for() -> None:
    files = [OutlinedFile("a.py", "é"), OutlinedFile("b\x1b.py"), OutlinedFile("c.py")]
    whole = len("a.py: é\n".encode()) + len("b\x1b.py\n") + len("c.py\n")
    assert fitting(files, whole) == ["a.py: é", "c.py"]
    assert fitting(files, whole - 1) == ["a.py: é"]
    assert fitting(files, 8) == []
    assert fitting([OutlinedFile("\udcff.py")], 100) == []
