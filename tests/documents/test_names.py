"""The documents name what there is, and nothing that is not: commands, options, settings, events, actions, routes, codes.

The pages that `scripts/reference` writes are left out where it is asked what a person wrote.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import pytest

import nebula.events
from nebula import errors
from nebula.cli import evercontext, vizprompt
from nebula.cli import nebula as umbrella
from nebula.cli.terminal.commands.table import TABLE as SESSION_COMMANDS
from nebula.cli.terminal.commands.table import find
from nebula.config.settings import TABLE
from rows import each_row

ROOT = Path(__file__).parents[2]
GENERATED = {"commands", "session-commands", "settings", "events", "actions", "routes", "library", "exit-codes"}
REFERENCE = ROOT / "docs" / "reference"
PAGES = [ROOT / "README.md", ROOT / "README.ja.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
WRITTEN = [page for page in PAGES if page.parent != REFERENCE or page.name.partition(".")[0] not in GENERATED]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
PROGRAMS = {"nebula": umbrella.COMMANDS, "evercontext": evercontext.COMMANDS, "vizprompt": vizprompt.COMMANDS}
EVENTS = sorted(
    kind
    for name in nebula.events.__all__
    if isinstance(found := getattr(nebula.events, name), type) and isinstance(kind := getattr(found, "type", None), str)
)
OF_OTHERS = {
    *("--quiet", "--no-deps", "--cached", "--hard", "--bare", "--offline", "--cli", "--amend", "--all-files"),
    *(
        "--stdio",
        "--head",
        "--rm",
        "--volume",
        "--workdir",
        "--group",
        "--dist",
        "--benchmark",
        "--data",
        "--door",
        "--peers",
    ),
    *("--dangerously-skip-permissions", "--architect", "--auto-test"),
}
"""Options of git, npm, pip, docker, of other agents, and of our own scripts and benches."""


def ids(page: Path) -> str:
    return str(page.relative_to(ROOT))


@each_row("command", [f"{program} {name}" for program, names in PROGRAMS.items() for name in names])
def test_every_command_is_shown_as_it_is_typed(command: str) -> None:
    assert re.search(rf"\b{command}\b", TEXT), f"no page shows `{command}`: scripts/reference writes it into one"


@each_row("name", sorted(TABLE))
def test_every_setting_is_named(name: str) -> None:
    said = (name, *TABLE[name].variables)
    named = any(re.search(rf"[`\"]{re.escape(each)}\b", TEXT) for each in said)
    assert named, f"no page names the setting {name}: scripts/reference writes it into one"


@each_row("kind", list(filter(None, EVENTS)))
def test_every_event_is_named(kind: str) -> None:
    assert f"`{kind}`" in TEXT, f"no page names the event {kind}: scripts/reference writes it into one"


@each_row("command", [each.name for each in SESSION_COMMANDS])
def test_every_command_of_a_session_is_named(command: str) -> None:
    assert re.search(rf"`/{command}\b", TEXT), f"no page names `/{command}`: scripts/reference writes it into one"


def typed(page: Path) -> list[str]:
    """Return what a page shows as code: the lines of its blocks, and what stands between backquotes."""
    text = page.read_text("utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^    (.*)$", text, re.MULTILINE)
    return [line for block in blocks for line in block.splitlines()] + indented + re.findall(r"`([^`\n]+)`", text)


@each_row("page", WRITTEN, ids=ids)
def test_the_commands_of_a_page_are_commands(page: Path) -> None:
    for code in typed(page):
        for program, word in re.findall(r"(?:^|[|;&$] ?)(nebula|evercontext|vizprompt) ([a-z][a-z-]+)(?= |$)", code):
            assert word in PROGRAMS[program], code


@each_row("page", WRITTEN, ids=ids)
def test_the_slash_commands_of_a_page_are_commands(page: Path) -> None:
    for name in re.findall(r"`(/[a-z]+)(?: [^`/]*)?`", page.read_text("utf-8")):
        assert find(name) is not None or name in ELSEWHERE, name


ELSEWHERE = {
    *("/review", "/usr", "/etc", "/opt", "/proc", "/tmp", "/run", "/sys", "/var", "/ws", "/mcp", "/docs", "/probe"),
    *("/search", "/ingest", "/prune", "/outline", "/status", "/healthz", "/rewind", "/add", "/ask"),
}
"""Folders, routes, commands of other agents, and one that the reader writes."""


@pytest.fixture(scope="module")
def options() -> set[str]:
    """Return every option that any command declares."""
    sys.path.insert(0, str(ROOT / "scripts/reference"))
    try:
        from commands import BEHIND, find_parser
    finally:
        sys.path.pop(0)
    found: set[str] = set()

    def add(parser: argparse.ArgumentParser) -> None:
        for action in parser._actions:
            found.update(action.option_strings)
            for each in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
                add(each)

    for program, commands in PROGRAMS.items():
        add(find_parser(program, []))
        for name in commands:
            add(find_parser(program, [name]))
    for command, words in BEHIND.items():
        program, name = command.split()
        for word in words:
            add(find_parser(program, [name, word]))
    return found


@each_row("page", WRITTEN, ids=ids)
def test_the_options_of_a_page_are_options(page: Path, options: set[str]) -> None:
    for code in typed(page):
        if re.match(r"(?:\S*=\S+ )*(?:\$ )?(?:nebula|evercontext|vizprompt|--)", code):
            ours = re.sub(r'"[^"]*"', '""', code.partition(" -- ")[0])
            named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", ours))
            assert named <= options | OF_OTHERS, code


@each_row("page", WRITTEN, ids=ids)
def test_the_variables_of_a_page_are_ours(page: Path) -> None:
    ours = {name for each in TABLE.values() for name in each.variables}
    ours |= {"NEBULA_HOME", "NEBULA_TRUST", "EC_APP_ROOT"}
    ours |= set(re.findall(r"\bNEBULA_\w+", "".join(each.read_text("utf-8") for each in (ROOT / "ci").iterdir())))
    named = set(re.findall(r"\b(?:NEBULA|EC)_[A-Z_]+\b", page.read_text("utf-8")))
    assert named <= ours


def test_every_exit_code_is_explained_and_no_other() -> None:
    codes = {str(code) for name, code in vars(errors).items() if name.startswith("EXIT_")}
    table = (REFERENCE / "exit-codes.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(\d+)`", table, re.MULTILINE)) == codes
    for page in WRITTEN:
        said = re.findall(r"(?:exit code|終了コード)s?:? (?:は )?`?(\d+)", page.read_text("utf-8"))
        assert set(said) <= codes, page


def test_every_route_that_is_named_is_one() -> None:
    """All of them stand in routes.md, which is written from the code."""
    routes = set(re.findall(r"^### [A-Z]+ (/\w+)$", (REFERENCE / "routes.md").read_text("utf-8"), re.MULTILINE))
    for page in ("rest.md", "rest.ja.md"):
        named = set(re.findall(r"`(?:[A-Z]+ )?(/[a-z_]+)`", (REFERENCE / page).read_text("utf-8")))
        assert named and named - {"/docs", "/mcp"} <= routes
