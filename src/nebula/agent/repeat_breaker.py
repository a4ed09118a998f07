"""Stop a model which makes the same call over and over.

The same call with the same arguments and the same result is answered with a remark from the third time on instead of
being run, and the sixth time ends the turn. Counting starts again when the result may differ: after a change to a file
for all calls; after a failed call for those that succeeded; after an answer that is new for those that failed. Only a
call that a person refused twice is never asked again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from nebula.agent.turn_result import TurnLimit
from nebula.language import Sentence
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
        """Return whether a call had the same result again; two failures are the same, whatever their wording."""
        failed = outcome.status is ToolResultStatus.Error
        return failed if self.failed else self.outcome.content == outcome.content


@record
class RepeatBreaker:
    """The calls of one turn: `answer` comes before each call, and `learn` gets its outcome."""

    _answered: dict[str, _Seen] = field(default_factory=dict)
    _failed: dict[str, _Seen] = field(default_factory=dict)

    def answer(self, use: AssistantToolUse) -> Outcome | None:
        """Return the remark that replaces running the call; None: run it. Raises TurnLimit at the sixth time."""
        key = _key_of(use)
        seen = self._answered.get(key) or self._failed.get(key)
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
        """Remember the outcome of a call that was run."""
        key = _key_of(use)
        before = self._answered.pop(key, None) or self._failed.pop(key, None)
        same = before is not None and before.is_same(outcome)
        now = _Seen(outcome, before.times + 1 if before is not None and same else 1)
        if outcome.changes or now.failed:
            _reset_counts(self._answered)
        if outcome.changes or not (now.failed or same):
            _reset_counts(self._failed)
        (self._failed if now.failed else self._answered)[key] = now


def _reset_counts(seen: Mapping[str, _Seen]) -> None:
    """Count these calls from 0 again; their answers are kept, to tell whether the next one is new."""
    for each in seen.values():
        if not each.outcome.refused:
            each.times = 0


_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False, default=str).encode


def _key_of(use: AssistantToolUse) -> str:
    """Return a text that is equal for calls that ask for the same."""
    return use.orig_name + _encode(use.orig_args)


def _answer_again(seen: _Seen) -> Outcome:
    before = seen.outcome
    blocks = (block.value for block in before.content if isinstance(block, Json))
    said = " ".join(str(each.get("error", "")) for each in blocks if isinstance(each, dict))
    came = f"it fails, and said: {said}" if seen.failed else "its result is the one you have. Use that result."
    return Outcome.failed(
        ToolFailure(
            f"This same call was made {seen.times} times now, and it was not run again: {came} "
            "Do something different, or tell the user what is in the way.",
            policy=before.refused,
            unchanged=before.unchanged,
            problem=before.problem or (Sentence("{problem}", problem=said) if said else None),
        )
    )
