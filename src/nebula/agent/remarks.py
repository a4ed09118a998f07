"""Sentences that the user should read, each once: with the next turn, unless a door asks for them before."""

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
        """Return what there is to report at this moment; whoever takes it shows it."""
        pending, self._pending = self._pending, []
        return pending
