"""What is only shown, to those who watch, and never recorded: what goes on between two events."""

from __future__ import annotations

from typing import Any, ClassVar

from nebula.events.facts import Event, without_none
from nebula.language import Sentence
from nebula.value import value


@value
class Activity(Event):
    """What goes on at this moment."""

    type: ClassVar[str] = "activity"
    sentence: Sentence
    words: int | None = None
    """How many there are of what is being written, where that is text,"""
    characters: int | None = None
    """else how many of these."""
    seconds: int | None = None
    """For how long it has gone on by now, where it is said again."""

    def to_json(self) -> dict[str, Any]:
        amount = {"words": self.words, "characters": self.characters, "seconds": self.seconds}
        return without_none({"type": self.type, "message": str(self.sentence)} | amount)


@value
class Delta(Event):
    """More text of the message that is being written.

    The deltas before a `Message`, joined, are its text. A `Retry`, and a delta that is `anew`, make void those before.
    """

    type: ClassVar[str] = "delta"
    text: str
    anew: bool | None = None
