"""What two plans must share to count as the same: the graph of their steps, not the words around it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def plan_shape(plan: Any) -> str:
    """A short name that plans of the same shape have in common. Ids become places in the list; a step is its tool with
    its parameters, or the files it is about, or where it names none its goal."""
    tasks = plan.get("tasks") if isinstance(plan, Mapping) else None
    steps = [each for each in tasks if isinstance(each, Mapping)] if isinstance(tasks, list) else []
    place = {str(step.get("id")): number for number, step in enumerate(steps)}
    shape = [_step_shape(step, place) for step in steps]
    return digest(json.dumps(shape, sort_keys=True, ensure_ascii=False, default=str))


def _step_shape(step: Mapping[str, Any], place: Mapping[str, int]) -> list[Any]:
    files = sorted(str(path).removeprefix("./") for path in _listed(step, "files"))
    about: Any = [step["tool"], step.get("parameters")] if step.get("tool") else files
    if not about:
        about = " ".join(str(step.get("goal", "")).casefold().split())
    waits_for = sorted(place.get(str(each), -1) for each in _listed(step, "depends_on"))
    return [about, waits_for, step.get("on_error") or "stop"]


def _listed(step: Mapping[str, Any], key: str) -> Sequence[Any]:
    found = step.get(key)
    return found if isinstance(found, list) else ()


def agreement(shapes: Iterable[str]) -> tuple[int, int]:
    """How many of the plans for one task are like the commonest, and how many there are."""
    counts = Counter(shapes)
    return max(counts.values(), default=0), counts.total()


def digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
