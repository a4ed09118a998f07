"""Every link in the documents leads to a file that is there, and to a heading that it has."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from rows import each_row

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "bench").glob("*.md"))]
JAPANESE = [page for page in PAGES if page.name.endswith(".ja.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {_anchor(each) for each in heads}


def _anchor(heading: str) -> str:
    kept = (each for each in heading.lower() if each in " -_" or unicodedata.category(each)[0] in "LNM")
    return "".join(kept).replace(" ", "-")


@each_row("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(BLOCK.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(target), link


@each_row("page", JAPANESE, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_japanese_page_leads_to_japanese_pages(page: Path) -> None:
    """Where a page of `docs/` has its Japanese, a Japanese page leads there, but for the link to its own English."""
    own = page.name.replace(".ja.md", ".md")
    for link in LINK.findall(BLOCK.sub("", page.read_text("utf-8"))):
        path = link.partition("#")[0]
        if path.endswith(".md") and not path.endswith(".ja.md") and path != own:
            assert not (page.parent / path).with_suffix("").with_suffix(".ja.md").exists(), link
