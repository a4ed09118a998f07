"""Build the documents as a site, English at its root and Japanese below /ja/: called by scripts/docs.

    python scripts/site.py OUT

The pages in docs/ stay readable as they are. What a site needs besides is made here, in a temporary folder: one tree a
language, the contents page as the start, its lists as the navigation. A broken link ends the build.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LANGUAGES = {"en": ".md", "ja": ".ja.md"}
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
BREAK = re.compile(r"(?<=[^\x00-\x7f])\n(?:  )?(?=[^\x00-\x7f\s])")
"""The end of a line inside a Japanese sentence: a browser would show it as a blank."""
Navigation = list[dict[str, object]]


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        for language in LANGUAGES:
            place = Path(folder, language)
            copy_pages(place / "docs", language)
            (place / "zensical.toml").write_text(configuration(language), "utf-8")
            build = [str(Path(sys.executable).with_name("zensical")), "build", "--clean", "--strict"]
            subprocess.run(build, cwd=place, check=True)
            shutil.copytree(place / "site", out if language == "en" else out / language, dirs_exist_ok=True)
    print(f"built: {out}/index.html")


def copy_pages(place: Path, language: str) -> None:
    """Copy the pages of one language to `place`, under the names of the English ones, with the pictures."""
    shutil.copytree(DOCS / "pictures", place / "pictures")
    ending = LANGUAGES[language]
    for page in DOCS.rglob("*.md"):
        if page.name.endswith(".ja.md") == (language == "ja"):
            target = place / page.relative_to(DOCS).with_name(_site_name(page.name.removesuffix(ending)))
            target.parent.mkdir(parents=True, exist_ok=True)
            text = LINK.sub(lambda link, page=page: _relink(link, page), page.read_text("utf-8"))
            target.write_text(BREAK.sub("", text), "utf-8")


def _site_name(stem: str) -> str:
    return "index.md" if stem == "README" else f"{stem}.md"


def _relink(link: re.Match[str], page: Path) -> str:
    """Return a link as the site needs it: to a page of its tree, and none out of docs/ or to the other language."""
    text, target = link.groups()
    path, mark, anchor = target.partition("#")
    if re.match("[a-z]+:", target) or not path:
        return link[0]
    inside = (page.parent / path).resolve().is_relative_to(DOCS)
    if not inside or path == _twin(page.name):
        return text if inside else f"`{text.strip('`')}`"
    if not path.endswith(".md"):
        return link[0]
    folder, name = os.path.split(path)
    own = _site_name(name.removesuffix(".md").removesuffix(".ja"))
    return f"[{text}]({os.path.join(folder, own)}{mark}{anchor})"


def _twin(name: str) -> str:
    return name.replace(".ja.md", ".md") if name.endswith(".ja.md") else name.replace(".md", ".ja.md")


def configuration(language: str) -> str:
    lines = [
        "[project]",
        'site_name = "nebula"',
        f"nav = {_toml(navigation(language))}",
        "[project.theme]",
        f'language = "{language}"',
        "font = false",  # nothing is loaded from elsewhere
        'features = ["navigation.sections", "navigation.top", "search.highlight", "content.code.copy"]',
        "[project.markdown_extensions.tables]",
        "[project.markdown_extensions.admonition]",
        "[project.markdown_extensions.pymdownx.superfences]",
        "[project.markdown_extensions.pymdownx.highlight]",
        "[project.markdown_extensions.toc]",
        "permalink = true",
        'slugify = { object = "pymdownx.slugs.slugify", kwds = { case = "lower" } }',
    ]
    up = "./" if language == "en" else "../"
    for name, link, lang in (("English", up, "en"), ("日本語", f"{up}ja/", "ja")):
        lines += ["[[project.extra.alternate]]", f'name = "{name}"', f'link = "{link}"', f'lang = "{lang}"']
    return "\n".join(lines) + "\n"


def navigation(language: str) -> Navigation:
    """Return the lists of the contents page as navigation: a heading is a section, a link a page."""
    contents = (DOCS / f"README{LANGUAGES[language]}").read_text("utf-8")
    found: Navigation = [{"nebula": "index.md"}]
    for section in re.split(r"^## ", contents, flags=re.MULTILINE)[1:]:
        name, _, rest = section.partition("\n")
        pages = []
        for text, target in LINK.findall(rest):
            folder, page = os.path.split(target)
            stem = page.removesuffix(".md").removesuffix(".ja")
            pages.append({text: os.path.join(folder, _site_name(stem))})
        found.append({name: pages})
    return found


def _toml(value: object) -> str:
    """Return navigation as TOML, whose strings are those of JSON."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
