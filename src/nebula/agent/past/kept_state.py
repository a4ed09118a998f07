"""What a session keeps beside its messages: the accepted plan, the mode, and how far the past was compacted."""

from __future__ import annotations

import json
import os
from typing import Any

from nebula.agent.conversation import Conversation
from nebula.agent.past.summaries import Summaries
from nebula.events import Usage
from nebula.files.folder import Folder
from nebula.files.reading import UnreadableFile
from nebula.files.untrusted_json import read_json
from nebula.messages.redaction import Redactor
from nebula.value import value

MAX_BYTES = 1 << 20


@value
class SessionState:
    plan: str = ""
    compacted: str = ""
    """The newest node that is sent as a summary even where it would fit."""
    digest: str = ""
    """What the user wanted to keep of the past, as one text."""
    summaries: int = 0
    """How many summaries were made, and their cost: they belong to no turn."""
    summary_input: int = 0
    summary_output: int = 0
    mode: str = ""

    @classmethod
    def of(cls, plan: str, here: Conversation, summaries: Summaries, mode: str = "") -> SessionState:
        """Return the state of a session that is to be kept."""
        compacted = next((each.node_id for each in reversed(here.turns[: here.compact_until]) if each.node_id), None)
        tokens = summaries.usage.input_tokens, summaries.usage.output_tokens
        return cls(plan, compacted or "", here.digest, summaries.count, *tokens, mode)

    def compact_again(self, here: Conversation) -> None:
        """Send the same turns as summaries as when this state was kept."""
        places = (place for place, turn in enumerate(here.turns, start=1) if turn.node_id == self.compacted)
        here.compact_until = next(places, 0) if self.compacted else 0
        here.digest = self.digest if here.compact_until else ""

    @property
    def usage(self) -> Usage:
        return Usage(self.summary_input, self.summary_output)


class KeptState:
    """One small file a session, beside the list of its nodes. It can be deleted, and holds none of the secrets that
    `redactor` knows."""

    def __init__(self, folder: str, session_id: str, redactor: Redactor) -> None:
        self._folder = folder
        self._redactor = redactor
        self._name = f"{session_id}.json"

    def read(self) -> SessionState:
        try:
            found: Any = read_json(self._folder, self._name, MAX_BYTES)
            empty = SessionState()
            defaults = {name: getattr(empty, name) for name in SessionState.__match_args__}
            return SessionState(**{name: type(value)(found.get(name, value)) for name, value in defaults.items()})
        except (UnreadableFile, OSError, ValueError, TypeError, AttributeError):
            return SessionState()

    def write(self, state: SessionState) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        state = self._redactor.value(state)
        fields = {name: getattr(state, name) for name in SessionState.__match_args__}
        with Folder.at(self._folder) as here:
            here.replace(self._name, json.dumps(fields, ensure_ascii=False).encode(), perm=0o600)
