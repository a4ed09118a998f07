"""A question of ours as the editor asks it, and its answer.

Editors show text as Markdown. All that a model, a file or a command could have written stands inside fences that it
cannot close, or in a difference of two texts, which editors show as they are; where a character in it would not be
seen, the difference stands beside it in a fence, with that character written out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from nebula.events import Approval, ProposedChange
from nebula.language import explain, translate
from nebula.server.acp.tool_calls import cut_title, difference, text_content
from nebula.stage import fit_to_decide, one_line
from nebula.stage.questions import NETWORK_WARNING, head_question, head_write, name_change

MOST_TEXT = 4 * 1024 * 1024
"""Characters of whole texts in one question; differences beyond that are sent as text."""

_TOOL_KINDS = {
    "network": "fetch",
    "fetch": "fetch",
    "folders": "read",
    "secrets": "read",
    "read": "read",
    "call": "other",
}
"""The kind of a question about one call → the protocol's kind of that call."""


def show_question(asked: Approval, root: str, lang: str) -> dict[str, Any]:
    """Return the tool call of a question, with everything that is known of its effects."""
    question = fit_to_decide(asked, lang)
    remarks = [_fenced(str(each)) for each in question.remarks]
    if question.kind == "write":
        return _show_write(asked, question, remarks, root)
    if question.kind == "command":
        return _show_command(asked, question, remarks, root)
    shown: dict[str, Any] = {"title": explain(head_question(question)), "kind": _TOOL_KINDS[question.kind]}
    if question.kind == "read":
        return shown | {"content": remarks, "locations": [{"path": os.path.join(root, asked.path)}]}
    warned = [text_content(explain(NETWORK_WARNING))] if question.kind == "network" else []
    return shown | {"content": [_fenced(question.text), *warned, *remarks]}


def _show_command(asked: Approval, fit: Approval, remarks: list[dict[str, Any]], root: str) -> dict[str, Any]:
    content = [_fenced(fit.text), *remarks]
    room = MOST_TEXT
    for change, shown in zip(asked.changes, fit.changes, strict=True):
        room -= len(change.old or "") + len(change.new or "")
        content += show_change(change, shown, root, whole=room >= 0)
    places = [{"path": os.path.join(root, each.path)} for each in asked.changes]
    command = one_line(asked.text.strip().partition("\n")[0])
    title = cut_title(translate("What a command changed: {command}", command=command))
    return {"title": title, "kind": "edit", "content": content, "locations": places}


def _show_write(asked: Approval, fit: Approval, remarks: list[dict[str, Any]], root: str) -> dict[str, Any]:
    (change,), (shown,) = asked.changes, fit.changes
    path = os.path.join(root, change.path)
    title = head_write(change, shown.path)
    content = [difference(root, change.path, change.old, change.new)]
    if shown.diff != change.diff:
        content.append(_fenced(shown.diff, "diff"))
    return {"title": title, "kind": "edit", "content": [*content, *remarks], "locations": [{"path": path}]}


def show_change(change: ProposedChange, fit: ProposedChange, root: str, *, whole: bool = True) -> list[dict[str, Any]]:
    """Return one change of a set as content: both texts if they are known, and as text what they do not show."""
    is_text = whole and (change.old is not None or change.new is not None)
    if not is_text:
        return [_fenced(f"{name_change(fit)}\n{fit.diff}", "diff")]
    notes = re.split("^--- ", fit.diff, maxsplit=1, flags=re.MULTILINE)[0]
    plain = change.kind in ("created", "changed") and not (notes or fit.renamed_from) and fit.diff == change.diff
    if plain:
        return [difference(root, change.path, change.old, change.new)]
    shown = notes if fit.diff == change.diff else fit.diff
    return [_fenced(f"{name_change(fit)}\n{shown}", "diff"), difference(root, change.path, change.old, change.new)]


def _fenced(text: str, language: str = "") -> dict[str, Any]:
    return text_content(in_fence(text, language))


def in_fence(text: str, language: str = "") -> str:
    """Return `text` in a fence longer than any row of backticks in it."""
    fence = "`" * max([3, *(len(row) + 1 for row in re.findall("`+", text))])
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def options(question: Approval) -> list[dict[str, str]]:
    """Return the possible answers; `hunks` and `files` ask about each part in turn."""
    parts = []
    if question.hunks > 1:
        parts = [{"optionId": "hunks", "name": translate("Choose hunk by hunk"), "kind": "allow_once"}]
    elif question.kind == "command" and len(question.changes) > 1:
        parts = [{"optionId": "files", "name": translate("Choose file by file"), "kind": "allow_once"}]
    always = {"optionId": "all", "name": translate("Yes, for this session"), "kind": "allow_always"}
    yes, no = agreement()
    return [yes, *parts, *([] if question.once else [always]), no]


def agreement() -> list[dict[str, str]]:
    """Return yes and no."""
    return [
        {"optionId": "yes", "name": translate("Yes"), "kind": "allow_once"},
        {"optionId": "no", "name": translate("No"), "kind": "reject_once"},
    ]


def chosen_option(answer: Any, offered: Sequence[Mapping[str, str]]) -> str:
    """Return the id of the option that the editor chose; empty if it is none of those offered."""
    outcome = answer.get("outcome") if isinstance(answer, Mapping) else None
    if not isinstance(outcome, Mapping) or outcome.get("outcome") != "selected":
        return ""
    chosen = outcome.get("optionId")
    return next((each["optionId"] for each in offered if each["optionId"] == chosen), "")
