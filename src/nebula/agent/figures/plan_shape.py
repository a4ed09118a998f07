"""What two plans must share to count as the same: the graph of their steps, not the words around it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from nebula.agent.plan.plan import BadPlan, read_plan, step_graph


def plan_shape(found: Any) -> str:
    """A short name that plans with the same graph of steps have in common."""
    try:
        return digest(step_graph(read_plan(found)))
    except BadPlan:  # one of another program, or of another time
        return digest(json.dumps(found, sort_keys=True, default=str))


def digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
