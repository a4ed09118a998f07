"""A text that arrives in pieces, released as soon as no secret can begin in it that ends in what is still to come."""

from __future__ import annotations

import re

from nebula.messages.redaction import Redactor

_OPEN = ("-----BEGIN ", "secret_access_key", "SECRET_ACCESS_KEY", "SecretAccessKey")
"""What follows these may be a secret with blanks in it: it waits for the whole text."""
_LETTERS = "".join(map(chr, range(ord("!"), ord("~") + 1)))
_BETWEEN_WORDS = re.compile(r"[^!-~]")


class ArrivingText:
    """Releases a text piece by piece; joined, the pieces are what `redactor` makes of the whole text."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._is_word = False
        """What is held is the beginning of one word: letters alone make nothing ready, however long it becomes."""

    def add(self, piece: str) -> str:
        """Take in `piece`; return what may be shown by now."""
        self._held += piece
        if self._is_word and not _BETWEEN_WORDS.search(piece):
            return ""
        cut = self._safe_length()
        ready, self._held = self._held[:cut], self._held[cut:]
        self._is_word = self._held != "" and not _BETWEEN_WORDS.search(self._held)
        return self._redactor.text(ready) if ready else ""

    def end(self) -> str:
        """Return the rest; nothing more comes."""
        rest, self._held, self._is_word = self._held, "", False
        return self._redactor.text(rest)

    def _safe_length(self) -> int:
        """Return where the text may be cut: outside of any word, key or known secret."""
        text = self._held
        cut = min([len(text), *(at for mark in _OPEN if (at := text.find(mark)) >= 0)])
        while True:
            before = self._redactor.secret_start(text, len(text[:cut].rstrip(_LETTERS)))
            if before == cut:
                return cut
            cut = before
