"""The site has every page in both languages, reachable from its navigation, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("ending", [".md", ".ja.md"])
def test_the_contents_name_every_page(ending: str) -> None:
    contents = (DOCS / f"README{ending}").read_text("utf-8")
    named = {(DOCS / link).resolve() for link in re.findall(r"^- \[[^\]]+\]\(([^)]+)\)$", contents, re.MULTILINE)}
    pages = {page for page in DOCS.rglob("*.md") if page.name.endswith(".ja.md") == (ending == ".ja.md")}
    assert named == pages - {DOCS / f"README{ending}"}


@pytest.mark.slow
def test_the_site_is_built_whole(tmp_path: Path) -> None:
    built = subprocess.run([ROOT / "scripts/docs", str(tmp_path / "site")], capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, built.stdout + built.stderr
    for ending, folder in ((".md", tmp_path / "site"), (".ja.md", tmp_path / "site" / "ja")):
        for page in DOCS.rglob("*.md"):
            if page.name.endswith(".ja.md") != (ending == ".ja.md"):
                continue
            stem = page.name.removesuffix(ending)
            place = folder / page.relative_to(DOCS).parent
            html = (place / "index.html" if stem == "README" else place / stem / "index.html").read_text("utf-8")
            assert not re.findall(r'<(?:script|link rel="stylesheet")[^>]+(?:src|href)="https?:', html), page
            assert f'lang="{"ja" if ending == ".ja.md" else "en"}"' in html
