"""The draft of a message as backstage shows it: line by line, each when it is whole."""

from __future__ import annotations

from nebula.stage import DraftText


class DraftLines:
    def __init__(self) -> None:
        self._unfinished = ""

    def add(self, cue: DraftText) -> list[str]:
        """Take in more of the draft; return the lines that are whole by now, as they are shown."""
        *whole, self._unfinished = (cue.text if cue.anew else self._unfinished + cue.text).split("\n")
        return [f"  ┊ {line}" for line in whole]

    def clear(self) -> None:
        """Forget the draft: the message is there, or will not come."""
        self._unfinished = ""
