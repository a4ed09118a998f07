"""Every page is there in English and Japanese, and both have the same bones: headings, commands, tables, links."""

from __future__ import annotations

import re
from pathlib import Path

from rows import each_row

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ENGLISH = [ROOT / "README.md", *(page for page in sorted(DOCS.rglob("*.md")) if not page.name.endswith(".ja.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^    \S.*\n(?:(?:    .*)?\n(?=    ))*)+", re.MULTILINE)
COMMAND = re.compile(
    r"(?:\$ |[A-Z_]+=\S+ )*(?:nebula|evercontext|vizprompt|export|pip|pipx|uv|git|cd|curl|docker|python|ollama|\.venv/|\./)\b"
)


def japanese(page: Path) -> Path:
    return page.with_name(page.name.replace(".md", ".ja.md"))


def read(page: Path) -> str:
    return page.read_text("utf-8")


def prose(text: str) -> str:
    return FENCED.sub("", text)


def blocks(text: str) -> list[list[str]]:
    """Return the lines of each block of code, in order."""
    fenced = [(match.start(), match[2]) for match in FENCED.finditer(text)]
    hidden = FENCED.sub(lambda match: " " * len(match[0]), text)
    indented = [(match.start(), match[0]) for match in INDENTED.finditer(hidden)]
    return [_typed(block.strip("\n").splitlines()) for _, block in sorted(fenced + indented)]


def _typed(lines: list[str]) -> list[str]:
    """Return of a screen (its first line is typed behind a `$`) what is typed: the rest is in the page's language."""
    if not lines[0].strip().startswith("$ "):
        return lines
    return [line for line in lines if line.strip().startswith("$ ")]


def normal(line: str) -> str:
    """Return a line of a shell without what a reader reads: the words in quotes, and what stands behind it."""
    return re.sub(r'"[^"]*"', '""', re.split(r"\s{2,}| #|…", line.strip())[0])


def cells(text: str) -> list[frozenset[str]]:
    """Return for each row of the tables what its first cell shows as code."""
    rows = re.findall(r"^\|(.*)\|$", prose(text), re.MULTILINE)
    return [frozenset(re.findall(r"`([^`]+)`", re.split(r"(?<!\\)\|", row)[0])) for row in rows]


def targets(text: str, own: str) -> list[str]:
    found = [link for link in re.findall(r"\]\(([^)\s]+)\)", prose(text)) if link != own]
    same = (link.partition("#")[0].replace(".ja.md", ".md").replace("pictures/ja/", "pictures/") for link in found)
    return sorted(same)


def ids(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_no_japanese_page_is_alone() -> None:
    assert {japanese(page) for page in ENGLISH} >= set(DOCS.rglob("*.ja.md"))


@each_row("page", ENGLISH, ids=ids)
def test_a_page_has_the_same_bones_in_japanese(page: Path) -> None:
    english, other = read(page), read(japanese(page))
    heads = [re.findall(r"^(#+) ", prose(text), re.MULTILINE) for text in (english, other)]
    assert heads[0] == heads[1], "headings"
    ours, theirs = blocks(english), blocks(other)
    assert [len(block) for block in ours] == [len(block) for block in theirs], "blocks of code"
    for block, twin in zip(ours, theirs, strict=True):
        pairs = [(normal(one), normal(two)) for one, two in zip(block, twin, strict=True) if COMMAND.match(one.strip())]
        assert [one for one, _ in pairs] == [two for _, two in pairs]
    assert cells(english) == cells(other), "rows of tables"
    assert targets(english, japanese(page).name) == targets(other, page.name), "links"
