"""A text that arrives in pieces, released as soon as no secret can begin in it that ends in what is still to come."""

from __future__ import annotations

import re

from nebula.messages.redaction import Redactor

_OPEN = ("-----BEGIN ", "secret_access_key", "SECRET_ACCESS_KEY", "SecretAccessKey")
"""What follows these may be a secret with blanks in it: it waits for the whole text."""
_UNFINISHED_WORD = re.compile(r"[!-~]*\Z")


class ArrivingText:
    """Releases a text piece by piece; joined, the pieces are what `redactor` makes of the whole text."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""

    def add(self, piece: str) -> str:
        """Take in `piece`; return what may be shown by now."""
        self._held += piece
        cut = self._safe_length()
        ready, self._held = self._held[:cut], self._held[cut:]
        return self._redactor.text(ready) if ready else ""

    def end(self) -> str:
        """Return the rest; nothing more comes."""
        rest, self._held = self._held, ""
        return self._redactor.text(rest)

    def _safe_length(self) -> int:
        """Return where the text may be cut: outside of any word, key or known secret."""
        text = self._held
        cut = min([len(text), *(at for mark in _OPEN if (at := text.find(mark)) >= 0)])
        while True:
            word = _UNFINISHED_WORD.search(text, 0, cut)
            before = self._redactor.secret_start(text, word.start() if word else cut)
            if before == cut:
                return cut
            cut = before
