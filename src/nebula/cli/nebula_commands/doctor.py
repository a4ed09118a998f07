"""nebula doctor: which providers answer, which models they list, and where each setting comes from."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Sequence

from nebula import __version__
from nebula.cli.arguments import Parser, checked_root, root_option
from nebula.config import Settings, load_settings
from nebula.language import explain
from nebula.llm.choose import list_models
from nebula.llm.errors import ModelError
from nebula.stage import one_line

SHOWN_MODELS = 12


def main(argv: Sequence[str]) -> int:
    parser = Parser("nebula doctor", "Says what can be reached, and where each setting comes from.")
    root_option(parser)
    parser.add_argument("--all", action="store_true", help="list every model")
    options = parser.parse_args(argv)
    settings = load_settings(checked_root(options.root))
    print(f"nebula {__version__}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {sys.platform}")
    print(f"project  {settings.root}")
    print(f"home     {settings.home}")
    for program, use in (("git", "branch and status in the context"), ("rg", "fast search")):
        print(f"{program:8} {shutil.which(program) or f'not found: no {use}'}")
    _print_settings(settings)
    return asyncio.run(_print_providers(settings, options.all))


def _print_settings(settings: Settings) -> None:
    print("\nsettings")
    for key, origin in sorted(settings.origins.items()):
        print(f"  {key:18} {one_line(settings.shown(key)):36} {_short(origin)}")
    trusted = "yes" if settings.trust else "no (--trust, NEBULA_TRUST=1, or say yes once in a session)"
    print(f"  {'folder trusted':18} {trusted}")
    for remark in settings.remarks:
        print(f"  ! {explain(remark)}")


async def _print_providers(settings: Settings, every: bool) -> int:
    print("\nproviders")
    reachable = 0
    for provider, answer in await list_models(settings):
        if isinstance(answer, ModelError):
            print(f"  ✗ {provider:8} {answer}")
            continue
        reachable += 1
        names = [info.name for info in answer]
        shown = names if every else names[:SHOWN_MODELS]
        more = f" … and {len(names) - len(shown)} more (--all)" if len(shown) < len(names) else ""
        print(f"  ✓ {provider:8} {len(names)} models: {', '.join(shown)}{more}")
    for provider, variable in (("openai", "OPENAI_API_KEY"), ("gemini", "GEMINI_API_KEY")):
        if variable not in os.environ:
            print(f"  - {provider:8} {variable} is not set")
    if not reachable:
        print("\nNo model can be reached. `nebula demo` works all the same.")
    return 0 if reachable else 1


def _short(origin: str) -> str:
    home = os.path.expanduser("~")
    return "~" + origin[len(home) :] if origin.startswith(home + os.sep) else origin
