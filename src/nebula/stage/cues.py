"""Cues: what a face of the program is told to show. All text in them is already fit to be shown."""

from __future__ import annotations

from typing import Any, Literal

from nebula.events import Approval, Final, TodoItem
from nebula.value import value

Act = Literal[1, 2]


@value
class Say:
    """The model's own words, whole; act 1 before tools run, act 2 at the end."""

    text: str
    act: Act

    def to_json(self) -> dict[str, Any]:
        return {"cue": "say", "act": self.act, "show": self.text}


@value
class Curtain:
    """Work goes on: show activity and elapsed time until any other cue but `Backstage` and `DraftText` comes."""

    path: str = ""
    """The file at work, where the setting `curtain` is `paths`."""
    doing: str = ""
    """In plain words, where it takes long and there is something to say: a command runs."""
    amount: str = ""
    """How much of it there is by now, such as words of an answer; the clock runs on while only this changes."""

    def to_json(self) -> dict[str, Any]:
        said = {"doing": self.doing, "amount": self.amount}
        return {"cue": "curtain", "path": self.path} | {name: words for name, words in said.items() if words}


@value
class DraftText:
    """More of what is being written, for those who asked, in a place of its own; `anew`: what came before is void."""

    text: str
    anew: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"cue": "draft", "text": self.text} | ({"anew": True} if self.anew else {})


@value
class Remark:
    """A plain sentence by the program, not the model."""

    text: str

    def to_json(self) -> dict[str, Any]:
        return {"cue": "remark", "text": self.text}


@value
class Ask:
    """Somebody must say yes or no. Path and diff are fit to be shown, with nothing in them that cannot be seen."""

    approval: Approval

    def to_json(self) -> dict[str, Any]:
        return {"cue": "ask"} | self.approval.to_json()


@value
class Close:
    """The turn is over; `line` is what the program says of it."""

    final: Final
    line: str
    failed: tuple[str, ...] = ()
    """A line for each command and check that failed; they stand before it."""

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"cue": "close", "status": self.final.status, "line": self.line}
        return body | ({"failed": list(self.failed)} if self.failed else {})


@value
class Backstage:
    """What the curtain hides, for those who asked, in a place of its own."""

    title: str
    text: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"cue": "backstage", "title": self.title, "text": self.text}


@value
class Heard:
    """What the user said while the turn ran has reached the model."""

    text: str

    def to_json(self) -> dict[str, Any]:
        return {"cue": "heard", "text": self.text}


@value
class Checklist:
    """Steps of the model's list that are to be shown: all of them where the list is new, else those that changed."""

    items: tuple[TodoItem, ...]

    def to_json(self) -> dict[str, Any]:
        return {"cue": "checklist", "items": [each.to_json() for each in self.items]}


Cue = Checklist | Say | Curtain | Remark | Ask | Close | Backstage | DraftText | Heard
