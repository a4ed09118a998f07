"""The words of a question, the same in every way to ask it."""

from __future__ import annotations

import re

from nebula.events import Approval, ProposedChange
from nebula.language import Sentence, explain, translate

NETWORK_WARNING = Sentence(
    "It would share this machine's network, servers on loopback included; what it can read, it can send."
)


def head_question(question: Approval) -> Sentence:
    """Return the first line of a question about anything but changes."""
    heads = {
        "network": Sentence("A command asks for the network:"),
        "fetch": Sentence("Fetch a page of the web:"),
        "folders": Sentence("A virtual environment has its interpreter where commands do not see it:"),
        "secrets": Sentence("A command that failed needs files that it cannot read:"),
        "read": Sentence("Read a secret file: {path}", path=question.path),
        "call": Sentence("Call {tool} with:", tool=question.tool),
    }
    return heads[question.kind]


_KINDS = {
    "created": Sentence("created"),
    "changed": Sentence("changed"),
    "deleted": Sentence("deleted"),
    "mode": Sentence("mode"),
    "link": Sentence("link"),
}


def name_change(change: ProposedChange) -> str:
    """Return what is done to which path, and how many lines of it."""
    kind = explain(_KINDS[change.kind]) if change.kind in _KINDS else change.kind
    path = change.path
    if change.renamed_from:
        path = translate("{path} (was {old})", path=path, old=change.renamed_from)
    counts = f" (+{change.added} −{change.removed})" if change.added or change.removed else ""
    return f"{kind}  {path}{counts}"


def head_write(change: ProposedChange, path: str) -> str:
    """Return the first line of a question about one write; `path` is how its path is shown."""
    if change.kind == "created":
        return translate("Create a new file: {path}", path=path)
    return translate("Edit an existing file: {path}", path=path)


def split_hunks(diff: str) -> list[str]:
    """Return the hunks of a diff, each with its head; no line of a text begins with one."""
    _, *hunks = re.split("^(?=@@ )", diff, flags=re.MULTILINE)
    return [hunk.removesuffix("\n") for hunk in hunks]
