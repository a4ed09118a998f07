"""The files of the page: compressed for who takes that, light, and joined to few."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from nebula.server.conversation.pages import WEB, Pages

WEIGHT_KB = 220
LATER = (
    "vendor/markdown-it/markdown-it.js",
    *(f"vendor/highlight/{name}.js" for name in ("highlight", "languages")),
    *(f"vendor/highlight/languages/{name}.js" for name in ("python", "javascript", "bash", "json", "diff")),
    *(f"vendor/highlight/languages/{name}.js" for name in ("xml", "css", "graphql")),  # may stand inside JavaScript
)
"""What an answer with code asks for; other languages come with the first code in them."""
FIRST = {"line.js", "server/first_look.js", "server/link.js"}
"""What runs before the rest is there."""


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
    asked_for = {"index.html", "index.css", "index.js", "line.js", "icon.svg", *LATER}
    files = [content for path, content in Pages().files() if path in asked_for]
    assert len(files) == len(asked_for)
    weight = sum(len(gzip.compress(content)) for content in files)
    assert weight < WEIGHT_KB * 1000, "the page became too heavy: load on demand what the first look does not need"


def test_a_first_look_asks_for_few_files():
    """Seventy modules one by one cost a second on a busy machine, and more on the first look than all else together."""
    page = Path(WEB, "index.html").read_text("utf-8")
    named = set(re.findall(r'(?:src|href)="/web/([^"]+)"', page))
    assert named == {"index.js", "line.js", "index.css", "icon.svg"}


def _rules(sheet: str) -> list[str]:
    """Return what each rule is for, however it is written."""
    plain = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    return sorted(" ".join(head.split()) for head in re.findall(r"([^{};]+)\{", plain))


def test_the_joined_files_hold_everything_once(client):
    script, line = client.get("/web/index.js").text, client.get("/web/line.js").text
    ours = {path.relative_to(WEB).as_posix() for path in Path(WEB).rglob("*.js") if "vendor" not in path.parts}
    held = [re.findall(r"^const module_\w+ = \(\(\) => \{ // (\S+)$", text, re.MULTILINE) for text in (script, line)]
    later = {each for each in ours if each.startswith("lib/diagram/")}  # asked for with the first diagram
    assert {each for each in held[0] if not each.startswith("vendor/")} == ours - FIRST - later
    assert set(held[1]) == FIRST | {"app/address.js", "app/preferences.js"}
    assert len(set(held[0])) == len(held[0])
    style = client.get("/web/index.css").text
    sheets = [path.read_text("utf-8") for path in Path(WEB).rglob("*.css")]
    assert len(sheets) > 10
    assert _rules(style) == sorted(rule for sheet in sheets for rule in _rules(sheet))
    assert not re.search(r"^/\*", style, re.MULTILINE)


def test_a_second_look_loads_only_the_page_itself(client):
    page = client.get("/")
    assert page.headers["cache-control"] == "no-store"
    address = re.search(r'src="(/web/v-[0-9a-f]{16}/index\.js)"', page.text)[1]
    module = client.get(address)
    assert "createComposer" in module.text and "immutable" in module.headers["cache-control"]
    old = client.get(re.sub("v-[0-9a-f]{16}", "v-" + "0" * 16, address))
    assert old.content == module.content and old.headers["cache-control"] == "no-store", "of another version: not kept"


def test_every_name_of_a_colour_or_measure_is_one_that_there_is():
    """A misspelt one is no error for a browser: it draws as if nothing had been said."""
    texts = [
        path.read_text("utf-8")
        for ending in ("*.css", "*.js")
        for path in Path(WEB).rglob(ending)
        if "vendor" not in path.parts
    ]
    used = {name for text in texts for name in re.findall(r"var\((--[\w-]+)", text)}
    given = {name for text in texts for name in re.findall(r"(?<!var\()(--[\w-]+)\s*[:\"'`]", text)}
    made = {ending for text in texts for ending in re.findall(r"`--\$\{\w+\}(-[\w-]+)`", text)}  # `--${panel}-width`
    unknown = [name for name in sorted(used - given) if not name.endswith(tuple(made))]
    assert unknown == [], "names that no style sheet gives; those of colours and sizes are in tokens.css"
    assert len(used) > 30
