"""What happens in a turn, in lines that every terminal shows alike: drafts, refusals, and models asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from nebula.events import Approval, Event, Retry, Step, ToolResult
from nebula.language import Sentence, explain, translate
from nebula.messages import ToolResultStatus
from nebula.stage import DraftText, one_line
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.guard.judge import OPENED_BY_NAME
from nebula.workspace.guard.paths import normal_path

LONG_S = 60
"""From so many seconds on the clock says more than a countdown."""

NAMED = 5
"""So many of the files that a command would have changed are named."""
_COMMANDS = frozenset({"runCommand", "run_command"})


class DraftLines:
    """The draft of a message as backstage shows it: line by line, each when it is whole."""

    def __init__(self) -> None:
        self._unfinished = ""

    def add(self, cue: DraftText) -> list[str]:
        """Take in more of the draft; return the lines that are whole by now, as they are shown."""
        *whole, self._unfinished = (cue.text if cue.anew else self._unfinished + cue.text).split("\n")
        return [f"  ┊ {line}" for line in whole]

    def clear(self) -> None:
        """Forget the draft: the message is there, or will not come."""
        self._unfinished = ""


def asked_again(retry: Retry, seconds: int) -> str:
    """Return why a model is asked again, when, and which try it is, in a few words."""
    if retry.kind == "limit" and seconds >= LONG_S:
        until = datetime.now() + timedelta(seconds=seconds)
        return translate("rate limited until {time}", time=f"{until:%H:%M}")
    if retry.kind == "limit":
        reason = translate("rate limited")
    elif retry.kind == "unavailable":
        reason = translate("no answer from the provider")
    else:
        reason = explain(retry.reason).rstrip(" .。")
    again = translate("again in {seconds} s", seconds=seconds) if seconds > 0 else translate("asking again")
    parts = [reason, again]
    if retry.attempts:
        parts.append(translate("{attempt} of {attempts}", attempt=retry.attempt, attempts=retry.attempts))
    return translate(", ").join(parts)


class Refusals:
    """Follows the events of a turn. What it says is added to `said`, where its last event is to hold that."""

    def __init__(self, said: list[Sentence] | None = None, *, in_session: bool = False) -> None:
        self._said = said
        self._in_session = in_session
        self._paths: dict[str, str] = {}
        self._asked_for_network: set[str] = set()

    def read(self, event: Event) -> Sentence | None:
        """Return a sentence where this event refused something that an option of the command line would allow."""
        refused = self._explain(event)
        if refused is not None and self._said is not None:
            self._said.append(refused)
        return refused

    def _explain(self, event: Event) -> Sentence | None:
        if isinstance(event, Step) and isinstance(event.args, Mapping):
            self._paths[event.tool_use_id] = str(event.args.get("path", ""))
            if event.args.get("network") is True:
                self._asked_for_network.add(event.tool_use_id)
        elif isinstance(event, Approval) and event.decision == "no":
            path = one_line(event.path)
            if event.kind == "call":
                tool = one_line(event.tool)
                return Sentence("{tool} was not called: nobody is there to ask. To allow it add --yes.", tool=tool)
            if event.kind == "command" and event.changes:
                paths = _name_some([change.path for change in event.changes])
                return Sentence("Not applied: {paths}. Nobody is there to ask; to allow it add --yes.", paths=paths)
            return Sentence("{path} was not written: nobody is there to ask. To allow it add --yes.", path=path)
        elif isinstance(event, ToolResult) and event.problem is not None and _left_something_out(event):
            return event.problem
        elif isinstance(event, ToolResult) and event.refused and event.decision == "no":
            if event.result.tool_use_id in self._asked_for_network and not self._in_session:
                return Sentence("A command that asks for the network was not run. To allow it add --allow-network.")
        elif isinstance(event, ToolResult) and event.refused and event.decision is None:
            path = self._paths.get(event.result.tool_use_id, "")
            if event.problem is not None and event.problem.sentence not in OPENED_BY_NAME:
                return event.problem if _may_be_allowed_by_name(path) else None
            if _may_be_allowed_by_name(path) and not self._in_session:  # there each is asked about
                return Sentence(
                    "{path} was refused: a secret or control file is allowed only by name. To do so add --allow {path}",
                    path=one_line(path),
                )
        return None


def _name_some(paths: Sequence[str]) -> str:
    return ", ".join([one_line(path) for path in paths[:NAMED]] + ["…"] * (len(paths) > NAMED))


def _left_something_out(event: ToolResult) -> bool:
    """Tell if not all that a command changed was applied; one that could not be run has a problem of another kind."""
    return event.tool in _COMMANDS and (event.refused or event.result.status is ToolResultStatus.Success)


def _may_be_allowed_by_name(path: str) -> bool:
    try:
        standing = normal_path(path).standing
    except WorkspaceError:
        return False
    return (standing.secret or standing.control) and not standing.untouchable
