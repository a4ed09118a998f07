"""The settings of a command: loaded, their remarks printed, their language spoken from then on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nebula.cli.printing import print_remark
from nebula.language import explain, use_language

if TYPE_CHECKING:
    from nebula.config import Settings


def open_settings(prog: str, root: str | None = None, overrides: Mapping[str, Any] | None = None) -> Settings:
    from nebula.config import load_settings
    from nebula.stage import one_line

    settings = load_settings(root, overrides=overrides)
    use_language(settings.lang)
    for remark in settings.remarks:
        print_remark(f"{prog}: {one_line(explain(remark))}")
    return settings
