"""Long pastes are shown as `[pasted 40 lines]` while the prompt is written, and are whole again when it is sent."""

from __future__ import annotations

import re

from nebula.language import translate

FOLD_LINES = 6
FOLD_CHARACTERS = 1_000


class Pastes:
    """The pastes of this session. A mark that was edited is ordinary text and stays as it is."""

    def __init__(self) -> None:
        self._folded: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """What to insert for a paste: the text itself, or a mark that stands for it."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines < FOLD_LINES and len(text) < FOLD_CHARACTERS:
            return text
        mark = translate("[pasted {lines} lines]", lines=lines)
        number = 1
        while self._folded.get(mark, text) != text:
            number += 1
            mark = translate("[pasted {lines} lines #{number}]", lines=lines, number=number)
        self._folded[mark] = text
        return mark

    def fold_prompt(self, prompt: str) -> str:
        """A prompt of an earlier session: its first line, and the rest folded where that is long."""
        first, line_break, rest = prompt.partition("\n")
        return first + line_break + self.fold(rest) if rest else prompt

    def expand(self, prompt: str) -> str:
        """Each mark replaced by its text, in one pass: what was pasted is never searched for marks itself."""
        if not self._folded:
            return prompt
        longest_first = sorted(self._folded, key=len, reverse=True)
        marks = re.compile("|".join(map(re.escape, longest_first)))
        return marks.sub(lambda found: self._folded[found[0]], prompt)
