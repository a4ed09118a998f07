"""nebula mcp login | logout: signing in to an MCP server by OAuth."""

from __future__ import annotations

import asyncio
import html
import os
import webbrowser

from nebula.cli.arguments import UsageError
from nebula.cli.printing import print_line, tell_line
from nebula.config import Settings
from nebula.language import translate
from nebula.stage import one_line
from nebula.tools.external.configured import configured_servers
from nebula.tools.external.sign_in import SignInFile, sign_in


def log_in(settings: Settings, name: str) -> None:
    """Open the browser where the person agrees, wait for it, and keep what the server gave. Raises SignInFailed."""
    url = _address_of(settings, name)
    asyncio.run(sign_in(settings.home, url, _send_to_browser, _page(name)))
    tell_line("Signed in to {name}. See what it offers: {line}", name=name, line=f"nebula mcp test {name}")


def log_out(settings: Settings, name: str) -> None:
    """Forget the tokens of a server."""
    if SignInFile(settings.home, _address_of(settings, name)).forget():
        tell_line("The sign-in to {name} is forgotten.", name=name)
    else:
        tell_line("Nobody is signed in to {name}.", name=name)


def _address_of(settings: Settings, name: str) -> str:
    found = next((each for each in configured_servers(settings, os.environ) if each.name == name), None)
    if found is None:
        raise UsageError("there is no MCP server {name}; see nebula mcp list", name=name)
    if not found.url:
        raise UsageError("{name} is started by a command; only servers with an address have a sign-in", name=name)
    return found.url


async def _send_to_browser(address: str) -> None:
    tell_line("Sign in with your browser; if none opens, go to:")
    print_line(f"  {one_line(address)}")
    await asyncio.to_thread(webbrowser.open, address)


def _page(name: str) -> str:
    text = translate("You are signed in to {name}. This window can be closed.", name=name)
    return f'<!doctype html><html><meta charset="utf-8"><title>nebula</title><p>{html.escape(text)}</p></html>'
