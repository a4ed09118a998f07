"""Every event of a turn, with the keys that it has as JSON."""

from __future__ import annotations

from typing import Any, get_args

from docstrings import field_docs, first_sentence, listed_items
from samples import sample
from words import page, say, table

import nebula.events
from nebula.events import Approval, Event, ProposedChange, QuestionKind
from nebula.events.facts import Facts

NOT_RECORDED = ("activity", "delta")
_HEAD = "Every line has `type`, `trace_id`, `session_id`, `seq` (its place in the turn) and `ts`, and the keys below."
_KEYS = {
    "message": "The sentence, in English.",
    "role": "Always `assistant`.",
    "tool_calls": "The calls of tools: `id`, `name`, `args` of each.",
    "status": "How it ended.",
    "path": "The file that the question is about.",
    "diff": "The difference of that file.",
    **dict.fromkeys(("command", "network", "call", "read", "fetch", "folders"), "What `kind` names, as above."),
}
"""What keys hold that are no fields of the class, and so have no string under them."""
_KINDS = {str: "string", bool: "true or false", int: "number", float: "number", list: "list", dict: "object"}


def list_events() -> str:
    exported = [getattr(nebula.events, name) for name in nebula.events.__all__]
    classes = [each for each in exported if isinstance(each, type) and issubclass(each, Facts | ProposedChange)]
    events = [each for each in classes if issubclass(each, Event) and each.type]
    values = [each for each in classes if not issubclass(each, Event)]
    return page(
        "Events",
        "A turn is one stream of events: `task` first, `final` last. `-p --output-format stream-json`,"
        " `.nebula/trace.jsonl` and the WebSocket carry the same.",
        say(_HEAD),
        *(part for each in events for part in _describe(each, f"`{each.type}`")),
        f"## {say('Values inside events')}",
        *(part for each in values for part in _describe(each, f"`{each.__name__}`", "###")),
    )


def _describe(cls: type, name: str, level: str = "##") -> list[str]:
    docs = field_docs(cls)
    rows = [
        (f"`{key}`", say(_KINDS[type(found)]), say(docs[key] if key in docs else _KEYS.get(key, "")))
        for key, found in _as_json(cls).items()
        if key != "type"
    ]
    about = say(first_sentence(cls))
    if getattr(cls, "type", "") in NOT_RECORDED:
        about += " " + say("It is in no record.")
    items = "\n".join(say(each) for each in listed_items(cls))
    return [f"{level} {name}", about, items, table(("key", "type", "what it is"), rows)]


def _as_json(cls: type) -> dict[str, Any]:
    """Return an event of this class as JSON, with every key that it can have."""
    if cls is not Approval:
        found: dict[str, Any] = sample(cls).to_json()
        return found
    every: dict[str, Any] = {}
    for kind in get_args(QuestionKind):
        every |= sample(cls, kind=kind).to_json()
    return every
