import pytest

from users import add, find, open_db


@pytest.fixture
def db():
    db = open_db()
    for name in ("Ann", "Bob", "O'Hara", "100%", "a_b", "axb", "back\\slash"):
        add(db, name)
    return db


def test_ordinary_search(db):
    assert find(db, "nn") == ["Ann"]
    assert find(db, "b") == ["Bob", "a_b", "axb", "back\\slash"]
    assert len(find(db, "")) == 7


@pytest.mark.parametrize("text", ["' OR '1'='1", "'; DROP TABLE users; --", "%' --"])
def test_sql_in_the_text_is_only_text(db, text):
    assert find(db, text) == []
    assert len(find(db, "")) == 7


@pytest.mark.parametrize(("text", "wanted"), [("'", ["O'Hara"]), ("%", ["100%"]), ("_", ["a_b"]), ("\\", ["back\\slash"])])
def test_every_sign_stands_for_itself(db, text, wanted):
    assert find(db, text) == wanted
