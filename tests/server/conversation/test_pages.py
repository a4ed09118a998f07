"""The files of the page: compressed for who takes that, light, and all of them asked for at once."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from nebula.server.conversation.pages import WEB, Pages

WEIGHT_KB = 200


@pytest.fixture
def client():
    pages = Pages()
    return TestClient(Starlette(routes=[Route("/", pages.index), Route("/web/{path:path}", pages.file)]))


def test_a_file_is_compressed_only_for_who_takes_that(client):
    plain = client.get("/web/index.js", headers={"accept-encoding": "identity"})
    packed = client.get("/web/index.js", headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in plain.headers and packed.headers["content-encoding"] == "gzip"
    assert plain.content == packed.content and int(packed.headers["content-length"]) < len(plain.content) / 2
    assert client.get("/web/none.js").status_code == 404


def test_the_whole_page_is_light():
    files = [path for path in Path(WEB).rglob("*") if path.suffix in (".html", ".js", ".css", ".svg")]
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < WEIGHT_KB * 1000


def test_every_module_is_asked_for_before_the_first_one_runs():
    """One after the other they would cost a way to the server for each step of an import."""
    asked = set(re.findall(r'modulepreload" href="/web/([^"]+)"', Path(WEB, "index.html").read_text("utf-8")))
    ours = {str(path.relative_to(WEB)) for path in Path(WEB).rglob("*.js") if "vendor" not in path.parts}
    assert {each for each in asked if not each.startswith("vendor/")} == ours - {"index.js"}
    assert all(Path(WEB, each).is_file() for each in asked)


def test_every_style_sheet_is_named():
    named = set(re.findall(r'stylesheet" href="/web/([^"]+)"', Path(WEB, "index.html").read_text("utf-8")))
    assert named == {str(path.relative_to(WEB)) for path in Path(WEB).rglob("*.css")}


def test_a_second_look_loads_only_the_page_itself(client):
    page = client.get("/")
    assert page.headers["cache-control"] == "no-store"
    address = re.search(r'src="(/web/v-[0-9a-f]{16}/index\.js)"', page.text)[1]
    module = client.get(address)
    assert module.content == Path(WEB, "index.js").read_bytes() and "immutable" in module.headers["cache-control"]
    old = client.get(re.sub("v-[0-9a-f]{16}", "v-" + "0" * 16, address))
    assert old.content == module.content and old.headers["cache-control"] == "no-store", "of another version: not kept"
