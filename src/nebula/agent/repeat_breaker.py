"""Stops a model which calls the same thing over and over.

The same call with the same arguments and the same result is answered from the third time on with a remark instead of
being run, and the turn ends at the sixth. What was the same may not be so any more after a change to a file; after a
call that failed, what others answered is worth another look; and after an answer that is new, so is a call that failed.
Only what a person refused twice is not asked again.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from nebula.agent.turn_result import TurnLimit
from nebula.messages import AssistantToolUse, Json, ToolResultStatus
from nebula.tools.contract import Outcome, ToolFailure
from nebula.value import field, record

RUN_AT_MOST = 2
END_AT = 6


@record
class _Seen:
    outcome: Outcome
    times: int = 1

    @property
    def failed(self) -> bool:
        return self.outcome.status is ToolResultStatus.Error

    def is_same(self, outcome: Outcome) -> bool:
        """Return whether a call has come to the same again; failures are the same however they are worded."""
        failed = outcome.status is ToolResultStatus.Error
        return failed if self.failed else self.outcome.content == outcome.content


@record
class RepeatBreaker:
    """The calls of one turn: asked before each, and told what came of it."""

    _seen: dict[str, _Seen] = field(default_factory=dict)

    def answer(self, use: AssistantToolUse) -> Outcome | None:
        """Return what the model is told in place of running the call; None: run it. Raises TurnLimit at the sixth."""
        seen = self._seen.get(_sign(use))
        if seen is None:
            return None
        if seen.times + 1 >= END_AT:
            raise TurnLimit(
                "The model made the same call {times} times with the same result ({tool}); the turn was ended.",
                times=END_AT,
                tool=use.name,
            )
        if seen.times < RUN_AT_MOST:
            return None
        seen.times += 1
        return _answer_again(seen)

    def learn(self, use: AssistantToolUse, outcome: Outcome) -> None:
        """Remember what came of a call that was run."""
        key = _sign(use)
        before = self._seen.get(key)
        same = before is not None and before.is_same(outcome)
        now = _Seen(outcome, before.times + 1 if before is not None and same else 1)
        if outcome.changes:
            self._reopen(lambda _: True)
        elif now.failed:
            self._reopen(lambda seen: not seen.failed)
        elif not same:
            self._reopen(lambda seen: seen.failed)
        self._seen[key] = now

    def _reopen(self, is_meant: Callable[[_Seen], bool]) -> None:
        """Count from nothing again; what the calls answered stays known, to tell whether an answer is new."""
        for seen in self._seen.values():
            if is_meant(seen) and not seen.outcome.refused:
                seen.times = 0


def _sign(use: AssistantToolUse) -> str:
    """Return a text that is equal for calls that ask for the same."""
    return use.orig_name + json.dumps(use.orig_args, sort_keys=True, ensure_ascii=False, default=str)


def _answer_again(seen: _Seen) -> Outcome:
    blocks = (block.value for block in seen.outcome.content if isinstance(block, Json))
    said = " ".join(str(each.get("error", "")) for each in blocks if isinstance(each, dict))
    came = f"it fails, and said: {said}" if seen.failed else "its result is the one you have. Use that result."
    return Outcome.failed(
        ToolFailure(
            f"This same call was made {seen.times} times now, and it was not run again: {came} "
            "Do something different, or tell the user what is in the way.",
            policy=seen.outcome.refused,
        )
    )
