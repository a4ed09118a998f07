"""nebula trace lesson: a recorded turn step by step, with what the model was sent and what it sent back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence

from nebula.agent.traces.find import TaskTrace
from nebula.agent.traces.lesson import LessonStep
from nebula.cli.printing import print_json, print_line, print_lines, tell_line
from nebula.language import translate, translate_count
from nebula.stage import one_line

SHOWN_LINES = 6
"""Lines of a text where nobody asks for all of it."""


def show_lesson(trace: TaskTrace, steps: Sequence[LessonStep], *, full: bool) -> None:
    """Print the steps; at a terminal wait for Enter before each further one."""
    wait = _wait_for_enter if sys.stdin.isatty() and sys.stdout.isatty() else lambda: True
    _show_steps(trace, steps, full, wait)


def print_lesson_json(steps: Sequence[LessonStep]) -> None:
    for step in steps:
        calls = [{"name": name, "args": args} for name, args in step.calls]
        results = [{"tool": tool, "status": status, "text": text} for tool, status, text in step.results]
        sent = {"instructions": step.instructions, "tools": list(step.tools), "prompts": list(step.prompts)}
        print_json({"sent": sent | {"earlier": step.earlier}, "text": step.text, "calls": calls, "results": results})


def _show_steps(trace: TaskTrace, steps: Sequence[LessonStep], full: bool, wait: Callable[[], bool]) -> None:
    earlier = len(trace.task.get("parents") or ())
    if earlier:
        tell_line("The turn continued an earlier one. That is not played: the model saw its words as well.")
    for number, step in enumerate(steps, start=1):
        if number > 1 and not wait():
            return
        tell_line("── Step {number} of {total}", number=number, total=len(steps))
        print_lines(_describe(step, number == 1, full))
        print_line()


def _describe(step: LessonStep, first: bool, full: bool) -> Iterator[str]:
    yield translate("The model is sent:")
    if first:
        size = f"{len(step.instructions):,}"
        said = translate("instructions ({size} characters)", size=size)
        yield from _quoted(said, step.instructions, SHOWN_LINES if not full else None)
        yield "  " + translate("tools: {names}", names=", ".join(step.tools))
    else:
        told = translate_count(
            step.earlier,
            "everything as before ({count} message), its own last one, and the results",
            "everything as before ({count} messages), its own last one, and the results",
        )
        yield f"  {told}"
    for prompt in step.prompts:
        yield from _quoted(translate("your words"), prompt, None if full else SHOWN_LINES)
    yield translate("It sends back:")
    if step.text:
        yield from _quoted(translate("text"), step.text, None if full else SHOWN_LINES)
    for name, args in step.calls:
        shown = json.dumps(args, ensure_ascii=False)
        yield from _quoted(translate("a call of {tool}", tool=one_line(name)), shown, None if full else SHOWN_LINES)
    for tool, status, text in step.results:
        head = translate("{tool} answers ({status})", tool=one_line(tool), status=one_line(status))
        yield from _quoted(head, text, None if full else SHOWN_LINES)
    if step.calls:
        yield translate("It called tools, so this was not its last word: their answers go back to it.")
    elif not step.text:
        yield translate("Nothing came that could be used: the model failed here.")
    else:
        yield translate("It called no tool: this is the answer, and the turn is over.")


def _quoted(head: str, text: str, limit: int | None) -> Iterator[str]:
    """Yield a head with the lines of a text behind it, no more than `limit`."""
    lines = [one_line(line) for line in text.splitlines() if line.strip()]
    shown = lines if limit is None else lines[:limit]
    yield f"  {head}:" if shown else f"  {head}"
    yield from (f"    {line}" for line in shown)
    if len(shown) < len(lines):
        left = len(lines) - len(shown)
        yield "    " + translate_count(left, "… {count} more line (--full)", "… {count} more lines (--full)")


def _wait_for_enter() -> bool:
    """Return whether the reader wants the next step; the end of the input is a no."""
    try:
        input(translate("Enter: the next step "))
    except EOFError:
        return False
    return True
