"""Whether the places that an answer cites are there: `path:Lx-Ly`, checked against the files as they are now."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nebula.events import Citations
from nebula.messages import Json, ToolUseResult
from nebula.workspace.contract import Workspace, read_if_any

MAX_CITATIONS = 200
"""An answer with more is a list, and reading every file of it would keep the user waiting."""
_CITATION = re.compile(r"(?<![\w./@+\-])([\w./@+\-]++)(?<=\w)[:#]L(\d{1,7})(?:\s?[-–]\s?L?(\d{1,7}))?(?!\w)")
"""A word is tried from its beginning alone: an answer may hold one of a hundred thousand letters."""

Place = tuple[str, int, int]


def check_citations(answer: str, workspace: Workspace, results: Iterable[ToolUseResult] = ()) -> Citations | None:
    """Return how many citations hold; None where nothing is cited. Lines that a search showed must still read as they
    did; others must be there."""
    cited = _cited(answer)
    if not cited:
        return None
    shown = _shown(results)
    files: dict[str, list[str] | None] = {}
    held = 0
    for path, first, last in cited:
        if path not in files:
            file = read_if_any(workspace, path)
            files[path] = file.content.split("\n") if file is not None else None
        lines = files[path]
        held += lines is not None and _holds(lines, first, last, shown.get(path, {}))
    return Citations(held, len(cited))


def _cited(answer: str) -> list[Place]:
    places = []
    for path, first, last in _CITATION.findall(answer):
        places.append((path.removeprefix("./"), int(first), int(last or first)))
    return list(dict.fromkeys(places))[:MAX_CITATIONS]


def _holds(lines: list[str], first: int, last: int, shown: dict[int, str]) -> bool:
    end = len(lines) - (not lines[-1])  # the line break at the end begins no line
    if not 1 <= first <= last <= end:
        return False
    return all(shown.get(number, lines[number - 1]) == lines[number - 1] for number in range(first, last + 1))


def _shown(results: Iterable[ToolUseResult]) -> dict[str, dict[int, str]]:
    """Return path → line number → line of the chunks that searches returned; of a line that came twice, the newest."""
    shown: dict[str, dict[int, str]] = {}
    for result in results:
        for block in result.content:
            found = block.value.get("chunks") if isinstance(block, Json) and isinstance(block.value, dict) else None
            for chunk in (each for each in found if isinstance(each, dict)) if isinstance(found, list) else ():
                first = re.match(r"L(\d+)", str(chunk.get("span")))
                if first:
                    numbered = enumerate(str(chunk.get("text")).split("\n"), int(first[1]))
                    shown.setdefault(str(chunk.get("path")), {}).update(numbered)
    return shown
