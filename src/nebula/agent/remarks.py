"""Sentences that the user should read, each once: with the next turn, unless a front door asks for them earlier."""

from __future__ import annotations

from nebula.language import Sentence
from nebula.value import field, record


@record
class Remarks:
    _pending: list[Sentence] = field(default_factory=list)
    _made: set[str] = field(default_factory=set)

    def add(self, sentence: Sentence) -> None:
        if str(sentence) not in self._made:
            self._made.add(str(sentence))
            self._pending.append(sentence)

    def take(self) -> list[Sentence]:
        """Return the sentences that have come in since the last call; the caller shows them."""
        pending, self._pending = self._pending, []
        return pending
