"""Hooks of the user: commands that get a turn's events as JSON on their standard input.

A hook can only make things stricter. `before_write` refuses a change by any exit code but 0, and also where it cannot
be run or takes too long. Hooks before and after a write run in a layer, and what they change there is dropped;
`turn_end` and `waiting` tell the user something, so they run on the machine itself, or are `notify`.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from nebula.config import Settings
from nebula.config.hooks import NOTIFY, OUTSIDE
from nebula.errors import NebulaError
from nebula.events import Approval, Diff, Notice, Stamped, Task
from nebula.events import Final as TurnFinal
from nebula.events.approval import ProposedChange
from nebula.language import Sentence, translate
from nebula.programs import kill_group
from nebula.sandbox.errors import SandboxError
from nebula.tools.commands.layers import CommandLayers
from nebula.tools.contract import Call

LIMIT_S: Final = 10.0
LARGEST_TEXT: Final = 1 << 20
"""Characters of one content or diff that a hook is given."""
LONGEST_REASON: Final = 2000


class Hooks:
    """Runs the hooks of one session, in its layers or else in layers of its own."""

    def __init__(self, settings: Settings, layers: CommandLayers | None = None) -> None:
        self._settings = settings
        self._layers = layers or CommandLayers(settings)
        self._owns_layers = layers is None
        self._at_work: list[threading.Thread] = []

    # Before and after a write

    async def before_write(self, tool: str, changes: Sequence[ProposedChange]) -> str | None:
        """Return why a hook refuses these changes; None where all agree."""
        for command in self._commands_for("before_write"):
            code, output = await self._in_layer(
                command, self._make_body("before_write", tool=tool, changes=_list_changes(changes))
            )
            if code != 0:
                return output.strip()[:LONGEST_REASON] or f"the hook {command!r} ended with {code}"
        return None

    async def after_write(self, change: Diff, call: Call) -> None:
        """Run the hooks for a file that was written; a failing hook becomes a remark."""
        for command in self._commands_for("after_write"):
            told = {"path": change.path, "added": change.added, "removed": change.removed, "diff": change.diff}
            code, output = await self._in_layer(
                command, self._make_body("after_write", tool=call.use.orig_name, **told)
            )
            if code != 0:
                call.emit(Notice(_describe_failure("after_write", command, output)))

    # Moments of the turn

    def read(self, stamped: Stamped) -> None:
        """Read an event of the turn; a hook for it runs in the background."""
        event = stamped.event
        if isinstance(event, Task):
            self._begin("turn_start", prompt=event.prompt, mode=event.mode, model=event.model)
        elif isinstance(event, TurnFinal):
            changed = [each.path for each in event.files_changed]
            self._begin("turn_end", status=event.status, files_changed=changed, node_id=event.node_id)
        elif isinstance(event, Approval) and event.decision is None:
            self._begin("waiting", tool=event.tool, paths=[each.path for each in event.changes])

    async def close(self) -> None:
        """Wait until all hooks that were started have ended; each has a time limit."""
        for each in self._at_work:
            await asyncio.to_thread(each.join, LIMIT_S + 5)
        if self._owns_layers:
            await asyncio.to_thread(self._layers.close)

    def _begin(self, moment: str, **told: Any) -> None:
        body = self._make_body(moment, **told)
        for command in self._commands_for(moment):
            work = threading.Thread(target=self._run, args=(moment, command, body), daemon=True)
            self._at_work = [*(each for each in self._at_work if each.is_alive()), work]
            work.start()

    def _run(self, moment: str, command: str, body: str) -> None:
        if command == NOTIFY:
            notify("nebula", _describe_moment(moment, os.path.basename(self._settings.root)))
        elif moment in OUTSIDE:
            run_outside(command, body, self._settings.root)
        else:
            asyncio.run(self._in_layer(command, body))

    # Running

    def _commands_for(self, moment: str) -> tuple[str, ...]:
        return self._settings.hooks.get(moment, ())

    def _make_body(self, moment: str, **told: Any) -> str:
        return json.dumps({"event": moment, "root": self._settings.root, **told}, ensure_ascii=False)

    async def _in_layer(self, command: str, body: str) -> tuple[int | None, str]:
        """Return the exit code and the output; None and the reason where the command did not run to its end."""
        if not await asyncio.to_thread(lambda: self._layers.available):
            return None, f"The hook {command!r} cannot run: this machine has no layers (see nebula doctor)."
        try:
            done = await self._layers.run(command, timeout_s=LIMIT_S, read_back=False, stdin=body)
        except (SandboxError, NebulaError, OSError) as problem:
            return None, f"The hook {command!r} could not be started: {problem}"
        if done.exit_code is None:
            return None, f"The hook {command!r} was stopped ({done.stopped}) after at most {LIMIT_S:.0f} s."
        return done.exit_code, done.output


def run_outside(command: str, body: str, root: str) -> None:
    """Run a command of the user with `body` on its standard input; at the time limit it is ended with all that it
    started."""
    try:
        started = subprocess.Popen(  # noqa: S602 - the user's own line, from the user's own config
            command,
            shell=True,
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return
    try:
        with suppress(BrokenPipeError):
            started.communicate(body.encode(), timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        kill_group(started.pid)
        started.wait()


def notify(title: str, text: str) -> None:
    """Show a notification with a program of the desktop; where there is none, ring the terminal's bell."""
    from shutil import which

    script = f"display notification {json.dumps(text)} with title {json.dumps(title)}"
    for program, argv in (("notify-send", [title, text]), ("osascript", ["-e", script])):
        found = which(program)
        if found is not None:
            with suppress(OSError, subprocess.TimeoutExpired):
                if subprocess.run([found, *argv], timeout=LIMIT_S, capture_output=True, check=False).returncode == 0:
                    return
    if sys.stderr.isatty():
        sys.stderr.write("\a")
        sys.stderr.flush()


def _describe_moment(moment: str, project: str) -> str:
    if moment == "waiting":
        return translate("{project}: waits for your answer", project=project)
    return translate("{project}: done", project=project)


def _describe_failure(moment: str, command: str, output: str) -> Sentence:
    said = "The {moment} hook {command} failed: {output}"
    return Sentence(said, moment=moment, command=command, output=" ".join(output.split())[:200])


def _list_changes(changes: Sequence[ProposedChange]) -> list[Mapping[str, Any]]:
    return [
        {
            "path": each.path,
            "kind": each.kind,
            "added": each.added,
            "removed": each.removed,
            "diff": (each.diff or "")[:LARGEST_TEXT],
            **({"renamed_from": each.renamed_from} if each.renamed_from else {}),
            **({"content": each.new[:LARGEST_TEXT]} if each.new is not None else {}),
        }
        for each in changes
    ]
