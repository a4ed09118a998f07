"""Places that an answer cites."""

from __future__ import annotations

from pathlib import Path

import pytest

from nebula.agent.code.citations import check_citations
from nebula.events import Citations
from nebula.workspace import open_workspace


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("See a.py:L1, (a.py#L1-L2) and `./a.py:L2–3`.", (2, 3)),
        ("日本語a.py:L1", (0, 1)),
        ("a.py:L1b a.py: L1 .:L1 a.py:12", None),
        ("x" * 500_000 + " a.py:L1", (1, 1)),
        ("a." * 250_000 + " a.py:L1", (1, 1)),
    ],
)
def test_citations_are_found_and_counted(tmp_path: Path, answer: str, found: tuple[int, int] | None) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\n")
    with open_workspace(str(tmp_path), read_only=True) as workspace:
        assert check_citations(answer, workspace) == (Citations(*found) if found else None)
