"""Steps that name a tool, made repeatable: doing one twice has the same effect as doing it once.

A plan is written without having read the files. So a file that already holds what a step would write is left alone, and
one that the plan says to overwrite is read first, as the tools demand. A task that is run a second time finds its own
files: where a new file exists already, the model is shown its content at once and need not ask for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from nebula.agent.loop import Tools
from nebula.agent.plan.plan import PlanStep
from nebula.language import Sentence
from nebula.llm.dialect.tools import make_offer
from nebula.messages import AssistantToolUse, Json, ToolResultStatus, ToolSpec
from nebula.tools.contract import Call, Outcome
from nebula.tools.ledger import ReadLedger
from nebula.value import record, replace, value
from nebula.workspace.contract import Workspace, read_if_any

LONGEST_NAME: Final = 200
"""Characters of a path that are shown in a reason."""
CONFLICT: Final = 409
SHARE_OF_ROOM: Final = 2


@value
class PreparedCall:
    use: AssistantToolUse
    invalid: str | None = None
    """Why it must not run."""


def prepared_call(
    step: PlanStep, specs: Sequence[ToolSpec], files: Workspace, ledger: ReadLedger
) -> PreparedCall | None:
    """Return the call for a step; None where the file already is as the step wants it."""
    name, args, invalid = make_offer(specs).translate(step.tool, step.parameters)
    args = {key: given for key, given in args.items() if given is not None}
    wanted, path = _content(name, args), args.get("path")
    if wanted is not None and isinstance(path, str):
        there = read_if_any(files, path)  # if it cannot be read, the call itself meets the same problem
        present = there.content if there is not None else None
        if present == wanted:
            return None
        if name == "editFile" and present is None:
            name, args = "writeFile", {"path": path, "content": wanted}
        elif name == "editFile" and present is not None:
            ledger.saw(path, present)
    use = AssistantToolUse(f"step_{step.id}", step.tool, name, dict(step.parameters), args)
    return PreparedCall(use, invalid)


@record
class ShowsExisting:
    """Wraps the tools of a step: a refused write shows the present content, so that the model has read what it may
    overwrite."""

    tools: Tools
    files: Workspace
    ledger: ReadLedger

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self.tools.specs

    async def run(self, call: Call) -> Outcome:
        outcome = await self.tools.run(call)
        if outcome.code != CONFLICT or call.use.orig_name != "writeFile":
            return outcome
        path = str(call.use.orig_args["path"])
        present = await asyncio.to_thread(read_if_any, self.files, path)
        # Only if it is complete: a part that was cut off was not read.
        if present is None or present.secret or present.size > call.room // SHARE_OF_ROOM:
            return outcome
        self.ledger.saw(path, present.content)
        return replace(outcome, content=(*outcome.content, Json({"content": present.content})))


def error_of(outcome: Outcome) -> str:
    """Return the error text that the model gets for a failed call."""
    return " ".join(str(each.get("error", "")) for each in _objects(outcome)).strip()


def _objects(outcome: Outcome) -> list[Mapping[str, Any]]:
    said = [block.value for block in outcome.content if isinstance(block, Json)]
    return [each for each in said if isinstance(each, Mapping)]


def problem_of(outcome: Outcome, tool: str) -> Sentence | None:
    """Return why a planned call did not have its effect; None where it did."""
    if outcome.status is not ToolResultStatus.Success:
        return outcome.problem or Sentence("{tool} answered: {problem}", tool=tool, problem=error_of(outcome))
    for report in _objects(outcome):
        if report.get("stopped"):
            return Sentence("The command was stopped: {why}", why=report["stopped"])
        if report.get("exit_code"):
            return Sentence("The command ended with exit code {code}.", code=report["exit_code"])
    return outcome.problem if outcome.refused else None


def named(problem: Sentence, path: str) -> Sentence:
    """Return why a file was refused, with its path: the guard does not name a path that is not valid."""
    if not path or "path" in problem.values:
        return problem
    shown = path if len(path) <= LONGEST_NAME else path[:LONGEST_NAME] + "…"
    return Sentence("{path}: {problem}", path=shown, problem=problem)


def conflict_goal(step: PlanStep, error: str) -> str:
    """Return the goal for the model where the file of a step exists already with another content."""
    path = step.parameters.get("path")
    content = step.parameters.get("content")
    return (
        f"{step.title or 'A file was to be written.'}\n\nThe plan says to create {path}, but: {error}\n"
        f"Read {path}. Overwrite it if it should have the planned content, else change it so that it serves the same "
        f"purpose. The planned content:\n\n{content}"
    )


def _content(name: str, args: Mapping[str, Any]) -> str | None:
    """Return the whole content that a call would write to a file."""
    found = args.get({"writeFile": "content", "editFile": "new_content"}.get(name, ""))
    return found if isinstance(found, str) else None
