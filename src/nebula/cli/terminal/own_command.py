"""`!command`: a command of the user's own, run in a layer like the model's; its output goes with the next prompt."""

from __future__ import annotations

import asyncio
from codecs import getincrementaldecoder
from collections.abc import Coroutine, Mapping
from typing import Any

from nebula.attachments import Attachment
from nebula.cli.terminal.input.contract import OWN_COMMAND
from nebula.cli.terminal.output.live_line import LiveLine
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.events import Approval, Event, Notice, new_trace_id
from nebula.language import Sentence, translate, translate_count
from nebula.messages import AssistantToolUse, Json
from nebula.stage import one_line
from nebula.tools.contract import Call, CancelledLate, Outcome
from nebula.tools.permissions import NETWORK

NAME_CHARACTERS = 60
"""Of a command line, where an attachment is named after it."""
SHOWN_BYTES = 256 * 1024
"""Of what a command says, as it says it; then its end."""
LAST_LINES = 20


def wanted_command(text: str) -> str | None:
    """Return the shell line that a typed line is, empty for the mark alone; None where it is something else."""
    return text[1:].strip() if text.startswith(OWN_COMMAND) else None


async def run_own_command(terminal: TerminalSession, line: str) -> None:
    """Run `line` in a layer, show what it said, have its changes decided, and keep its output for the next prompt."""
    if not line:
        _leave_out(terminal)
        return
    group = new_trace_id()
    live = LiveLine(terminal.screen, terminal.typed.shown)
    live.raise_(doing=translate("running"))
    watcher = _Watcher(terminal, live)
    outcome = await _run_to_its_end(terminal, _run(terminal, line, group, watcher), live)
    watcher.finish()
    if outcome is None:
        terminal.screen.warn("Stopped; nothing was changed.")
        return
    terminal.session.turn_ids.add(group)
    if outcome.changes:
        terminal.forks.files_changed()
    report: Mapping[str, Any] = next((block.value for block in outcome.content if isinstance(block, Json)), {})
    if watcher.is_cut:
        _show_end(terminal, str(report.get("output", "")))
    _conclude(terminal, outcome, report)
    if "exit_code" in report:
        _keep(terminal, line, report, secret=outcome.secret)


class _Watcher:
    """Shows what a command of the user's own says, line by line while it runs, above a live line."""

    def __init__(self, terminal: TerminalSession, live: LiveLine) -> None:
        self._terminal = terminal
        self._live = live
        self._loop = asyncio.get_running_loop()
        self._heard = 0
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    @property
    def is_cut(self) -> bool:
        """More was said than is shown as it comes."""
        return self._heard > SHOWN_BYTES

    def hear(self, data: bytes) -> None:
        """Take what the command has just said; called in the thread that runs it."""
        self._heard += len(data)
        if not self.is_cut:
            self._loop.call_soon_threadsafe(self._show, data)

    def _show(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        for line in lines:
            self._terminal.screen.verbatim(_as_shown(line))
        self._live.raise_(one_line(_as_shown(self._rest)), translate("running"))

    def read(self, event: Event) -> None:
        if isinstance(event, Approval):
            self.finish()
        elif isinstance(event, Notice):
            self._live.lower()
            self._terminal.warn(event.sentence)

    def finish(self) -> None:
        """Show the last line, which nothing ended; a question may follow, and the live line makes way for it."""
        self._live.lower()
        if self._rest:
            self._terminal.screen.verbatim(_as_shown(self._rest))
            self._rest = ""


def _as_shown(line: str) -> str:
    """Return a line as a terminal would leave it: what stands behind the last return to its beginning."""
    return line.rstrip("\r").rpartition("\r")[2]


async def _run(terminal: TerminalSession, line: str, group: str, watcher: _Watcher) -> Outcome:
    """Run the line as a call of the tool that the model has; what it changes is recorded under `group`."""
    tools = await asyncio.to_thread(terminal.session.bench.tools, group, terminal.session.mode)
    if "runCommand" not in tools.tools:
        return Outcome((), problem=Sentence("Commands cannot be run here; `nebula doctor` says why."))
    wanted = {"command": line, "network": _has_network(terminal)}
    use = AssistantToolUse(group, OWN_COMMAND[0], "runCommand", wanted, wanted)
    return await tools.run(Call(use, watcher.read, hear=watcher.hear))


async def _run_to_its_end(
    terminal: TerminalSession, work: Coroutine[Any, Any, Outcome], live: LiveLine
) -> Outcome | None:
    """Return what came of the command; None where Ctrl-C or Esc stopped it before anything was changed."""
    try:
        return await terminal.carry_out(work)
    except CancelledLate as late:
        done: Outcome = late.outcome
        return done
    except asyncio.CancelledError:
        return None
    finally:
        live.lower()


def _has_network(terminal: TerminalSession) -> bool:
    """Return whether commands get the network, or a part of it, without a question."""
    approvals = terminal.session.project.approvals
    return approvals.permissions.has(NETWORK) or bool(terminal.settings.sandbox_network)


def _show_end(terminal: TerminalSession, output: str) -> None:
    """Show the last lines of an output that was too long to be shown as it came."""
    terminal.screen.line("…", "dim")
    for line in output.rstrip("\n").split("\n")[-LAST_LINES:]:
        terminal.screen.verbatim(_as_shown(line))


def _conclude(terminal: TerminalSession, outcome: Outcome, report: Mapping[str, Any]) -> None:
    """Show how the command ended, and what becomes of what it said."""
    screen = terminal.screen
    if outcome.problem is not None:
        terminal.warn(outcome.problem)
    if "exit_code" not in report:  # it was not run; the sentence says why
        if "error" in report:
            screen.line(one_line(str(report["error"])), "yellow")
        return
    code, changed = report["exit_code"], len(report.get("changed", ()))
    limit = one_line(str(report.get("stopped", "")))
    parts = [translate("exit {code}", code=code) if code is not None else translate("stopped: {limit}", limit=limit)]
    if terminal.session.mode == "plan":
        parts.append(translate("plan mode: what it changed was thrown away"))
    if changed:
        one, many = "1 file changed; /undo takes it back", "{count} files changed; /undo takes them back"
        parts.append(translate_count(changed, one, many))
    parts.append(translate("its output goes with your next prompt; ! alone leaves it out"))
    screen.parts(parts, "dim" if code == 0 else "red")
    screen.line()


def _keep(terminal: TerminalSession, line: str, report: Mapping[str, Any], *, secret: bool) -> None:
    facts = [f"exit code: {report.get('exit_code')}"]
    facts += [f"{key}: {report[key]}" for key in ("stopped", "error", "remark") if report.get(key)]
    if report.get("changed"):
        facts.append(f"changed: {', '.join(report['changed'])}")
    text = "\n".join((f"$ {line}", str(report.get("output", "")).rstrip("\n"), *facts))
    size = len(text.encode("utf-8", "replace"))
    name = f"{OWN_COMMAND[0]}{one_line(line)[:NAME_CHARACTERS]}"
    terminal.own_output[name] = Attachment(name, "command", size, text, secret=secret)


def _leave_out(terminal: TerminalSession) -> None:
    if not terminal.own_output:
        said = translate("!command runs a command of your own in a layer, such as !git status.")
    else:
        said = translate("Left out of the next prompt: {names}", names=", ".join(terminal.own_output))
    terminal.own_output.clear()
    terminal.screen.line(said, "dim")
