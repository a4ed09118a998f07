"""A value does what a frozen dataclass with slots does."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.value import field, record, replace, value
from rows import each_row


@value
class Point:
    x: int
    y: int = 0
    kind: ClassVar[str] = "point"

    def length(self) -> int:
        return self.x + self.y


@value
class Named(Point):
    name: str = "origin"


@value
class Checked:
    x: int

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("negative")
        object.__setattr__(self, "x", int(self.x))


@value
class Empty:
    """Nothing."""


@dataclass(frozen=True, slots=True)
class Model:
    x: int
    y: int = 0


@given(st.integers(), st.integers(), st.integers(), st.integers())
def test_like_a_dataclass(a, b, c, d):
    assert (Point(a, b) == Point(c, d)) == (Model(a, b) == Model(c, d))
    assert (hash(Point(a, b)) == hash(Point(c, d))) == (hash(Model(a, b)) == hash(Model(c, d)))
    assert repr(Point(a, b)) == repr(Model(a, b)).replace("Model", "Point")


def test_position_name_and_default():
    assert Point(1) == Point(x=1, y=0) == Point(1, 0)
    for wrong in (lambda: Point(), lambda: Point(1, 2, 3), lambda: Point(1, z=2), lambda: Point(1, x=2)):
        with pytest.raises(TypeError):
            wrong()


def _new_classes():
    @value
    class Pair:
        x: int
        y: int = 0

        def __post_init__(self) -> None:
            object.__setattr__(self, "x", self.x + 1)

    @record
    class Basket:
        things: list = field(default_factory=list)

    return Pair, Basket


def test_the_hundredth_object_is_made_like_the_first():
    Pair, Basket = _new_classes()
    for number in range(100):
        made = Pair(number), Pair(x=number), Pair(number, 2), Pair(y=2, x=number)
        assert [(each.x, each.y) for each in made] == [(number + 1, 0)] * 2 + [(number + 1, 2)] * 2
        baskets = Basket(), Basket()
        baskets[0].things.append(number)
        assert baskets == (Basket([number]), Basket())


@each_row("before", [0, 100])
@each_row("given, named", [((), {}), ((1, 2, 3), {}), ((1,), {"z": 2}), ((1,), {"x": 2})])
def test_a_wrong_call_says_what_is_wrong(before, given, named):
    Pair, _ = _new_classes()
    for number in range(before):
        Pair(number)
    with pytest.raises(TypeError, match=r"__init__\(\) (missing|takes|got)"):
        Pair(*given, **named)
    assert Pair(1).x == 2


def test_inheritance_and_class_variables():
    assert Named(1, 2, "n") == Named(1, 2, name="n")
    assert (Named(1).y, Named(1).name, Named(1).kind, Named(1, 2).length()) == (0, "origin", "point", 3)
    assert Named(1, 0) != Point(1, 0)
    assert isinstance(Named(1), Point)


def test_never_changed():
    point = Point(1)
    for change in (lambda: setattr(point, "x", 2), lambda: setattr(point, "z", 2), lambda: delattr(point, "x")):
        with pytest.raises(AttributeError):
            change()
    assert not hasattr(point, "__dict__")


def test_a_dataclass_for_whoever_asks():
    assert dataclasses.is_dataclass(Named(1))
    assert dataclasses.replace(Named(1, 2, "n"), y=5) == Named(1, 5, "n")
    assert dataclasses.asdict(Point(1, 2)) == {"x": 1, "y": 2}
    assert [each.name for each in dataclasses.fields(Named)] == ["x", "y", "name"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        Point(1).x = 2


def test_post_init_may_check_and_normalise():
    assert Checked(True).x == 1
    with pytest.raises(ValueError, match="negative"):
        Checked(-1)


def test_replace_copy_pickle_match():
    assert replace(Point(1, 2), y=3) == Point(1, 3)
    assert copy.copy(Point(1, 2)) == copy.deepcopy(Point(1, 2)) == Point(1, 2)
    assert pickle.loads(pickle.dumps(Point(1, 2))) == Point(1, 2)
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
    assert Empty() == Empty()


@record
class Basket:
    owner: str
    apples: list[str] = field(default_factory=list)
    limit: int = 3

    def is_full(self) -> bool:
        return len(self.apples) >= self.limit


def test_a_record_can_be_set_and_shares_nothing() -> None:
    first, second = Basket("a"), Basket("b", limit=1)
    first.apples.append("red")
    second.owner = "c"
    assert (first.apples, second.apples, second.owner) == (["red"], [], "c")
    assert not first.is_full() and Basket("a", ["x"], 1).is_full()
    with pytest.raises(AttributeError):
        first.pears = 1  # type: ignore[attr-defined]


def test_a_record_is_equal_by_content_shown_by_content_and_not_hashed() -> None:
    assert Basket("a") == Basket("a") != Basket("b")
    assert repr(Basket("a")) == "Basket(owner='a', apples=[], limit=3)"
    with pytest.raises(TypeError):
        hash(Basket("a"))
    with pytest.raises(TypeError):
        Basket()  # type: ignore[call-arg]


def test_a_record_is_replaced_like_a_value() -> None:
    assert replace(Basket("a", ["x"]), owner="b") == Basket("b", ["x"])
