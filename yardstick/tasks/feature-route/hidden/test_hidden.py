import json

import pytest

from web.app import app


def ask(path, method="GET"):
    seen = {}

    def start(status, headers):
        seen.update(status=int(status.split()[0]), headers={name.lower(): value for name, value in headers})

    body = b"".join(app({"PATH_INFO": path, "REQUEST_METHOD": method}, start))
    return seen["status"], json.loads(body) if body else None, seen["headers"]


def test_one_item():
    status, body, headers = ask("/items/2")
    assert (status, body) == (200, {"id": 2, "name": "book"})
    assert headers["content-type"] == "application/json"


def test_the_list_as_before():
    assert ask("/items")[:2] == (200, [{"id": 1, "name": "pen"}, {"id": 2, "name": "book"}])


@pytest.mark.parametrize("path", ["/items/3", "/items/x", "/items/", "/items/1/2", "/", "/other", "/items/-1", "/items/²"])
def test_what_is_not_there(path):
    assert ask(path)[:2] == (404, {"error": "not found"})


@pytest.mark.parametrize("path", ["/items", "/items/1"])
def test_other_methods(path):
    status, _, headers = ask(path, "POST")
    assert status == 405 and headers["allow"] == "GET"
