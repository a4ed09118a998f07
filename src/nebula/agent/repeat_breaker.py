"""Stops a model which calls the same thing over and over.

The same call with the same arguments and the same result is answered from the third time on with a remark instead of
being run, and the turn ends at the sixth. A change to a file, or any other call that failed, makes everything worth
another look: what was the same may not be so any more.
"""

from __future__ import annotations

from typing import Any

from nebula.agent.turn_result import TurnLimit
from nebula.messages import AssistantToolUse, ToolResultStatus
from nebula.tools.contract import Outcome, ToolFailure
from nebula.tools.toolset import call_signature
from nebula.value import field, record

RUN_AT_MOST = 2
END_AT = 6


@record
class _Seen:
    content: Any
    failed: bool
    times: int = 1


@record
class RepeatBreaker:
    """The calls of one turn: asked before each, and told what came of it."""

    _seen: dict[str, _Seen] = field(default_factory=dict)

    def answer(self, use: AssistantToolUse) -> Outcome | None:
        """What the model is told in place of running the call; None: run it. Raises TurnLimit when it is enough."""
        seen = self._seen.get(call_signature(use))
        if seen is None:
            return None
        if seen.times + 1 >= END_AT:
            raise TurnLimit(
                "The model made the same call {times} times with the same result ({tool}); the turn was ended.",
                times=END_AT,
                tool=use.name,
            )
        # One that failed is run all the same: what stood in its way may be gone.
        if seen.failed or seen.times < RUN_AT_MOST:
            return None
        seen.times += 1
        return _not_again(seen.times)

    def learn(self, use: AssistantToolUse, outcome: Outcome) -> None:
        """What came of a call that was run."""
        key = call_signature(use)
        failed = outcome.status is ToolResultStatus.Error
        before = self._seen.get(key)
        same = before is not None and (failed if before.failed else before.content == outcome.content)
        if outcome.changes:
            self._seen.clear()
        elif failed:
            self._seen = {each: seen for each, seen in self._seen.items() if seen.failed}
        self._seen[key] = _Seen(outcome.content, failed, before.times + 1 if before and same else 1)


def _not_again(times: int) -> Outcome:
    return Outcome.failed(
        ToolFailure(
            f"This same call was made {times} times now, and it was not run again: its result is the one you have. "
            "Use that result, do something different, or tell the user what is in the way."
        )
    )
