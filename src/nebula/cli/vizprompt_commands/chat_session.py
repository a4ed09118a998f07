"""A conversation in the terminal: the words of the original, one exchange after the other."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from nebula.cli.printing import print_line, print_remark
from nebula.cli.vizprompt_commands.showing import find_flow, flow_lines, legend, show_node
from nebula.graph.errors import GraphError
from nebula.graph.flows.path import flow_of
from nebula.graph.values import DEFAULT_FLOW
from nebula.language import explain, translate
from nebula.llm.errors import ModelError
from nebula.stage import one_line

if TYPE_CHECKING:
    from nebula.cli.vizprompt_commands.exchange import Exchange
    from nebula.graph.values import Node

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


class Speaker:
    """Shows the answer: piece by piece on a terminal, else when it is complete."""

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._shown = False
        self._held = ""

    def piece(self, text: str) -> None:
        if not self._live:
            return
        # A line break cut in two between its CR and its LF must not show the CR.
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        print_line(text.removesuffix("\r"), end="")
        self._shown = True

    def void(self, reason: str) -> None:
        if self._shown:
            print_line()
        self._shown, self._held = False, ""
        if reason:
            self.remark(translate("({reason}; trying again)", reason=reason))

    def finished(self, text: str) -> None:
        if not self._shown:
            print_line(text, end="")
        if not text.endswith("\n"):
            print_line()
        self._shown, self._held = False, ""

    def remark(self, text: str) -> None:
        print_remark(one_line(text))


class ChatSession:
    def __init__(
        self,
        runner: asyncio.Runner,
        exchange: Exchange,
        speaker: Speaker,
        *,
        flow: str | None = None,
        parents: Sequence[str] = (),
    ) -> None:
        self._runner = runner
        self._exchange = exchange
        self._graph = exchange.graph
        self._speaker = speaker
        self._flow = self._home_of(flow, parents)
        self._parents = list(parents) or (self._end_of(flow) if flow else [])
        self._previous: Node | None = self._graph.get_node(self._parents[-1]) if self._parents else None
        self._failed = False

    def once(self, prompt: str) -> int:
        """One exchange, in the flow `main` unless told otherwise."""
        self._flow = self._flow or DEFAULT_FLOW
        node = self._runner.run(self._exchange.ask(prompt, self._parents, self._flow_id))
        self._tell(node)
        return 0

    def converse(self) -> int:
        if sys.stdin.isatty():
            self._speaker.remark(
                translate("{model} · /? lists the commands, /q leaves", model=self._exchange.model.name)
            )
        for line in self._lines():
            text = line.strip()
            if text == "/q":
                break
            if text.startswith("/"):
                self._command(text)
            elif text:
                self._ask(line.rstrip(), self._parents)
        return 1 if self._failed and not sys.stdin.isatty() else 0

    def _lines(self) -> Iterator[str]:
        if not sys.stdin.isatty():
            for line in sys.stdin.buffer:
                yield line.decode("utf-8", "replace")
            return
        import readline  # noqa: F401  (arrow keys and history for input())

        while True:
            try:
                yield input("User: ")
            except EOFError:
                print_line()
                return
            except KeyboardInterrupt:
                print_line()

    def _ask(self, prompt: str, parents: Sequence[str], branch: str | None = None) -> None:
        try:
            node = self._runner.run(self._exchange.ask(prompt, parents, self._flow_id, branch))
        except (ModelError, GraphError) as problem:
            self._failed = True
            self._speaker.void("")
            self._speaker.remark(explain(problem))
        except KeyboardInterrupt:
            self._speaker.void("")
            self._speaker.remark(translate("Interrupted; nothing was saved of this exchange."))
            if not sys.stdin.isatty():
                raise
        else:
            self._tell(node)
            self._previous, self._parents = node, [node.id]

    def _tell(self, node: Node) -> None:
        self._speaker.finished(node.response)
        self._speaker.remark(translate("Saved as node {id}", id=node.id))

    def _home_of(self, flow: str | None, parents: Sequence[str]) -> str | None:
        """The flow that is named, or the one with the path that the conversation continues."""
        if flow:
            return self._graph.get_flow(flow).id
        homes = (flow_of(self._graph, parent) for parent in parents)
        return next((home.id for home in homes if home), None)

    def _flow_id(self) -> str:
        """The flow of this conversation; one that nobody chose begins with its first exchange."""
        if self._flow is None:
            name = f"Chat Session {datetime.now().astimezone().isoformat(sep=' ', timespec='milliseconds')}"
            self._flow = self._graph.create_flow(name).id
        return self._flow

    # The words of the original

    def _command(self, text: str) -> None:
        words = text.split()
        name = " ".join(words[:2]) if words[0] == "/flow" else words[0]
        arguments = words[2:] if words[0] == "/flow" else words[1:]
        form = next((form for form in COMMANDS if form.partition(" <")[0] == name), None)
        if form is None:
            self._speaker.remark(
                translate("There is no command {word}; it was not sent to the model. /? lists the commands.", word=name)
            )
        elif len(arguments) != form.count("<"):
            self._speaker.remark(translate("Write it as: {form}", form=form))
        else:
            try:
                self._run(name, arguments)
            except GraphError as problem:
                self._speaker.remark(explain(problem))

    def _run(self, name: str, arguments: Sequence[str]) -> None:
        match name:
            case "/?":
                self._help()
            case "/clear":
                self._flow, self._previous, self._parents = None, None, []
                self._speaker.remark(translate("The next prompt begins a new session."))
            case "/flow list":
                for line in flow_lines(self._graph.list_flows()):
                    print_line(line)
            case "/flow show":
                self._show_flow(arguments[0])
            case "/flow select":
                self._select(arguments[0])
            case "/prev" if self._previous:
                show_node(self._graph.get_node(self._previous.id))
            case "/retry" if self._previous:
                self._retry(self._previous)
            case _:
                self._speaker.remark(translate("There is no previous node."))

    def _help(self) -> None:
        print_line(translate("List of commands:"))
        width = max(map(len, COMMANDS))
        for form, about in COMMANDS.items():
            print_line(f"  {form:{width}}  {translate(about)}")

    def _show_flow(self, wanted: str) -> None:
        flow = find_flow(self._graph, wanted)
        print_line(self._graph.draw_map(flow.id))
        print_line()
        for line in legend(self._graph, flow):
            print_line(line)

    def _select(self, wanted: str) -> None:
        flow = find_flow(self._graph, wanted)
        self._flow = flow.id
        self._parents = self._end_of(flow.id)
        self._previous = self._graph.get_node(self._parents[-1]) if self._parents else None
        self._speaker.remark(translate("Going on in the flow {name} ({id}).", name=flow.name, id=flow.id))

    def _end_of(self, flow: str) -> list[str]:
        return self._graph.get_flow(flow).nodes[-1:]

    def _retry(self, node: Node) -> None:
        """The same prompt once more, behind the same parents: a sibling, also of a root."""
        self._speaker.remark(translate("Asking again: {prompt}", prompt=node.prompt[:80]))
        flow = self._graph.get_flow(self._flow_id())
        parents = [connection.source for connection in flow.connections if connection.target == node.id]
        self._ask(node.prompt, parents, branch="retry")
