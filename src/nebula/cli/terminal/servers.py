"""/mcp: the MCP servers of the session, and their prompts as commands."""

from __future__ import annotations

from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.cli.terminal.turns import take_turn
from nebula.language import translate
from nebula.messages import strip_hidden_characters
from nebula.stage import neutralise, one_line
from nebula.tools.external.connection import ServerConnection
from nebula.tools.external.servers import ExternalServers

MOST_LINES = 20
"""Lines of a server's prompt that are shown before it is sent."""


async def show_servers(terminal: TerminalSession, argument: str) -> None:
    servers = terminal.session.project.external
    if servers is None:
        line = "nebula mcp add NAME -- COMMAND"
        terminal.screen.tell("No MCP server is configured. Add one: {line}", line=line)
        return
    word, _, name = argument.partition(" ")
    if word.lower() in ("restart", "start"):
        await _restart(terminal, servers, name.strip())
    elif argument:
        terminal.screen.warn("Say it as: {line}", line="/mcp, /mcp restart [NAME]")
    else:
        for connection in servers.connections:
            _show_one(terminal, connection)
        for name, prompt in servers.prompts().items():
            terminal.screen.line(f"  /{one_line(f'{name} {prompt.usage}')}  {one_line(prompt.about)}", "dim")


async def _restart(terminal: TerminalSession, servers: ExternalServers, name: str) -> None:
    wanted = [each for each in servers.connections if name in ("", each.server.name)]
    if not wanted:
        terminal.screen.warn("There is no MCP server {name}.", name=one_line(name))
    for connection in wanted:
        terminal.screen.hint("starting MCP server {names}", names=one_line(connection.server.name))
        for problem in await servers.restart(connection):
            terminal.warn(problem)
        _show_one(terminal, connection)


def _show_one(terminal: TerminalSession, connection: ServerConnection) -> None:
    name = one_line(connection.server.name)
    if connection.is_open:
        tools = ", ".join(each.name for each in connection.tools) or translate("no tools")
        terminal.screen.line(f"✓ {name}  {one_line(strip_hidden_characters(tools))}")
    elif connection.problem:
        terminal.screen.line(f"✗ {name}  {one_line(connection.problem)}", "yellow")
    else:
        said = translate("does not run; it starts with the next prompt, or by /mcp restart {name}", name=name)
        terminal.screen.line(f"- {name}  {said}", "dim")


async def send_server_prompt(terminal: TerminalSession, text: str) -> bool:
    """Send the prompt of a server that `text` names as `/server__prompt ARGUMENTS`; return whether it names one.

    What the server says is shown before it goes to the model: it is sent in the user's name.
    """
    servers = terminal.session.project.external
    word, _, rest = text[1:].partition(" ")
    if servers is None or "__" not in word:
        return False
    for problem in await servers.open():
        terminal.warn(problem)
    prompt = servers.prompts().get(word)
    if prompt is None:
        return False
    args = prompt.read_arguments(rest)
    if args is None:
        terminal.screen.warn("Say it as: {line}", line=one_line(f"/{word} {prompt.usage}"))
        return True
    said = await prompt.ask(args)
    lines = neutralise(said).splitlines()
    for line in lines[:MOST_LINES] + (["…"] if len(lines) > MOST_LINES else []):
        terminal.screen.line(f"  {line}", "dim")
    await take_turn(terminal, said)
    return True


MCP = SessionCommand(
    "mcp", "MCP servers, their state and tools; restart [NAME] starts one again", show_servers, at_once=True
)
