"""A task as a list: one entry for each event, with the time since the task began. Events without news are left out."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from nebula.agent.figures.task_record import MOST_COUNTED
from nebula.language import translate
from nebula.value import value
from nebula.workspace.records import moment

Event = Mapping[str, Any]


@value
class StoryEntry:
    seconds: float | None
    """Since the task began; None where the time cannot be read."""
    what: str
    text: str
    task_id: str = ""
    """The step of the plan to which it belongs."""


def tell(events: Iterable[Event], audit: Sequence[Event] = ()) -> list[StoryEntry]:
    """Return the story of one task; `audit` lines are sorted in by their time."""
    ordered = [*events]
    noticed = {str(event.get("message")) for event in ordered if event.get("type") == "notice"}
    begun = _moment(ordered[0]) if ordered else None
    if audit:
        ordered = sorted([*ordered, *audit], key=lambda event: _moment(event) or datetime.min.replace(tzinfo=UTC))
    entries = []
    for event in ordered:
        if event.get("type") == "final":
            event = {**event, "remark": _remove_noticed(str(event.get("remark") or ""), noticed)}
        if (said := _describe(event)) is not None:
            now = _moment(event)
            seconds = (now - begun).total_seconds() if now and begun else None
            entries.append(StoryEntry(seconds, *said, task_id=str(event.get("task_id") or "")))
    return entries


def _remove_noticed(remark: str, noticed: Collection[str]) -> str:
    """Return the part of a remark that was not shown before."""
    return " ".join(line for line in remark.split("\n") if line not in noticed)


def _moment(event: Event) -> datetime | None:
    try:
        return moment(str(event.get("ts")))
    except ValueError:
        return None


Said = tuple[str, str]


def _describe(event: Event) -> Said | None:
    """Return the kind of an event and its text; None for one without news."""
    match event.get("type", "audit"):
        case "task":
            return translate("prompt"), str(event.get("prompt", ""))
        case "plan_reply":
            return translate("planner"), _put_facts_first(str(event.get("text") or ""), _reply_facts(event, "stop"))
        case "plan":
            return translate("plan"), _list_steps(event.get("plan"))
        case "progress":
            return translate("step"), _progress(event)
        case "message":
            facts = [f"{key} {event[key]}" for key in ("rung", "stop") if event.get(key)]
            return translate("model"), _put_facts_first(str(event.get("text") or ""), [*_reply_facts(event), *facts])
        case "step":
            return translate("call"), f"{event.get('name')} {_compact(event.get('args'))}"
        case "approval":
            about = str(event.get("network") or event.get("fetch") or event.get("path") or "")
            decision = f": {event['decision']}" if event.get("decision") else ""
            return translate("asked"), f"{event.get('tool')} {about}{decision}"
        case "tool_result":
            return str(event.get("tool", "")), _result(event)
        case "diff":
            return translate("changed"), f"{event.get('path')} (+{event.get('added')} −{event.get('removed')})"
        case "check":
            return translate("check"), _check(event.get("check"))
        case "repair":
            failing = event.get("failing")
            names = ", ".join(map(str, failing)) if isinstance(failing, list) else ""
            return translate("repair"), f"{event.get('round')}/{event.get('rounds')}: {names}"
        case "retry":
            return translate("again"), _put_facts_first(str(event.get("reason", "")), [f"#{event.get('attempt')}"])
        case "notice":
            return translate("notice"), str(event.get("message", ""))
        case "error":
            said = str(event.get("message", "")), str(event.get("detail") or "")
            return translate("error"), "\n".join(filter(None, said))
        case "final":
            code = translate("exit code {code}", code=event.get("exit_code"))
            facts = [code, *_reply_facts(event, "remark")]
            return translate("end"), _put_facts_first(str(event.get("status", "")), facts)
        case "audit":
            return translate("guard"), f"{event.get('method')} {event.get('path')}: {event.get('status')}"
    return None


def _reply_facts(event: Event, *keys: str) -> list[str]:
    """Return the tokens and the time of an event, and its values under `keys`."""
    told = (str(event.get(key) or "") for key in keys)
    return [_tokens(event.get("usage")), _seconds(event.get("duration_s")), *told]


def _list_steps(plan: Any) -> str:
    tasks = plan.get("tasks") if isinstance(plan, dict) else None
    steps = [each for each in tasks if isinstance(each, dict)] if isinstance(tasks, list) else []
    lines = [f"{each.get('id')}: {each.get('title') or each.get('goal') or each.get('tool') or ''}" for each in steps]
    return "\n".join(lines)


def _progress(event: Event) -> str:
    facts = [_seconds(event.get("duration_s")), str(event.get("remark") or "")]
    states = {
        "started": translate("started"),
        "done": translate("done"),
        "failed": translate("failed"),
        "skipped": translate("skipped"),
    }
    state = str(event.get("state"))
    return _put_facts_first(f"{states.get(state, state)}: {event.get('title') or ''}".rstrip(": "), facts)


def _result(event: Event) -> str:
    facts = [str(event.get("status", "")), _seconds(event.get("duration_s"))]
    if event.get("refused"):
        facts.append(translate("refused"))
    if event.get("decision"):
        facts.append(str(event["decision"]))
    return _put_facts_first(_content(event.get("result")), facts)


def _content(result: Any) -> str:
    blocks = result.get("content") if isinstance(result, dict) else None
    texts = []
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, dict):
            texts.append(str(block["Text"]) if "Text" in block else _compact(block.get("Json")))
    return "\n".join(texts)


def _check(check: Any) -> str:
    check = check if isinstance(check, dict) else {}
    verdict = translate("passed") if check.get("passed") else translate("failed")
    return _put_facts_first(f"{check.get('name')}: {verdict}", [str(check.get("summary") or "")])


def _tokens(usage: Any) -> str:
    if not isinstance(usage, dict):
        return ""
    counts = {"sent": usage.get("input_tokens", 0), "got": usage.get("output_tokens", 0)}
    return translate("{sent} → {got} tokens", **counts)


def _seconds(found: Any) -> str:
    return f"{found:.3f} s" if isinstance(found, int | float) and 0 <= found < MOST_COUNTED else ""


def _put_facts_first(text: str, facts: Sequence[str]) -> str:
    """Return the text with `facts` in front, where they are seen even if the rest is cut."""
    shown = ", ".join(filter(None, facts))
    first, rest = text.split("\n", 1) if "\n" in text else (text, "")
    head = f"[{shown}] {first}".rstrip() if shown else first
    return f"{head}\n{rest}" if rest else head


def _compact(found: Any) -> str:
    return json.dumps(found, ensure_ascii=False, separators=(", ", ": "))
