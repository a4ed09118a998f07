"""What happens in a turn, as typed values.

A turn is one ordered stream of these. Terminal, headless output, WebSocket, trace file, session memory, log and
KPIs all read the same stream; none of them keeps a story of its own. `Task` comes first and `Final` last, always,
also after an error, a refusal or an interruption.

An event says what happened. `Stamped` adds where it stands: trace, session, place in the order, time.
"""

from __future__ import annotations

from nebula.events.approval import Approval, ProposedChange, QuestionKind
from nebula.events.facts import CheckRun, Citations, CommandRun, Event, Evidence, StepOutcome, StepState, Usage
from nebula.events.plan import Checked, Plan, PlanReply, Repair, StepProgress
from nebula.events.stream import EventStream, Reader, RecordingFailed, Stamped, TurnNotKept, new_trace_id, now
from nebula.events.turn import (
    Diff,
    Error,
    Final,
    Message,
    Notice,
    Output,
    Retry,
    Status,
    Steering,
    Step,
    Task,
    TodoItem,
    TodoList,
    ToolResult,
)
from nebula.events.watched import Activity, Delta

__all__ = [
    "Activity",
    "Approval",
    "CheckRun",
    "Checked",
    "Citations",
    "CommandRun",
    "Delta",
    "Diff",
    "Error",
    "Event",
    "EventStream",
    "Evidence",
    "Final",
    "Message",
    "Notice",
    "Output",
    "Plan",
    "PlanReply",
    "ProposedChange",
    "QuestionKind",
    "Reader",
    "RecordingFailed",
    "Repair",
    "Retry",
    "Stamped",
    "Status",
    "Steering",
    "Step",
    "StepOutcome",
    "StepProgress",
    "StepState",
    "Task",
    "TodoItem",
    "TodoList",
    "ToolResult",
    "TurnNotKept",
    "Usage",
    "new_trace_id",
    "now",
]
