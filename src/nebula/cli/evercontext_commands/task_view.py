"""A task as it is carried out, for people: a line for each thing that happened, and on a terminal what goes on now.

Progress goes to standard error, the report at the end to standard output. Nothing is decided here: every line is an
event of the stream.
"""

from __future__ import annotations

from typing import Any

from nebula.cli.printing import print_line, print_lines, print_remark
from nebula.cli.terminal.output.live_line import line_of_command
from nebula.cli.turn_lines import Refusals, asked_again
from nebula.config import Settings
from nebula.events import (
    Checked,
    Diff,
    Error,
    Final,
    Message,
    Notice,
    Plan,
    Repair,
    Retry,
    Stamped,
    Step,
    StepOutcome,
    StepProgress,
    Task,
)
from nebula.language import Sentence, explain, explain_to, translate, translate_count
from nebula.stage import closing_line, neutralise, one_line

_MARKS = {"done": "✓", "failed": "✗", "skipped": "-", "not_run": "-"}


class TaskView:
    def __init__(self, settings: Settings, said: list[Sentence] | None = None) -> None:
        self._lang = settings.lang
        self._refusals = Refusals(said)
        self._live = line_of_command()
        self._doing = ""
        """What the live line says; empty once nothing goes on any more."""
        self._places: dict[str, str] = {}
        """Step id → "2/5"."""
        self._steps = 0
        self._dry_run = self._only_plan = False
        self._answers: list[str] = []
        """What the model said in the end of each step."""
        self._executor = ""

    def __call__(self, stamped: Stamped) -> None:
        event = stamped.event
        if refused := self._refusals.read(event):
            self._remark(explain(refused))
        show = _SHOWN.get(type(event))
        if show is not None:
            show(self, event)
        if isinstance(event, Final):
            self._doing = ""
            self._live.lower()
        if isinstance(event, Final) and not self._only_plan:
            self._report(event, stamped.trace_id)

    def task(self, event: Task) -> None:
        self._executor = event.model
        self._dry_run = event.mode == "dry-run"
        self._only_plan = event.mode == "plan"
        self._wait(translate("planning"))

    def plan(self, event: Plan) -> None:
        self._steps = len(event.plan["tasks"])
        self._places.clear()  # another plan, after a step failed for good, is counted by itself
        said = translate_count(self._steps, "plan: {count} step", "plan: {count} steps")
        if event.model is not None:
            said += " · " + translate(
                "by {model} in {seconds} s", model=event.model, seconds=f"{event.duration_s or 0:.1f}"
            )
        self._line(said)
        if self._dry_run:
            print_line("\n".join([*plan_lines(event.plan), ""]))

    def progress(self, event: StepProgress) -> None:
        if event.task_id not in self._places:
            self._places[event.task_id] = f"{len(self._places) + 1}/{self._steps}"
        name = f"{self._places[event.task_id]} {one_line(event.title)}"
        if event.state == "started":
            again = " " + translate("(once more)") if event.attempt > 1 else ""
            self._line(f"▸ {name}{again}")
            self._wait(translate("step {name}: waiting for {model}", name=name, model=self._executor))
            return
        words = {"done": translate("done"), "failed": translate("failed"), "skipped": translate("skipped")}
        said = f"{_MARKS.get(event.state, '·')} {name}: {words.get(event.state, event.state)}"
        if event.remark:
            said += f": {one_line(explain(event.remark))}"
        if event.duration_s:
            said += f" ({translate('{seconds} s', seconds=f'{event.duration_s:.1f}')})"
        self._line(said)

    def step(self, event: Step) -> None:
        path = event.args.get("path") if isinstance(event.args, dict) else None
        self._wait(f"{one_line(event.name)} {one_line(path) if isinstance(path, str) else ''}".strip())

    def message(self, event: Message) -> None:
        if not event.message.tool_uses:
            self._answers.append(event.message.content)
            self._wait(translate("working"))

    def diff(self, event: Diff) -> None:
        if not self._dry_run:
            self._line(f"    {one_line(event.path)} +{event.added} −{event.removed}")
        self._wait(translate("waiting for {model}", model=self._executor))

    def checked(self, event: Checked) -> None:
        name = one_line(event.check.name)
        if event.flaky:
            self._line(translate("✓ check {name}: passed when run once more (flaky)", name=name))
        elif event.check.passed:
            self._line(translate("✓ check {name}: passed", name=name))
        else:
            self._line(translate("✗ check {name}: {summary}", name=name, summary=one_line(event.check.summary)))

    def repair(self, event: Repair) -> None:
        self._line(translate("▸ repair {round} of {rounds}", round=event.round, rounds=event.rounds))
        self._wait(translate("waiting for {model}", model=self._executor))

    def retry(self, event: Retry) -> None:
        self._remark(asked_again(event, round(event.delay_s)))

    def remark(self, event: Notice | Error) -> None:
        self._remark(explain_to(self._lang, event.sentence))

    def _report(self, final: Final, trace_id: str) -> None:
        if answer := "\n\n".join(filter(None, map(str.strip, self._answers))):
            print_line(neutralise(answer) + "\n")
        if final.forecast is not None:
            print_line(neutralise(final.forecast).rstrip("\n") or translate("Nothing would change."))
        print_lines(report(final, trace_id, self._lang))
        if final.status != "ok" and final.steps and final.forecast is None:
            self._remark(translate("To go on where it stopped: evercontext run --resume-plan"))

    def _wait(self, doing: str) -> None:
        self._doing = doing
        self._live.raise_(doing=doing)

    def _line(self, text: str) -> None:
        self._live.lower()
        print_remark(text)
        if self._doing:
            self._live.raise_(doing=self._doing)

    def _remark(self, text: str) -> None:
        self._line(f"evercontext: {text}")


_SHOWN: dict[type, Any] = {
    Task: TaskView.task,
    Plan: TaskView.plan,
    StepProgress: TaskView.progress,
    Step: TaskView.step,
    Message: TaskView.message,
    Diff: TaskView.diff,
    Checked: TaskView.checked,
    Repair: TaskView.repair,
    Retry: TaskView.retry,
    Notice: TaskView.remark,
    Error: TaskView.remark,
}


def plan_lines(plan: Any) -> list[str]:
    """Return a plan for people, in the order in which it was written."""
    lines = []
    for step in plan["tasks"]:
        after = step.get("depends_on") or ()
        order = " " + translate("(after {ids})", ids=", ".join(after)) if after else ""
        lines.append(one_line(f"{step['id']}. {step.get('title') or step.get('goal') or step.get('tool')}") + order)
        said = step.get("goal") or f"{step.get('tool')} {step.get('parameters', {}).get('path', '')}"
        if said != step.get("title"):
            lines.append("   " + one_line(" ".join(neutralise(said).split())[:200]))
        if step.get("files"):
            lines.append("   " + translate("files: {files}", files=one_line(", ".join(step["files"]))))
    return lines


def report(final: Final, trace_id: str, lang: str) -> list[str]:
    """Return how the task ended: what was done and what was not, and whether that was checked."""
    steps = final.steps or ()
    done = sum(step.state == "done" for step in steps)
    parts = [_verdict(final)]
    if steps:
        parts.append(translate("{done} of {count} steps done", done=done, count=len(steps)))
    parts.append(closing_line(final, lang))
    lines = [" · ".join(parts)]
    if final.forecast is not None:
        lines.append(translate("Nothing was written: this was a dry run."))
    if final.rolled_back:
        lines.append(translate("All changes were rolled back."))
    lines += [_left(step) for step in steps if step.state != "done"]
    lines.append(translate("trace {id}", id=trace_id))
    return lines


def _verdict(final: Final) -> str:
    if final.status == "ok":
        return translate("done")
    if final.status == "interrupted":
        return translate("interrupted")
    return translate("refused by policy") if final.status == "refused" else translate("failed")


def _left(step: StepOutcome) -> str:
    words = {"failed": translate("failed"), "skipped": translate("skipped"), "not_run": translate("not run")}
    line = f"  {_MARKS[step.state]} {one_line(step.id)} {one_line(step.title)}: {words[step.state]}"
    return f"{line}: {one_line(explain(step.remark))}" if step.remark else line
