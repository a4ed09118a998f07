"""The settings of a command: loaded, their remarks printed, their language spoken from then on."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nebula.cli.arguments import checked_root
from nebula.cli.printing import print_remark, short_path
from nebula.language import Sentence, explain, translate, use_language

if TYPE_CHECKING:
    from nebula.config import Settings


def open_settings(prog: str, root: str | None = None, overrides: Mapping[str, Any] | None = None) -> Settings:
    from nebula.config import load_settings

    settings = load_settings(root, overrides=overrides)
    use_language(settings.lang)
    for remark in settings.remarks:
        from nebula.stage import one_line  # mostly there is none, and many a command needs no stage

        print_remark(f"{prog}: {one_line(explain(remark))}")
    return settings


def open_project(prog: str, options: argparse.Namespace, **more: Any) -> Settings:
    """Return the settings of the project that `--root` names, the other options considered."""
    return open_settings(prog, checked_root(options.root), session_overrides(options) | more)


def session_overrides(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the command line sets for a session; an option that was not given sets nothing."""
    names = ("model", "provider", "trust", "backstage", "allow_network")
    return {name: getattr(options, name, None) or None for name in names}


def origin_of(settings: Settings, name: str) -> str:
    """Return the layer that a setting comes from: a word, or a file (`~` for the home)."""
    return short_path(settings.origins.get(name, "default"))


def shown_origin(settings: Settings, name: str) -> str:
    origin = origin_of(settings, name)
    words = {"default": translate("default"), "environment": translate("environment")}
    return words.get(origin, origin)


def remark_on_trust(prog: str, settings: Settings) -> None:
    """Tell whoever reads how to have the checks, where nobody is there to be asked."""
    for remark in _remarks_on_trust(settings):
        print_remark(f"{prog}: {explain(remark)}")


def remark_on_servers(prog: str, settings: Settings) -> None:
    """Tell whoever reads how to have the project's MCP servers, and nothing of what else waits for trust."""
    for remark in _remarks_on_servers(settings):
        print_remark(f"{prog}: {explain(remark)}")


def said_of_settings(settings: Settings) -> list[Sentence]:
    """Return what `open_settings` and `remark_on_trust` print."""
    return [*settings.remarks, *_remarks_on_trust(settings)]


def _remarks_on_trust(settings: Settings) -> Iterator[Sentence]:
    if settings.checks_need_trust:
        yield Sentence("This project's checks are not run: its folder is not trusted. To let them run add --trust.")
    if settings.extensions_need_trust:
        yield Sentence(
            "This project's skills and commands are not used: its folder is not trusted. To have them add --trust."
        )
    yield from _remarks_on_servers(settings)


def _remarks_on_servers(settings: Settings) -> Iterator[Sentence]:
    if settings.needs_trust and settings.is_from_project("mcp_servers"):
        yield Sentence(
            "This project's MCP servers are not started: its folder is not trusted. To let them run add --trust."
        )
