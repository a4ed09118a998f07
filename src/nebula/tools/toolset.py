"""The tools of one session, and what is done for every call alike.

Plan mode is a set without writers over a workspace opened read-only: there is no flag to forget. The names of the
missing writers are kept only to say why they are missing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nebula.messages import AssistantToolUse, Json, ToolResultStatus, ToolSpec
from nebula.tools.contract import Call, Outcome, Tool, ToolFailure
from nebula.value import value
from nebula.workspace.errors import WorkspaceError

MAX_SAME_FAILURES = 2
"""After this many identical failing calls the next one is answered with the advice to do something else."""


def plan_mode_sentence(name: str) -> str:
    return f"Tool '{name}' is not allowed in plan mode. Plan mode is read-only."


@value
class _Failure:
    count: int
    sentence: str
    refused: bool


@dataclass(slots=True)
class ToolSet:
    """Runs calls by name; never raises at the loop."""

    tools: Mapping[str, Tool]
    missing: Mapping[str, str] = field(default_factory=dict)
    """Tools that exist but are not in this set, each with the sentence that says why."""
    _failures: dict[str, _Failure] = field(default_factory=dict)

    @classmethod
    def of(cls, tools: Iterable[Tool], missing: Mapping[str, str] | None = None) -> ToolSet:
        return cls({tool.spec.name: tool for tool in tools}, missing or {})

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools.values())

    async def run(self, call: Call) -> Outcome:
        use = call.use
        signature = _signature(use)
        earlier = self._failures.get(signature)
        if earlier and earlier.count >= MAX_SAME_FAILURES and earlier.refused:
            return self._enough(earlier)  # a person who said no twice is not asked a third time
        outcome = await self._outcome(use, call)
        sentence = _error_of(outcome)
        if sentence is None:
            self._failures.pop(signature, None)
            return outcome
        count = earlier.count if earlier else 0
        if earlier and count >= MAX_SAME_FAILURES:
            return self._enough(earlier)
        self._failures[signature] = _Failure(count + 1, sentence, outcome.refused)
        return outcome

    def _enough(self, failure: _Failure) -> Outcome:
        return Outcome.failed(
            ToolFailure(
                f"This same call has now failed {failure.count + 1} times. It said: {failure.sentence} "
                "Do something different, or tell the user what is in the way.",
                policy=failure.refused,
            )
        )

    async def _outcome(self, use: AssistantToolUse, call: Call) -> Outcome:
        try:
            return await self._run(use, call)
        except ToolFailure as failure:
            return Outcome.failed(failure)
        except WorkspaceError as error:
            return Outcome.failed(ToolFailure(str(error), policy=error.refusal))

    async def _run(self, use: AssistantToolUse, call: Call) -> Outcome:
        tool = self.tools.get(use.orig_name)
        if tool is None:
            if use.orig_name in self.missing:
                raise ToolFailure(self.missing[use.orig_name], policy=True)
            raise ToolFailure(f"Unknown tool: {use.orig_name}")
        if not isinstance(use.orig_args, Mapping):
            raise ToolFailure("The arguments must be a JSON object.")
        # Yield once: a turn that is being cancelled must not start another write.
        await asyncio.sleep(0)
        return await tool.run(use.orig_args, call)


def _error_of(outcome: Outcome) -> str | None:
    if outcome.status is not ToolResultStatus.Error:
        return None
    return " ".join(str(block.value.get("error", "")) for block in outcome.content if isinstance(block, Json))


def _signature(use: AssistantToolUse) -> str:
    return use.orig_name + json.dumps(use.orig_args, sort_keys=True, ensure_ascii=False, default=str)
