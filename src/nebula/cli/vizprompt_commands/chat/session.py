"""A conversation in the terminal: the words of the original around turns like those of every other door."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from nebula.agent.session import Session
from nebula.cli.headless.run import interruptible
from nebula.cli.headless.text import TextFace
from nebula.cli.printing import print_line, print_lines, print_remark, tell_line, tell_remark
from nebula.cli.terminal.output.live_line import LiveLine
from nebula.cli.terminal.output.screen import screen_on
from nebula.cli.terminal.output.turn_view import TurnView
from nebula.cli.vizprompt_commands.showing import find_flow, legend, print_flows, show_node
from nebula.config import Settings
from nebula.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, NebulaError
from nebula.events import Final, Stamped
from nebula.graph.context.path import flow_of
from nebula.graph.errors import GraphError
from nebula.graph.graph import Graph
from nebula.graph.values import DEFAULT_FLOW
from nebula.language import explain, translate
from nebula.llm.catalog import short_name
from nebula.stage import StageOptions, one_line
from nebula.value import value

COMMANDS = {
    "/q": "leave the session",
    "/clear": "clear the session",
    "/flow list": "list the flows",
    "/flow show <id>": "draw a flow and show its nodes",
    "/flow select <id>": "go on at the end of a flow",
    "/prev": "show the previous node",
    "/retry": "ask the previous prompt again, as a branch beside it",
    "/?": "show this help",
}


@value
class Asked:
    """A prompt and the place it was asked from, so that it can be asked again."""

    prompt: str
    parents: tuple[str, ...]
    branch: str | None = None
    references: tuple[str, ...] = ()
    beginning: str = ""
    """The first try, of a prompt that continues nothing."""


class Chat:
    def __init__(
        self,
        runner: asyncio.Runner,
        session: Session,
        graph: Graph,
        *,
        flow: str | None = None,
        parents: Sequence[str] = (),
        references: Sequence[str] = (),
    ) -> None:
        self._runner = runner
        self._session = session
        self._graph = graph
        self._flow = self._home_of(flow, parents)
        self._parents = tuple(parents) or (self._end_of(flow) if flow else ())
        self._references = tuple(references)
        """What the command line named; it belongs to the first prompt."""
        self._unanswered: Asked | None = None

    def once(self, prompt: str) -> int:
        """Take one turn, in the flow `main` unless told otherwise."""
        self._flow = self._flow or DEFAULT_FLOW
        return self._ask(Asked(prompt, self._parents, references=self._references)).exit_code

    def converse(self) -> int:
        if sys.stdin.isatty():
            tell_remark("{model} · /? lists the commands, /q leaves", model=short_name(self._session.chosen.name))
        code = EXIT_OK
        for line in self._lines():
            text = line.strip()
            if text == "/q":
                break
            if text:
                code = max(code, self._obey(text) if text.startswith("/") else self._say(line.rstrip()))
            if code == EXIT_INTERRUPTED and not sys.stdin.isatty():
                return code
        return EXIT_OK if sys.stdin.isatty() else code

    def _lines(self) -> Iterator[str]:
        if not sys.stdin.isatty():
            for line in sys.stdin.buffer:
                yield line.decode("utf-8", "replace")
            return
        import readline  # arrow keys and history for input()

        def give_back() -> None:
            if self._unanswered is not None:
                readline.insert_text(self._unanswered.prompt)

        readline.set_startup_hook(give_back)
        while True:
            try:
                yield input("User: ")
            except EOFError:
                print_line()
                return
            except KeyboardInterrupt:
                self._unanswered = None
                print_line()

    # Turns

    def _say(self, prompt: str) -> int:
        asked = Asked(prompt, self._parents, references=self._references)
        self._references = ()
        return self._try(asked)

    def _try(self, asked: Asked) -> int:
        """A turn that cannot even begin does not end the conversation."""
        try:
            final = self._ask(asked)
        except NebulaError as problem:
            self._unanswered = asked
            print_remark(one_line(explain(problem)))
            return EXIT_FAILED
        if final.node_id is None:
            self._unanswered = asked
            tell_remark("Without an answer there is no node; the prompt is in the log, and /retry asks it again.")
        return final.exit_code

    def _ask(self, asked: Asked) -> Final:
        session = self._session
        leaf = session.conversation.leaf
        if asked.parents != ((leaf,) if leaf else ()):
            session.continue_from(asked.parents, self._flow_with(asked.parents))
        session.place.beginning = asked.beginning
        final = self._runner.run(self._turn(asked))
        if final.node_id is not None:
            self._unanswered = None
            self._parents = (final.node_id,)
            tell_remark("Saved as node {id}", id=final.node_id)
        return final

    async def _turn(self, asked: Asked) -> Final:
        session = self._session
        with interruptible(session.settings, _face(session.settings)) as audience:
            return await session.turn(
                asked.prompt,
                [audience],
                parents=asked.parents,
                flow=self._flow_id,
                branch=asked.branch,
                references=asked.references,
                watchers=[audience] if sys.stderr.isatty() else (),
            )

    def _flow_id(self) -> str:
        """Return the flow of this conversation; one that nobody chose begins with its first answer."""
        if self._flow is None:
            name = f"Chat Session {datetime.now().astimezone().isoformat(sep=' ', timespec='milliseconds')}"
            self._flow = self._graph.create_flow(name).id
        return self._flow

    def _flow_with(self, parents: Sequence[str]) -> str | None:
        """Return the flow of this conversation, where the path runs in it."""
        if self._flow is None or not set(parents) <= set(self._graph.get_flow(self._flow).nodes):
            return None
        return self._flow

    def _home_of(self, flow: str | None, parents: Sequence[str]) -> str | None:
        """Return the flow that is named, or the one with the path that the conversation continues."""
        if flow:
            return find_flow(self._graph, flow).id
        homes = (flow_of(self._graph, parent) for parent in parents)
        return next((home.id for home in homes if home), None)

    # The words of the original

    def _obey(self, text: str) -> int:
        words = text.split()
        name = " ".join(words[:2]) if words[0] == "/flow" else words[0]
        arguments = words[2:] if words[0] == "/flow" else words[1:]
        name = "/?" if name == "/help" else name  # the word of every other session
        form = next((form for form in COMMANDS if form.partition(" <")[0] == name), None)
        if form is None:
            tell_remark("There is no command {word}; it was not sent to the model. /? lists the commands.", word=name)
            return EXIT_OK
        if len(arguments) != form.count("<"):
            tell_remark("Write it as: {form}", form=form)
            return EXIT_OK
        try:
            return self._run(name, arguments)
        except GraphError as problem:
            print_remark(one_line(explain(problem)))
            return EXIT_OK

    def _run(self, name: str, arguments: Sequence[str]) -> int:
        match name:
            case "/?":
                _help()
            case "/clear":
                self._clear()
            case "/flow list":
                print_flows(self._graph)
            case "/flow show":
                self._show_flow(arguments[0])
            case "/flow select":
                self._select(arguments[0])
            case "/prev" if self._parents:
                show_node(self._graph.get_node(self._parents[-1]))
            case "/retry" if self._parents or self._unanswered:
                return self._retry()
            case _:
                tell_remark("There is no previous node.")
        return EXIT_OK

    def _clear(self) -> None:
        self._flow, self._unanswered, self._parents = None, None, ()
        self._session.continue_from(())
        tell_remark("The next prompt begins a new session.")

    def _show_flow(self, wanted: str) -> None:
        flow = find_flow(self._graph, wanted)
        print_line(self._graph.draw_map(flow.id))
        print_line()
        print_lines(legend(self._graph, flow))

    def _select(self, wanted: str) -> None:
        flow = find_flow(self._graph, wanted)
        self._flow, self._unanswered = flow.id, None
        self._parents = self._end_of(flow.id)
        tell_remark("Going on in the flow {name} ({id}).", name=one_line(flow.name), id=flow.id)

    def _end_of(self, flow: str) -> tuple[str, ...]:
        return tuple(find_flow(self._graph, flow).nodes[-1:])

    def _retry(self) -> int:
        """Ask the same prompt once more, behind the same parents: a sibling, also of a root."""
        asked = self._unanswered or self._previous()
        tell_remark("Asking again: {prompt}", prompt=one_line(asked.prompt[:80]))
        return self._try(asked)

    def _previous(self) -> Asked:
        node = self._graph.get_node(self._parents[-1])
        home = flow_of(self._graph, node.id, self._flow_with([node.id]))
        parents = [each.source for each in home.connections if each.target == node.id] if home else []
        beginning = "" if parents else node.first_try
        return Asked(node.prompt, tuple(parents), "retry", node.references, beginning)


def _help() -> None:
    tell_line("List of commands:")
    width = max(map(len, COMMANDS))
    for form, about in COMMANDS.items():
        print_line(f"  {form:{width}}  {translate(about)}")


def _face(settings: Settings) -> Callable[[Stamped], None]:
    """A terminal sees the turn as it does in `nebula`; whatever else reads us gets the plain text of `nebula -p`."""
    if not sys.stdout.isatty():
        return TextFace(settings, prog="vizprompt")
    screen = screen_on(sys.stdout)
    live = LiveLine(screen, str, translate("Ctrl-C interrupts"))
    return TurnView(screen, live, StageOptions(settings.lang, settings.curtain, settings.backstage)).read
