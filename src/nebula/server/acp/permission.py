"""A question of ours as the editor asks it, and its answer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from nebula.language import translate
from nebula.stage import neutralise, one_line
from nebula.tools.approval import AnyQuestion, CallQuestion, Decision, NetworkQuestion, Question


def shown(question: AnyQuestion, root: str) -> dict[str, Any]:
    """The tool call that is asked about, with all that is known of what it would do."""
    if isinstance(question, Question):
        return _write(question, root)
    if isinstance(question, NetworkQuestion):
        title = translate("A command asks for the network:")
        return {"title": title, "kind": "fetch", "content": [_text(question.command)]}
    if isinstance(question, CallQuestion):
        title = translate("Call {tool} with:", tool=one_line(question.tool))
        return {"title": title, "kind": "other", "content": [_text(question.arguments)]}
    title = translate("What a command changed")
    changed = [_text(f"```diff\n{each.diff or each.path}\n```") for each in question.changes]
    places = [{"path": os.path.join(root, each.path)} for each in question.changes]
    return {"title": title, "kind": "edit", "content": changed, "locations": places}


def _write(question: Question, root: str) -> dict[str, Any]:
    proposal = question.proposal
    path = os.path.join(root, proposal.path)
    title = translate("Edit an existing file: {path}", path=one_line(proposal.path))
    if proposal.mode == "create":
        title = translate("Create a new file: {path}", path=one_line(proposal.path))
    change = {"type": "diff", "path": path, "oldText": proposal.old, "newText": proposal.new}
    return {"title": title, "kind": "edit", "content": [change], "locations": [{"path": path}]}


def _text(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": neutralise(text)}}


def options() -> list[dict[str, str]]:
    """Their ids are the words of `Decision.read`."""
    return [
        {"optionId": "yes", "name": translate("Yes"), "kind": "allow_once"},
        {"optionId": "all", "name": translate("Yes, for this session"), "kind": "allow_always"},
        {"optionId": "no", "name": translate("No"), "kind": "reject_once"},
    ]


def decision(answer: Any) -> Decision:
    """What cannot be understood, or was closed without an answer, is a no."""
    outcome = answer.get("outcome") if isinstance(answer, Mapping) else None
    if not isinstance(outcome, Mapping) or outcome.get("outcome") != "selected":
        return Decision(False)
    return Decision.read(str(outcome.get("optionId", "no")))
