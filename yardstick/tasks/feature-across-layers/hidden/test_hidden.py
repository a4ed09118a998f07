import pytest

from todo.cli import main
from todo.domain import Task
from todo.usecase import Tasks


def test_a_task_has_a_priority():
    assert Task("a").priority == 2
    assert Task("a", 1).priority == 1


def test_the_use_case_refuses_others():
    for wrong in (0, 4, -1):
        with pytest.raises(ValueError):
            Tasks().add("a", wrong)
    with pytest.raises(ValueError):
        Tasks().add(" ")


def test_the_most_urgent_first():
    tasks = Tasks()
    for words in (["b"], ["c", "--priority", "3"], ["a", "--priority", "1"], ["d", "--priority", "2"]):
        main(["add", *words], tasks)
    assert main(["list"], tasks) == "[1] a\n[2] b\n[2] d\n[3] c"
