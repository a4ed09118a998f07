"""Every action of the WebSocket with the keys of its data."""

from __future__ import annotations

from words import page, say, table

from nebula.language import explain
from nebula.server.conversation.actions.declared import _KINDS, Key
from nebula.server.conversation.actions.table import ACTIONS


def list_actions() -> str:
    rows = [
        (f"`{name}`", "<br>".join(map(_describe, action.keys)), say("yes") if action.takes_long else "")
        for name, action in sorted(ACTIONS.items())
    ]
    return page(
        "Actions of the WebSocket",
        "Every action of `nebula serve` and `vizprompt serve` with the keys of its data and their types; [what they"
        " mean and what they answer](socket.md) is another page.",
        table(("action", "data", "others need not wait"), rows),
    )


def _describe(key: Key) -> str:
    kind = explain(_KINDS[str(key.kind)][1])
    return f"`{key.name}`: {kind}" + (f" ({say('required')})" if key.required else "")
