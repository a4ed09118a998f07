"""The page's third-party modules: by lock file, in the wheel, and nothing missing there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path, PurePosixPath

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from nebula.server.conversation.pages import INDEX, LINE, SCRIPT, STYLE, Pages

ROOT = Path(__file__).parents[2]
WEB = "nebula/web/"
IMPORT = re.compile(r"""(?:from|import|import\()\s*["'](\.{1,2}/[^"']+\.js)["']""")
IN_PAGE = re.compile(r"""(?:href|src)="/web/([^"]+)\"""")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from what git knows alone, as somebody else would."""
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    known = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True, stdout=-1
    ).stdout
    for name in known.decode().rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    assert not (source / "src/nebula/web/vendor").exists()
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([*pip, "-w", str(place), str(source)], check=True)
    [made] = place.glob("*.whl")
    with zipfile.ZipFile(made) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_every_file_that_the_page_names_is_in_the_wheel(wheel):
    page = wheel[WEB + "index.html"].decode()
    wanted = {WEB + name for name in IN_PAGE.findall(page)}
    looked_at: set[str] = set()
    while wanted - looked_at:
        name = min(wanted - looked_at)
        looked_at.add(name)
        assert name in wheel, name
        if name.endswith(".js"):
            folder = PurePosixPath(name).parent
            wanted |= {_normal(folder / found) for found in IMPORT.findall(wheel[name].decode())}
    assert {WEB + "vendor/markdown-it/markdown-it.js", WEB + "vendor/highlight/highlight.js"} <= looked_at
    named = set(re.findall(r':"([a-z-]+)"', wheel[WEB + "vendor/highlight/languages.js"].decode()))
    loaded = {
        name.removeprefix(f"{WEB}vendor/highlight/languages/") for name in wheel if "/highlight/languages/" in name
    }
    assert {f"{name}.js" for name in named} == loaded and len(loaded) > 40


def test_what_is_there_at_first_is_asked_for_at_once(wheel, tmp_path):
    """A module that only another module names is a round trip more. As the server hands them out."""
    for name, content in wheel.items():
        if name.startswith(WEB):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(content)
    served = dict(_served(str(tmp_path / WEB)))
    at_once = {name for name in IN_PAGE.findall(wheel[WEB + "index.html"].decode()) if name.endswith(".js")}
    pending, found = ["index.js"], set()
    while pending:
        name = pending.pop()
        if name in found:
            continue
        found.add(name)
        text = re.sub(r"import\([^)]*\)", "", served[name])
        pending += [_normal(PurePosixPath(name).parent / each) for each in IMPORT.findall(text)]
    assert found == at_once


def _served(folder):
    app = Starlette(routes=[Route("/web/{path:path}", Pages(folder).file)])
    client = TestClient(app)
    return {name: client.get(f"/web/{name}").text for name in ("index.js", "line.js")}


def test_modules_come_with_hashes_and_licences(wheel):
    manifest = json.loads(wheel[WEB + "vendor/manifest.json"])
    vendored = {name.removeprefix(WEB + "vendor/") for name in wheel if name.startswith(WEB + "vendor/")}
    assert vendored == {*manifest["files"], "manifest.json"}
    for name, digest in manifest["files"].items():
        assert sha256(wheel[f"{WEB}vendor/{name}"]).hexdigest() == digest, name
    assert {f"{name.split('/')[0]}/LICENSE" for name in manifest["files"]} <= vendored
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    assert all("integrity" in package for name, package in lock["packages"].items() if name)


def test_modules_are_never_committed():
    known = subprocess.run(["git", "ls-files", "src/nebula/web/vendor"], cwd=ROOT, check=True, stdout=-1).stdout
    assert known == b""


def test_all_that_is_served_of_the_page_weighs_little(wheel, tmp_path):
    import gzip

    for name, content in wheel.items():
        if name.startswith(WEB):
            place = tmp_path / name.removeprefix(WEB)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    pages = Pages(str(tmp_path))
    later = [f"vendor/{name}.js" for name in ("markdown-it/markdown-it", "highlight/highlight", "highlight/languages")]
    served = [content for name, content in pages.files() if name in {INDEX, SCRIPT, LINE, STYLE, *later}]
    first = sum(len(gzip.compress(content, 9)) for content in served)
    assert len(served) == 7 and first <= 205 * 1024


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
