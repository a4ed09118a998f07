"""nebula mcp add | remove | list | test | login | logout: the MCP servers whose tools join ours."""

from __future__ import annotations

import argparse
import asyncio
import html
import os
import webbrowser
from collections.abc import Sequence
from typing import Any

from nebula.cli.arguments import Parser, UsageError
from nebula.cli.busy import busy
from nebula.cli.printing import print_item, print_json, print_line, short_path, tell_line
from nebula.cli.settings import open_project, remark_on_servers
from nebula.config import Settings
from nebula.config.checks import ConfigError, mcp_servers
from nebula.config.user_file import save_server
from nebula.errors import EXIT_FAILED, EXIT_OK
from nebula.language import Sentence, explain, translate
from nebula.stage import one_line
from nebula.tools.external.configured import ExternalServer, configured_servers, describe_entry, origin_of_server
from nebula.tools.external.servers import ExternalServers
from nebula.tools.external.sign_in import SignInFile, sign_in


def main(argv: Sequence[str]) -> int:
    """Run one of the words of `nebula mcp`, the first of `argv`, with what stands behind it."""
    word, rest = argv[0], list(argv[1:])
    behind: list[str] = []
    if word == "add" and "--" in rest:
        at = rest.index("--")
        rest, behind = rest[:at], rest[at + 1 :]
    options = _parser(word).parse_args(rest)
    settings = open_project("nebula mcp", options)
    if word == "add":
        _add(settings, options, [*options.command, *behind])
        return EXIT_OK
    if word == "remove":
        _remove(settings, options.name)
        return EXIT_OK
    remark_on_servers("nebula mcp", settings)
    if word == "test":
        return asyncio.run(_test(settings, options.name))
    if word == "list":
        _list(settings, options.json)
    else:
        (_log_in if word == "login" else _log_out)(settings, options.name)
    return EXIT_OK


def _parser(word: str) -> Parser:
    about = {
        "add": translate(
            "Adds a server to your own config.json: a command to start behind --, or the address of one.\n"
            "A value may be ${NAME}, which is taken from the environment when the server starts."
        ),
        "remove": translate("Takes a server out of your own config.json."),
        "list": translate("Lists the servers whose tools may be used here; none is started."),
        "test": translate("Starts each server, or the one named, and says what it offers."),
        "login": translate(
            "Signs in to a server with an address, in your browser (OAuth); the tokens stay in ~/.nebula."
        ),
        "logout": translate("Forgets the tokens of a server."),
    }
    examples = {
        "add": (
            "nebula mcp add notes --env KEY=${NOTES_KEY} -- npx notes-server --read",
            "nebula mcp add wiki https://wiki.example.org/mcp --header 'Authorization: Bearer ${WIKI_TOKEN}'",
        )
    }
    parser = Parser(f"nebula mcp {word}", about[word], examples=examples.get(word, ()))
    if word == "add":
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("command", metavar="URL|COMMAND", nargs="*")
        parser.add_repeatable("--env", "KEY=VALUE", "a variable of the server's environment (repeatable)")
        parser.add_repeatable("--header", "NAME: VALUE", "a header of each request (repeatable)")
        parser.add_repeatable("--reads", "TOOL", "a tool that only reads: not asked about (repeatable)")
        parser.add_argument("--timeout", metavar="S", type=float, help="seconds that a call may take")
    elif word != "list":
        parser.add_argument("name", metavar="NAME", nargs="?" if word == "test" else None)
    if word == "list":
        parser.add_flag("--json", "print it as JSON")
    if word not in ("add", "remove"):
        parser.add_trust()
    parser.add_root()
    return parser


def _add(settings: Settings, options: argparse.Namespace, words: list[str]) -> None:
    entry = _entry(options, words)
    try:
        mcp_servers({options.name: entry})
    except ConfigError as problem:
        raise UsageError("{problem}", problem=problem) from None
    replaced = save_server(settings, options.name, entry)
    path = short_path(settings.config_path)
    if replaced:
        tell_line("{name} was changed in {path}.", name=options.name, path=path)
    else:
        tell_line("{name} was added to {path}.", name=options.name, path=path)
    tell_line("See what it offers: {line}", line=f"nebula mcp test {options.name}")


def _entry(options: argparse.Namespace, words: list[str]) -> dict[str, Any]:
    if not words:
        raise UsageError("say what to start or where it is: nebula mcp add NAME -- COMMAND, or nebula mcp add NAME URL")
    if words[0].startswith(("http://", "https://")):
        if len(words) > 1 or options.env:
            raise UsageError("a server with an address takes neither arguments nor --env")
        entry = {"url": words[0], "headers": _pairs(options.header, ":", "--header")}
    else:
        if options.header:
            raise UsageError("--header goes with an address")
        entry = {"command": words[0], "args": words[1:], "env": _pairs(options.env, "=", "--env")}
    entry |= {"read_only": options.reads}
    return {key: each for key, each in entry.items() if each} | (
        {"timeout_s": options.timeout} if options.timeout is not None else {}
    )


def _pairs(given: Sequence[str], sign: str, option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given:
        name, found_sign, said = each.partition(sign)
        if not found_sign or not name.strip():
            raise UsageError("{option}: expected NAME{sign}VALUE", option=option, sign=sign)
        found[name.strip()] = said.strip() if sign == ":" else said
    return found


def _remove(settings: Settings, name: str) -> None:
    if not save_server(settings, name, None):
        raise UsageError("there is no server {name} in {path}", name=name, path=short_path(settings.config_path))
    tell_line("{name} was removed from {path}.", name=name, path=short_path(settings.config_path))


def _list(settings: Settings, as_json: bool) -> None:
    servers = configured_servers(settings, {})
    if as_json:
        print_json(
            [
                {"name": each.name, "reached": describe_entry(each), "from": origin_of_server(settings, each.name)}
                for each in servers
            ]
        )
    elif not servers:
        tell_line("No MCP server is configured. Add one: {line}", line="nebula mcp add NAME -- COMMAND")
    else:
        for each in servers:
            print_item(
                f"{each.name:16} ",
                one_line(f"{describe_entry(each)}  ({short_path(origin_of_server(settings, each.name))})"),
            )


async def _test(settings: Settings, name: str | None) -> int:
    servers = [each for each in configured_servers(settings, os.environ) if name in (None, each.name)]
    if not servers:
        raise UsageError("there is no MCP server {name}; see nebula mcp list", name=name or "")
    return EXIT_OK if all([await print_server(each, more=True) for each in servers]) else EXIT_FAILED


async def print_server(server: ExternalServer, *, more: bool = False) -> bool:
    """Start a server and print what it offers, prompts too where `more` is wanted; return whether it can be used."""
    found = ExternalServers([server])
    with busy(Sentence("starting MCP server {names}", names=server.name)):
        problems = await found.open()
    names = ", ".join(found.tools(None, plan=False)) or translate("no tools")
    prompts = ", ".join(found.prompts())
    is_open = found.connections[0].is_open
    await found.close()
    for problem in problems:
        print_item(f"  {'!' if is_open else '✗'} {server.name:8} ", one_line(explain(problem)))
    if is_open:
        print_item(f"  ✓ {server.name:8} ", one_line(names))
        if more and prompts:
            print_item(f"    {'':8} ", one_line(translate("prompts: {names}", names=prompts)))
    return is_open


def _log_in(settings: Settings, name: str) -> None:
    """Open the browser where the person agrees, wait for it, and keep what the server gave. Raises SignInFailed."""
    url = _address_of(settings, name)
    asyncio.run(sign_in(settings.home, url, _send_to_browser, _page(name)))
    tell_line("Signed in to {name}. See what it offers: {line}", name=name, line=f"nebula mcp test {name}")


def _log_out(settings: Settings, name: str) -> None:
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
