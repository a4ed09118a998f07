"""What hatchling does before it packs a wheel, and before an editable install: the page's third-party modules."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VENDOR = Path(__file__).parent / "vendor.py"


class VendorHook(BuildHookInterface):  # type: ignore[type-arg, misc]
    def dependencies(self) -> list[str]:
        """npm, on a machine without it."""
        return [] if shutil.which("npm") else [runpy.run_path(str(VENDOR))["NODE"]]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        runpy.run_path(str(VENDOR))["vendor"]()
