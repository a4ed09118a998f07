"""nebula kpi: how well tasks go and what they cost."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.cli.figures.kpi import run_kpi


def main(argv: Sequence[str]) -> int:
    return run_kpi("nebula", argv)
