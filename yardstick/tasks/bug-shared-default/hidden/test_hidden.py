from orders import Order
from report import group


def test_orders_have_items_of_their_own():
    one, other = Order("a"), Order("b")
    one.add("x")
    assert other.items == []


def test_a_list_that_was_handed_in_is_not_changed():
    given = ["x"]
    order = Order("a", given)
    order.add("y")
    assert (order.items, given) == (["x", "y"], ["x"])


def test_groups_begin_empty():
    assert set(group([Order("a")])) == {"a"}
    assert set(group([Order("b")])) == {"b"}
