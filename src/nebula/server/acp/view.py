"""A turn as the editor shows it: the stage's cues as updates of the session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nebula.events import Activity, Error, Final, Message, Stamped, Step, ToolResult
from nebula.messages import ToolResultStatus
from nebula.server.acp.progress import Progress
from nebula.stage import Close, Curtain, Remark, Say, Stage, StageOptions, neutralise, one_line

Update = Callable[[Mapping[str, Any]], None]


class EditorView:
    """What the model says, and what the program remarks, which editors show apart. Tools only for those who ask."""

    def __init__(self, options: StageOptions, update: Update) -> None:
        self._stage = Stage(options)
        self._backstage = options.backstage
        self._update = update
        self._spoken = False
        self._progress = Progress(update)
        self.last_remark = ""

    def read(self, stamped: Stamped) -> None:
        if isinstance(stamped.event, Message | Final | Error):
            self._progress.end()
        for cue in self._stage.read(stamped):
            if isinstance(cue, Curtain) and isinstance(stamped.event, Activity):
                self._progress.show(cue)
            elif isinstance(cue, Say):
                self._update(message("agent_message_chunk", ("\n\n" if self._spoken else "") + cue.text))
                self._spoken = True
            elif isinstance(cue, Remark):
                self.last_remark = cue.text
                self._update(message("agent_thought_chunk", cue.text + "\n"))
            elif isinstance(cue, Close):
                if cue.failed:
                    self._update(message("agent_message_chunk", "\n\n" + "\n".join(cue.failed)))
                if cue.line:
                    self._update(message("agent_thought_chunk", cue.line + "\n"))
        if self._backstage:
            self._show_tools(stamped.event)

    def _show_tools(self, event: object) -> None:
        if isinstance(event, Step):
            self._update(
                {
                    "sessionUpdate": "tool_call",
                    "toolCallId": event.tool_use_id,
                    "title": one_line(event.name),
                    "status": "in_progress",
                    "rawInput": event.args,
                }
            )
        elif isinstance(event, ToolResult):
            self._show_result(event)

    def _show_result(self, event: ToolResult) -> None:
        said = neutralise(event.result.as_text())
        self._update(
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": event.result.tool_use_id,
                "status": "completed" if event.result.status is ToolResultStatus.Success else "failed",
                "content": [{"type": "content", "content": {"type": "text", "text": said}}],
            }
        )


def message(kind: str, text: str) -> dict[str, Any]:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
