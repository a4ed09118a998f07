from lists import unique


class Counted:
    compared = 0

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        Counted.compared += 1
        return self.number == other.number

    def __hash__(self):
        return hash(self.number)


def test_order_and_repetitions():
    assert unique([3, 1, 3, 2, 1]) == [3, 1, 2]
    assert unique("abca") == ["a", "b", "c"]
    assert unique([]) == []


def test_items_that_cannot_be_hashed():
    assert unique([[1], [2], [1], 1, "x", {"a": 1}, {"a": 1}]) == [[1], [2], 1, "x", {"a": 1}]


def test_it_does_not_compare_everything_with_everything():
    count = 3_000
    assert len(unique([Counted(number % 2_000) for number in range(count)])) == 2_000
    assert Counted.compared < 20 * count
