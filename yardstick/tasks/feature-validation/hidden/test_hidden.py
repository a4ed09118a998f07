import pytest

from accounts import User


def test_a_good_user():
    user = User("  Hana ", 30, "hana@example.org")
    assert (user.name, user.age, user.email) == ("Hana", 30, "hana@example.org")
    assert User("A", 0, "a@b").age == 0 and User("A", 150, "a@b").age == 150


@pytest.mark.parametrize("name", ["", "   ", "\t"])
def test_names(name):
    with pytest.raises(ValueError, match="name"):
        User(name, 1, "a@b")


@pytest.mark.parametrize("age", [-1, 151, 1.5, "3", None, True])
def test_ages(age):
    with pytest.raises(ValueError, match="age"):
        User("A", age, "a@b")


@pytest.mark.parametrize("email", ["", "a", "@", "a@", "@b", "a@b@c"])
def test_addresses(email):
    with pytest.raises(ValueError, match="email"):
        User("A", 1, email)
