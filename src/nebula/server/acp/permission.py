"""A question of ours as the editor asks it, and its answer.

Editors show text as Markdown. All that a model, a file or a command could have written stands inside fences that it
cannot close.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from nebula.events import Approval, ProposedChange
from nebula.language import translate
from nebula.stage import fit_to_decide, one_line
from nebula.tools.approval import Decision


def shown(asked: Approval, root: str, lang: str) -> dict[str, Any]:
    """Return the tool call that is asked about, with all that is known of what it would do."""
    question = fit_to_decide(asked, lang)
    remarks = [_fenced(str(each)) for each in question.remarks]
    if question.kind == "write":
        return _write(asked, remarks, root)
    if question.kind == "network":
        warning = translate(
            "It would share this machine's network, servers on loopback included; what it can read, it can send."
        )
        content = [_fenced(question.text), _text(warning), *remarks]
        return {"title": translate("A command asks for the network:"), "kind": "fetch", "content": content}
    if question.kind == "fetch":
        title = translate("Fetch a page of the web:")
        return {"title": title, "kind": "fetch", "content": [_fenced(question.text), *remarks]}
    if question.kind == "read":
        title = translate("Read a secret file: {path}", path=question.path)
        places = [{"path": os.path.join(root, asked.path)}]
        return {"title": title, "kind": "read", "content": remarks, "locations": places}
    if question.kind == "call":
        title = translate("Call {tool} with:", tool=question.tool)
        return {"title": title, "kind": "other", "content": [_fenced(question.text), *remarks]}
    changes = [_fenced(f"{_headed(each)}\n{each.diff}", "diff") for each in question.changes]
    places = [{"path": os.path.join(root, each.path)} for each in asked.changes]
    content = [_fenced(question.text), *remarks, *changes]
    return {"title": translate("What a command changed"), "kind": "edit", "content": content, "locations": places}


def _write(asked: Approval, remarks: list[dict[str, Any]], root: str) -> dict[str, Any]:
    (change,) = asked.changes
    path, name = os.path.join(root, change.path), one_line(change.path)
    title = translate("Edit an existing file: {path}", path=name)
    if change.kind == "created":
        title = translate("Create a new file: {path}", path=name)
    both = {"type": "diff", "path": path, "oldText": change.old, "newText": change.new}
    return {"title": title, "kind": "edit", "content": [both, *remarks], "locations": [{"path": path}]}


def _headed(change: ProposedChange) -> str:
    path = f"{change.renamed_from} → {change.path}" if change.renamed_from else change.path
    counts = f" (+{change.added} −{change.removed})" if change.added or change.removed else ""
    return f"{change.kind}  {path}{counts}"


def _fenced(text: str, language: str = "") -> dict[str, Any]:
    """Return `text` in a fence longer than any row of backticks in it."""
    fence = "`" * max([3, *(len(row) + 1 for row in re.findall("`+", text))])
    return _text(f"{fence}{language}\n{text.rstrip()}\n{fence}")


def _text(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


def options(question: Approval) -> list[dict[str, str]]:
    """Return the answers to choose from; their ids are what `Decision.read` reads."""
    always = [{"optionId": "all", "name": translate("Yes, for this session"), "kind": "allow_always"}]
    return [
        {"optionId": "yes", "name": translate("Yes"), "kind": "allow_once"},
        *([] if question.once else always),
        {"optionId": "no", "name": translate("No"), "kind": "reject_once"},
    ]


def decision(answer: Any) -> Decision:
    """Return what the editor answered; what cannot be understood, or was closed without an answer, is a no."""
    outcome = answer.get("outcome") if isinstance(answer, Mapping) else None
    if not isinstance(outcome, Mapping) or outcome.get("outcome") != "selected":
        return Decision(False)
    return Decision.read(str(outcome.get("optionId", "no")))
