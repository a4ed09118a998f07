"""Long pastes are shown as `[pasted 40 lines]` while the prompt is written, and are whole again when it is sent."""

from __future__ import annotations

from nebula.cli.words import Words

FOLD_LINES = 6
FOLD_CHARACTERS = 1_000


class Pastes:
    """The pastes of the prompt being written. A mark that was edited is ordinary text and stays as it is."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._folded: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """What to insert for a paste: the text itself, or a mark that stands for it."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines < FOLD_LINES and len(text) < FOLD_CHARACTERS:
            return text
        mark = self._words("pasted", lines=lines)
        number = 1
        while mark in self._folded and self._folded[mark] != text:
            number += 1
            mark = self._words("pasted_again", lines=lines, number=number)
        self._folded[mark] = text
        return mark

    def expand(self, prompt: str) -> str:
        """Each mark replaced by its text, in one pass: what was pasted is never searched for marks itself."""
        if not self._folded:
            return prompt
        import re

        longest_first = sorted(self._folded, key=len, reverse=True)
        marks = re.compile("|".join(map(re.escape, longest_first)))
        return marks.sub(lambda found: self._folded[found[0]], prompt)

    def clear(self) -> None:
        self._folded.clear()
