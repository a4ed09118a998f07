"""A question to the user, and what a yes would change."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final, Literal

from nebula.events.facts import Event, without_none
from nebula.files.protected_names import names_secret
from nebula.language import Sentence
from nebula.value import replace, value


@value
class ProposedChange:
    """A change of one path of the project that somebody is asked about."""

    path: str
    kind: str
    """"created", "changed", "deleted", "mode" or "link"."""
    added: int = 0
    removed: int = 0
    diff: str = ""
    """The difference of that file."""
    renamed_from: str = ""
    old: str | None = None
    """The whole text before it, where it is known, for a face that shows texts in its own way. Never on the wire."""
    new: str | None = None
    before: str = ""
    """Hash of the content that it replaces, where it is bound to one. Never on the wire."""
    beyond_text: bool = False
    """More than the text of a file changes: its mode, what stands there at all, or whether there is any text. Never on
    the wire."""

    @property
    def is_write(self) -> bool:
        """Return whether a tool that writes could have done it: it gives a file some text, and nothing else."""
        return self.kind in ("created", "changed") and not self.beyond_text

    def recorded(self) -> ProposedChange:
        """Return it without the two texts: no record holds them, so none need be searched for secrets. Those of a
        secret file stay, for the redactor to learn what is in them."""
        if names_secret(self.path) or names_secret(self.renamed_from):
            return self
        return replace(self, old=None, new=None)

    def to_json(self) -> dict[str, Any]:
        body = {name: getattr(self, name) for name in ("path", "kind", "added", "removed", "diff")}
        return body | ({"renamed_from": self.renamed_from} if self.renamed_from else {})


TAKE: Final = "take"
"""The `tool` of a question about what a try or a delegate did; its text names their nodes."""

QuestionKind = Literal["write", "command", "network", "call", "read", "fetch", "folders", "secrets"]


@value
class Approval(Event):
    """A question to the user. `kind` says what a yes allows:

    - `write`: the one change in `changes`
    - `command`: all of `changes`, which the command in `text` made
    - `network`: running the command in `text` with the network
    - `call`: calling the MCP server's tool `tool` with the arguments in `text`
    - `fetch`: fetching the page at the address in `text`
    - `folders`: commands reading the folders in `text`, one a line, from now on
    - `secrets`: commands of this session reading the secret files in `text`, one a line
    - `read`: reading the secret file that `text` names

    `decision` is None while somebody is asked, else what a rule decided.
    """

    type: ClassVar[str] = "approval"
    approval_id: str
    kind: QuestionKind
    tool: str
    changes: tuple[ProposedChange, ...] = ()
    text: str = ""
    remarks: tuple[Sentence, ...] = ()
    """What else there is to know before the answer, one sentence each."""
    together: tuple[ProposedChange, ...] = ()
    """Of a write: all writes of the same message, this one among them."""
    once: bool = False
    """A yes holds for this question alone, whatever else is answered."""
    ignored: bool = False
    """Of a command: it is about files that git ignores alone, and a yes for the session reaches no further."""
    tool_use_id: str | None = None
    decision: str | None = None

    @property
    def path(self) -> str:
        return self.changes[0].path if self.changes else self.text if self.kind == "read" else ""

    @property
    def diff(self) -> str:
        return self.changes[0].diff if self.changes else ""

    @property
    def hunks(self) -> int:
        """The number of hunks that can be chosen from; only a write is taken in parts."""
        return len(re.findall("^@@ ", self.diff, re.MULTILINE)) if self.kind == "write" else 0

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {name: getattr(self, name) for name in ("type", "approval_id", "kind", "path", "tool")}
        body |= {"diff": self.diff, "tool_use_id": self.tool_use_id, "decision": self.decision}
        if self.kind == "command":
            body["changes"] = [each.to_json() for each in self.changes]
        if self.kind != "write":
            body[self.kind] = self.text
        if self.remarks:
            body["remarks"] = [str(each) for each in self.remarks]
        marks = {name: True for name in ("once", "ignored") if getattr(self, name)}
        return without_none(body | marks)
