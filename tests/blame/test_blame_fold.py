"""Whole histories in which every line carries a mark of who wrote it."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from marked_project import MarkedProject
from nebula.blame.authors import BEFORE, YOU, Author
from nebula.blame.fold import Fold

PATHS = ["a.py", "b.py", "c.py"]


def start(random: Random) -> MarkedProject:
    project = MarkedProject(random)
    for path in PATHS[:2]:
        project.files[path] = [project.line(BEFORE) for _ in range(6)]
    for path in PATHS[:2]:  # from its first turn on, what a person does to a file is known
        turn = project.new_turn()
        before = project.snapshot()
        project.files[path].append(project.line(turn))
        project.record(before, turn.of)
    return project


def turn_edits(project: MarkedProject) -> None:
    turn = project.new_turn()
    before = project.snapshot()
    for path in project.random.sample(sorted(project.files), 1):
        project.edit(path, turn)
    if project.random.random() < 0.3:
        project.move_between(*project.random.sample(PATHS[:2], 2))
    project.record(before, turn.of)


def you_edit(project: MarkedProject) -> None:
    project.edit(project.random.choice(sorted(project.files)), YOU)


def undo(project: MarkedProject) -> None:
    """Take back the last turn where its files are as it left them."""
    if not project.log:
        return
    group = project.log[-1].group
    changes = [change for change in project.changes_of(group) if change.kind == "write"]
    if not changes or any(project.now(each.path) != project.contents.get(each.after or "") for each in changes):
        return
    before = project.snapshot()
    for change in reversed(changes):
        content = project.contents[change.before or ""] if change.before else None
        if content is None:
            del project.files[change.path]
        else:
            project.files[change.path] = content.decode().splitlines()
    project.record(before, group, "undo")


@given(st.randoms(use_true_random=False), st.integers(1, 25))
def test_nobody_gets_a_line_of_somebody_else(random: Random, steps: int) -> None:
    project = start(random)
    for _ in range(steps):
        random.choice([turn_edits, turn_edits, you_edit, undo])(project)
    for path in project.files:
        content = project.now(path)
        assert content is not None
        assert Fold(project).authors(path, content) == project.expected(path), path


def authors(project: MarkedProject, path: str) -> list[Author]:
    content = project.now(path)
    assert content is not None
    return Fold(project).authors(path, content)


def project_of(*lines: str) -> MarkedProject:
    project = MarkedProject(Random(1))
    project.files["a.py"] = list(lines)
    return project


def turn(project: MarkedProject, by: Author | None = None, **files: list[str] | None) -> Author:
    """Let a new turn, or one that is not over yet, leave files (`a` is a.py) with these lines; None removes one."""
    author = by or project.new_turn()
    before = project.snapshot()
    write(project, **files)
    project.record(before, author.of)
    return author


def write(project: MarkedProject, **files: list[str] | None) -> None:
    for name, lines in files.items():
        if lines is None:
            del project.files[f"{name}.py"]
        else:
            project.files[f"{name}.py"] = lines


def test_a_whole_rewrite_owns_only_what_differs() -> None:
    project = project_of("first line", "second line", "third line")
    one = turn(project, a=["first line", "another line", "third line"])
    assert authors(project, "a.py") == [BEFORE, one, BEFORE]


def test_a_line_that_a_turn_takes_out_and_puts_back_keeps_its_author() -> None:
    project = project_of("first line", "second line", "third line")
    one = turn(project, a=["third line", "by the turn"])
    turn(project, one, a=None)
    turn(project, one, a=["first line", "second line", "third line", "by the turn"])
    assert authors(project, "a.py") == [BEFORE, BEFORE, BEFORE, one]


def test_what_stands_since_the_last_turn_is_yours() -> None:
    project = project_of("first line")
    one = turn(project, a=["first line", "second line"])
    write(project, a=["first line", "second line", "third line"])
    assert authors(project, "a.py") == [BEFORE, one, YOU]


def test_a_formatter_by_hand_leaves_the_authors() -> None:
    project = project_of("def f( ):")
    one = turn(project, a=["def f( ):", "  return  1+one"])
    write(project, a=["def f():", "    return 1 + one"])
    assert authors(project, "a.py") == [BEFORE, one]


def test_a_line_typed_again_belongs_to_who_typed_it() -> None:
    project = project_of("first line")
    turn(project, a=["first line", "second line"])
    turn(project, a=["first line"])
    write(project, a=["second line", "and more of it", "first line"])
    assert authors(project, "a.py") == [YOU, YOU, BEFORE]


def test_a_line_that_git_carried_back_keeps_its_author() -> None:
    project = project_of("first line")
    one = turn(project, a=["first line", "second line"])
    two = turn(project, a=["first line", "of another branch"])
    project.carried_at.append(project.time())
    write(project, a=["first line", "second line", "of another branch"])
    assert authors(project, "a.py") == [BEFORE, one, two]


def test_a_line_that_git_carries_into_a_file_that_a_turn_renamed_keeps_its_author() -> None:
    project = project_of("first line")
    one = turn(project, a=["first line", "second line"])
    turn(project, a=["first line"])
    turn(project, a=None, z=["first line"])
    project.carried_at.append(project.time())
    write(project, z=["first line", "second line"])
    assert authors(project, "z.py") == [BEFORE, one]


def test_a_line_that_git_carries_into_a_file_that_a_turn_renamed_and_changed_keeps_its_author() -> None:
    project = project_of("first line", "second line")
    one = turn(project, a=["first line", "second line", "by the first turn"])
    two = turn(project, a=None, z=["first line", "second line", "by the second turn"])
    project.carried_at.append(project.time())
    write(project, z=["first line", "second line", "by the first turn", "by the second turn"])
    assert authors(project, "z.py") == [BEFORE, BEFORE, one, two]


def test_a_state_that_comes_back_brings_its_authors() -> None:
    project = project_of("first line")
    one = turn(project, a=["first line", "second line"])
    turn(project, a=["everything anew"])
    write(project, a=["first line", "second line"])
    assert authors(project, "a.py") == [BEFORE, one]


def test_a_line_moved_to_another_file_in_one_turn_keeps_its_author() -> None:
    project = project_of("first line", "second line")
    one = turn(project, a=["first line", "second line", "third line"])
    two = turn(project, a=["first line"], b=["header of b", "second line", "third line"])
    assert authors(project, "b.py") == [two, BEFORE, one]


def test_a_line_moved_by_hand_to_another_file_keeps_its_author() -> None:
    project = project_of("first line")
    project.files["b.py"] = ["of another file"]
    one = turn(project, a=["first line", "second line"])
    two = turn(project, b=["of another file", "by the second turn"])
    write(project, a=["first line"], b=["of another file", "by the second turn", "second line"])
    assert authors(project, "b.py") == [BEFORE, two, one]


def test_a_short_line_that_is_the_only_one_of_its_kind_moves_as_a_long_one_does() -> None:
    project = project_of("first line")
    project.files["b.py"] = ["of another file"]
    one = turn(project, a=["x = 1", "first line", "y = 1"])
    two = turn(project, a=["x = 1", "first line"], b=["of another file", "z = 1", "y = 1"])
    assert authors(project, "b.py") == [BEFORE, two, one]
    write(project, a=["first line"], b=["x = 1", "of another file", "z = 1", "y = 1"])
    assert authors(project, "b.py") == [one, BEFORE, two, one]


def test_a_short_line_that_git_carried_back_keeps_its_author() -> None:
    project = project_of("first line")
    one = turn(project, a=["first line", "x = 1"])
    two = turn(project, a=["first line", "of another branch"])
    project.carried_at.append(project.time())
    write(project, a=["first line", "x = 1", "of another branch"])
    assert authors(project, "a.py") == [BEFORE, one, two]


def test_a_file_of_short_lines_renamed_by_hand_is_an_heir_as_well() -> None:
    project = project_of("x = 1")
    one = turn(project, a=["x = 1", "y = 1", "z = 1"])
    write(project, a=None, z=["x = 1", "y = 1", "by hand"])
    assert authors(project, "z.py") == [BEFORE, one, YOU]


def test_a_line_moved_by_hand_out_of_a_file_of_a_later_turn_keeps_its_author() -> None:
    project = project_of("first line")
    one = turn(project, a=["first line", "second line"])
    two = turn(project, b=["of another file", "by the second turn"])
    write(project, a=["first line", "second line", "by the second turn"], b=["of another file"])
    assert authors(project, "a.py") == [BEFORE, one, two]
    turn(project, b=["of another file", "further"])
    three = turn(project, a=["first line", "second line", "by the second turn", "third line"])
    assert authors(project, "a.py") == [BEFORE, one, two, three]


def test_a_file_renamed_by_hand_is_the_heir_of_the_missing_one() -> None:
    project = project_of("first line", "}")
    one = turn(project, a=["first line", "}", "second line"])
    write(project, a=None, z=["first line", "}", "second line", "third line"])
    assert authors(project, "z.py") == [BEFORE, BEFORE, one, YOU]


def test_a_line_moved_by_hand_into_a_renamed_file_keeps_its_author() -> None:
    project = project_of("first line", "second line")
    one = turn(project, a=["first line", "second line", "third line"])
    two = turn(project, b=["by the second turn", "by it as well"])
    moved = ["by the second turn", "third line", "by it as well", "by hand"]
    write(project, a=["first line", "second line"], b=None, z=moved)
    assert authors(project, "z.py") == [two, one, two, YOU]


def test_a_file_renamed_by_a_turn_keeps_its_authors() -> None:
    project = project_of("first line", "second line")
    one = turn(project, a=["first line", "second line", "third line"])
    turn(project, a=None, z=["first line", "second line", "third line"])
    assert authors(project, "z.py") == [BEFORE, BEFORE, one]


def test_what_another_turn_wrote_meanwhile_stays_its_own_where_a_turn_moves_it() -> None:
    project = project_of("first line")
    one = turn(project, a=["first line", "by the first turn"], b=["of another file"])
    two = turn(project, a=["first line", "by the first turn", "by the second turn"])
    turn(project, one, a=["first line", "by the first turn"], b=["of another file", "by the second turn"])
    assert authors(project, "b.py") == [one, two]


def test_what_another_turn_wrote_meanwhile_stays_its_own_where_a_turn_renames_the_file() -> None:
    project = project_of("first line")
    one = turn(project, a=["first line", "by the first turn"])
    two = turn(project, a=["first line", "by the first turn", "}"])
    turn(project, one, a=None, z=["first line", "by the first turn", "}"])
    assert authors(project, "z.py") == [BEFORE, one, two]


def test_a_line_that_a_turn_wrote_and_moves_out_of_a_file_renamed_meanwhile_is_its_own() -> None:
    project = project_of("first line")
    one = turn(project, a=["first line", "by the first turn"])
    turn(project, a=None, z=["first line", "by the first turn"])
    turn(project, one, b=["by the first turn"], z=["first line"])
    assert authors(project, "b.py") == [one]


def test_a_file_that_no_turn_changed_is_older() -> None:
    project = project_of("first line")
    turn(project, b=["of another file"])
    assert authors(project, "a.py") == [BEFORE]
