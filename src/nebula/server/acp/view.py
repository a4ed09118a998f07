"""Show a turn in an editor: the stage's cues as updates of the session, and its plan or list of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nebula.events import Error, Final, Message, Plan, Stamped, Step, StepProgress, TodoItem, TodoList, ToolResult
from nebula.messages import ToolResultStatus
from nebula.server.acp.progress import Progress
from nebula.server.acp.tool_calls import ToolCalls, describe_call
from nebula.stage import Ask, Close, Curtain, Remark, Say, Stage, StageOptions, neutralise, one_line

Update = Callable[[Mapping[str, Any]], None]


class EditorView:
    """Shows what the model says and the program's remarks, which editors show apart; tools only if the user asked for
    backstage."""

    def __init__(self, options: StageOptions, update: Update, calls: ToolCalls, root: str, progress: Progress) -> None:
        self._stage = Stage(options)
        self._backstage = options.backstage
        self._update = update
        self._calls = calls
        self._root = root
        self._spoken = False
        self._progress = progress
        self.last_remark = ""

    def read(self, stamped: Stamped) -> None:
        if isinstance(stamped.event, Message | Final | Error):
            self._progress.end()
        self._follow_calls(stamped.event)
        for cue in self._stage.read(stamped):
            if isinstance(cue, Curtain):
                self._progress.show(cue)
            elif isinstance(cue, Ask):
                self._progress.end()
            elif isinstance(cue, Say):
                self._say(cue.text)
            elif isinstance(cue, Remark):
                self.last_remark = cue.text
                self._update(message("agent_thought_chunk", cue.text + "\n"))
            elif isinstance(cue, Close):
                self._close(cue)

    def _say(self, text: str) -> None:
        self._update(message("agent_message_chunk", ("\n\n" if self._spoken else "") + text))
        self._spoken = True

    def _close(self, cue: Close) -> None:
        """Show failures and changes as a message: editors fold a thought away."""
        if cue.failed:
            self._say("\n".join(cue.failed))
        if cue.line and cue.final.files_changed:
            self._say(cue.line)
        elif cue.line:
            self._update(message("agent_thought_chunk", cue.line + "\n"))

    def _follow_calls(self, event: object) -> None:
        if isinstance(event, Step):
            call_id = self._calls.begin(event.tool_use_id)
            if self._backstage:
                shown = {**describe_call(event.name, event.args, self._root), "rawInput": event.args}
                self._calls.announce(call_id, shown, "in_progress")
        elif isinstance(event, ToolResult):
            succeeded = event.result.status is ToolResultStatus.Success
            result = neutralise(event.result.as_text()) if self._backstage else ""
            self._calls.end(self._calls.find_id(event.result.tool_use_id), succeeded, result)
        elif isinstance(event, Final):
            self._calls.end_all()


def message(kind: str, text: str) -> dict[str, Any]:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


STATUS = {"started": "in_progress", "done": "completed"}
"""By the state of a step. The protocol has no state for one that failed or was skipped: it counts as still to be
done."""


class PlanView:
    """A plan, or the model's list of steps: each waiting, running or done."""

    def __init__(self, update: Update) -> None:
        self._update = update
        self._steps: dict[str, dict[str, str]] = {}

    def read(self, stamped: Stamped) -> None:
        event = stamped.event
        if isinstance(event, Plan):
            self._steps = {str(step.get("id")): _describe_step(step) for step in event.plan.get("tasks", ())}
        elif isinstance(event, TodoList):
            self._steps = {str(number): _describe_item(item) for number, item in enumerate(event.items)}
        elif isinstance(event, StepProgress) and event.task_id in self._steps:
            self._steps[event.task_id]["status"] = STATUS.get(event.state, "pending")
        else:
            return
        self._update({"sessionUpdate": "plan", "entries": [dict(each) for each in self._steps.values()]})


def _describe_step(step: Mapping[str, Any]) -> dict[str, str]:
    words = step.get("title") or step.get("goal") or step.get("id")
    return {"content": one_line(str(words)), "priority": "medium", "status": "pending"}


def _describe_item(item: TodoItem) -> dict[str, str]:
    return {"content": one_line(item.content), "priority": "medium", "status": item.status}
