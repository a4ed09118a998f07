"""Runs `vizprompt` in a folder of its own, with no model but the one a test offers."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from in_process import Ran, run_in

SCRIPTS = Path(sys.executable).parent
_OUR_VARIABLES = ("OPENAI_", "GEMINI_", "OLLAMA_", "NEBULA_", "EC_", "VIZPROMPT_", "LC_", "LANG")


@dataclass
class Vizprompt:
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    program: str = "vizprompt"

    def __call__(self, *words: str, stdin: str | bytes = b"", env: Mapping[str, str] = {}) -> Ran:
        return run_in(self.folder, {**self.base(), **self.environment, **env}, self.program, words, stdin)

    def create(self, prompt: str, response: str = "answer", *more: str) -> str:
        ran = self("create-node", f"--prompt={prompt}", f"--response={response}", *more)
        assert ran.code == 0, ran
        assert ran.out.startswith("Created node: ")
        return ran.out.removeprefix("Created node: ").rstrip("\n")

    def base(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OUR_VARIABLES)}
        home = str(self.folder / "home")
        return kept | {"NEBULA_HOME": home, "OLLAMA_HOST": "http://127.0.0.1:9", "NEBULA_LANG": "en"}
