"""What a node keeps of calls on secret files: that they happened, and nothing that was read or written.

The graph is meant to be shared through git; the files' contents stay in the journal, which is not.
"""

from __future__ import annotations

from typing import Any, Final

from nebula.workspace.errors import WorkspaceError
from nebula.workspace.guard.paths import normal_path

WITHHELD: Final = "[withheld: a secret file]"
_PLAIN: Final = frozenset({"path", "mode", "start_line", "end_line"})


def withhold_secrets(told: dict[str, Any]) -> dict[str, Any]:
    """Return a round of tool calls (`message` and `results` as JSON) without what secret files hold."""
    kind, message = next(iter(told["message"].items()))
    uses = message.get("tool_uses", ())
    secret = {use["id"] for use in uses if _is_secret(use["args"])}
    if not secret:
        return told
    kept = [use | {"args": _hide(use["args"]), "orig_args": _hide(use.get("orig_args"))} for use in uses]
    uses = [hidden if use["id"] in secret else use for use, hidden in zip(uses, kept, strict=True)]
    results = [
        each | {"content": [{"Text": WITHHELD}]} if each["tool_use_id"] in secret else each for each in told["results"]
    ]
    return told | {"message": {kind: message | {"tool_uses": uses}}, "results": results}


def _is_secret(args: Any) -> bool:
    path = args.get("path") if isinstance(args, dict) else None
    try:
        return isinstance(path, str) and normal_path(path).standing.secret
    except WorkspaceError:
        return False


def _hide(args: Any) -> Any:
    return {name: each if name in _PLAIN else WITHHELD for name, each in args.items()} if isinstance(args, dict) else {}
