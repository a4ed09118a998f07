"""nebula doctor: which providers answer, which models they list, and where each setting comes from."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Sequence

from nebula import __version__
from nebula.agent.checks.find import with_found_checks
from nebula.agent.checks.lacking import find_lacking
from nebula.cli.arguments import Parser, checked_root
from nebula.cli.busy import busy
from nebula.cli.nebula_commands.servers.external_servers import print_server
from nebula.cli.printing import print_item, print_line
from nebula.cli.settings import shown_origin
from nebula.cli.terminal.output.width import pad
from nebula.config import Settings, load_settings
from nebula.language import Sentence, explain, translate, use_language
from nebula.llm.catalog import is_configured
from nebula.llm.choose import list_models
from nebula.llm.errors import ModelError
from nebula.providers import PROVIDERS
from nebula.sandbox.capability import capability, missing_walls
from nebula.sandbox.contract import Capability
from nebula.stage import one_line
from nebula.tools.commands.layers import CommandLayers
from nebula.tools.external.configured import configured_servers

SHOWN_MODELS = 12
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+(?=@)|(?<=[?&])[^=&\s]+=[^&\s]+")
"""What stands before the @ of an address, and what is handed over behind its question mark."""


def main(argv: Sequence[str]) -> int:
    parser = Parser("nebula doctor", "Says what can be reached, and where each setting comes from.")
    parser.add_root()
    parser.add_flag("--all", "list every model")
    options = parser.parse_args(argv)
    settings = load_settings(checked_root(options.root))
    use_language(settings.lang)
    print_line(
        f"nebula {__version__}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {sys.platform}"
    )
    print_line(f"{_label(translate('project'))}{settings.root}")
    print_line(f"{_label(translate('home'))}{settings.home}")
    uses = {"git": translate("branch and status in the context"), "rg": translate("fast search")}
    for program, use in uses.items():
        print_line(f"{_label(program)}{shutil.which(program) or translate('not found: no {use}', use=use)}")
    _print_commands(settings)
    _print_settings(settings)
    asyncio.run(_print_servers(settings))
    return asyncio.run(_print_providers(settings, options.all))


def _print_commands(settings: Settings) -> None:
    """Tried out, not looked up: what was in the way may be gone since."""
    found = capability(settings.home, fresh=True)
    head = _label(translate("commands"))
    for line in about_commands(settings, found, missing_walls() if found.available else []):
        print_item(head, line)
        head = _label("")


def about_commands(settings: Settings, found: Capability, missing: list[str]) -> Iterator[str]:
    if not found.available:
        yield f"{translate('not offered:')} {one_line(found.reason)} {found.advice}"
        return
    yield translate("run in a layer over the project; you approve what they change")
    if found.on_disk:
        yield translate(
            "The layer lies on disk in {home}, because memory cannot hold it here.", home=one_line(settings.home)
        )
    yield from missing
    layers = CommandLayers(settings)
    for entry in layers.toolchains.hidden:
        yield one_line(
            translate(
                "Commands cannot see {folder}, which is in PATH; add that folder to `sandbox_read`.", folder=entry
            )
        )
    if layers.unseen is not None:
        yield one_line(explain(layers.unseen))
    for check in with_found_checks(settings).checks:
        lacking = find_lacking(check, layers)
        if lacking is not None and lacking != layers.unseen:
            yield one_line(f"{check}: {explain(lacking)}")


def _print_settings(settings: Settings) -> None:
    print_line("\n" + translate("settings"))
    for key in sorted(settings.origins):
        print_line(f"  {key:18} {pad(one_line(settings.shown(key)), 36)} {shown_origin(settings, key)}")
    trusted = (
        translate("yes") if settings.trust else translate("no (--trust, NEBULA_TRUST=1, or say yes once in a session)")
    )
    print_item(f"  {pad(translate('folder trusted'), 18)} ", trusted)
    for remark in settings.remarks:
        print_item("  ! ", one_line(explain(remark)))


async def _print_servers(settings: Settings) -> None:
    """Start each configured MCP server and print what it offers."""
    if not settings.mcp_servers and not settings.overruled.get("mcp_servers"):
        return
    print_line("\n" + translate("MCP servers"))
    for server in configured_servers(settings, os.environ):
        await print_server(server)


async def _print_providers(settings: Settings, every: bool) -> int:
    print_line("\n" + translate("providers"))
    reachable = 0
    with busy(Sentence("asking the providers")):
        answers = await list_models(settings)
    for provider, answer in answers:
        if isinstance(answer, ModelError):
            print_item(f"  ✗ {provider:9} ", _CREDENTIALS.sub("…", explain(answer)))
            continue
        reachable += 1
        names = [info.name for info in answer]
        shown = names if every else names[:SHOWN_MODELS]
        listed = one_line(", ".join(shown))
        if len(shown) < len(names):
            listed += translate(" … and {count} more (--all)", count=len(names) - len(shown))
        print_item(f"  ✓ {provider:9} ", translate("models ({count}): {names}", count=len(names), names=listed))
    for row in PROVIDERS.values():
        if row.key and not is_configured(row, settings):
            hint = translate("not set; to use it: {line}", line=f"export {row.key_variable}=…")
            print_item(f"  - {row.name:9} ", hint)
    if not reachable:
        print_line("\n" + translate("No model can be reached. `nebula demo` works all the same."))
    return 0 if reachable else 1


def _label(name: str) -> str:
    """Pad a label to the longest one in Japanese, so that what stands behind them is one column."""
    return pad(name, 14)
