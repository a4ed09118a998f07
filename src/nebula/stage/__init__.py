"""What the audience sees of a turn: the one room that decides it.

A turn is a play. A message with tool calls is act one: its text is shown, alone. Then the curtain is down while tools
run: the audience sees that work goes on, not what is done. A message without tool calls is act two and ends the play.
The one fact that decides is whether a finished message carries tool calls; no text is ever looked into.

`perform` is a pure function from the scene so far and the next event to the next scene and its cues. Terminal,
headless output and web page carry out the cues and decide nothing. All text in cues is already `neutralise`d.
"""

from __future__ import annotations

from nebula.stage.closing import closing_line
from nebula.stage.cues import Ask, Backstage, Checklist, Close, Cue, Curtain, DraftText, Heard, Remark, Say
from nebula.stage.play import Scene, Stage, StageOptions, perform, staged_json
from nebula.stage.visible import fit_to_decide, join_lines, neutralise, one_line

__all__ = [
    "Ask",
    "Backstage",
    "Checklist",
    "Close",
    "Cue",
    "Curtain",
    "DraftText",
    "Heard",
    "Remark",
    "Say",
    "Scene",
    "Stage",
    "StageOptions",
    "closing_line",
    "fit_to_decide",
    "join_lines",
    "neutralise",
    "one_line",
    "perform",
    "staged_json",
]
