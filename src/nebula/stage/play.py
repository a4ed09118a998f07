"""The play: a pure function from the scene so far and the next event to the next scene and its cues."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nebula.events import (
    Activity,
    Approval,
    Checked,
    Delta,
    Diff,
    Error,
    Event,
    Final,
    Message,
    Notice,
    Output,
    Plan,
    Repair,
    Retry,
    Stamped,
    Steering,
    Step,
    Task,
    TodoItem,
    TodoList,
    ToolResult,
)
from nebula.language import Sentence, explain_to, translate_to
from nebula.stage.closing import closing_line, list_failures
from nebula.stage.cues import Act, Ask, Backstage, Checklist, Close, Cue, Curtain, DraftText, Heard, Remark, Say
from nebula.stage.visible import fit_to_decide, neutralise, one_line
from nebula.value import replace, value

_SEARCHING = {"list", "searchInDirectory", "searchCode"}


@value
class StageOptions:
    """How the audience wants it."""

    lang: str = "en"
    curtain: str = "quiet"
    backstage: bool = False


@value
class Scene:
    """What the audience has had of this turn so far."""

    spoken: bool = False
    answered: bool = False
    """The last message carried no tool calls."""
    curtain_down: bool = False
    command_runs: bool = False
    remarks: tuple[str, ...] = ()
    doing: str = ""
    """What goes on, in plain words, as it was said last."""
    path: str = ""
    """The file that was at work last; it stays named while the model reads what came of it."""
    todo: tuple[TodoItem, ...] = ()
    """The model's list of steps as it was shown last."""


def perform(scene: Scene, event: Event, options: StageOptions) -> tuple[Scene, tuple[Cue, ...]]:
    """Return the next scene, and what to show for this event."""
    if isinstance(event, Task):
        return Scene(curtain_down=True), (Curtain(),)
    if isinstance(event, Message):
        return _speak(scene, event, options.lang)
    if isinstance(event, Final):
        return _close(scene, event, options)
    if isinstance(event, Error):
        return _remark(scene, event.sentence, options.lang)
    if isinstance(event, Notice):
        return _remark_at_work(scene, event, options)
    if isinstance(event, Approval) and event.decision is None:
        return replace(scene, curtain_down=False, command_runs=False), (Ask(fit_to_decide(event, options.lang)),)
    if isinstance(event, Steering):
        return replace(scene, curtain_down=True, command_runs=False), (Heard(neutralise(event.text)), Curtain())
    if isinstance(event, TodoList):
        return _list_steps(scene, event)
    if isinstance(event, Activity):
        doing = one_line(explain_to(options.lang, event.sentence))
        scene = replace(scene, curtain_down=True, command_runs=False, doing=doing)
        return scene, (Curtain(scene.path, doing, _count_words(event, options.lang)),)
    if isinstance(event, Delta):
        draft = DraftText(neutralise(event.text), bool(event.anew))
        return scene, (draft,) if options.backstage else ()
    return _interlude(scene, event, options)


def _list_steps(scene: Scene, event: TodoList) -> tuple[Scene, tuple[Cue, ...]]:
    """Show the list where it is another one, else the steps that began or were done; the work goes on below it."""
    items = tuple(replace(each, content=one_line(each.content)) for each in event.items)
    known = {each.content: each.status for each in scene.todo}
    is_same = list(known) == [each.content for each in items]
    shown = tuple(each for each in items if each.status != known[each.content]) if is_same else items
    if not shown:
        return scene, ()
    scene = replace(scene, todo=items, curtain_down=True, command_runs=False)
    return scene, (Checklist(shown), Curtain(doing=scene.doing))


def _count_words(event: Activity, lang: str) -> str:
    if event.words is not None:
        one = event.words == 1
        return translate_to(lang, "1 word") if one else translate_to(lang, "{count:,} words", count=event.words)
    if event.characters is not None:
        return translate_to(lang, "{count:,} characters", count=event.characters)
    return ""


def _speak(scene: Scene, event: Message, lang: str) -> tuple[Scene, tuple[Cue, ...]]:
    act: Act = 1 if event.message.tool_uses else 2
    text = neutralise(event.message.content)
    said: tuple[Cue, ...] = (Say(text, act),) if text.strip() else ()
    doing = _describe_tools(event, lang) if act == 1 else ""
    spoken = scene.spoken or bool(said)
    scene = replace(scene, spoken=spoken, answered=act == 2, curtain_down=act == 1, doing=doing, path="")
    return scene, (*said, Curtain(doing=doing)) if act == 1 else said


def _describe_tools(event: Message, lang: str) -> str:
    """Return in plain words what the tools of a message are about to do, where all of them do the same."""
    names = [use.orig_name for use in event.message.tool_uses or ()]
    if set(names) == {"readFile"}:
        if len(names) == 1:
            return translate_to(lang, "reading a file")
        return translate_to(lang, "reading {count} files", count=len(names))
    return translate_to(lang, "searching") if names and set(names) <= _SEARCHING else ""


def _interlude(scene: Scene, event: Event, options: StageOptions) -> tuple[Scene, tuple[Cue, ...]]:
    cues: list[Cue] = []
    path = _find_path_at_work(event) if options.curtain == "paths" else ""
    runs = isinstance(event, Output)
    if path or not scene.curtain_down or runs != scene.command_runs:
        cues.append(Curtain(path, _name_program(event, options.lang) if isinstance(event, Output) else ""))
        scene = replace(scene, curtain_down=True, command_runs=runs, path=path)
    if options.backstage:
        cues.extend(_look_behind(event, options.lang))
    return scene, tuple(cues)


def _name_program(event: Output, lang: str) -> str:
    if not event.program:
        return translate_to(lang, "running a command")
    return translate_to(lang, "running {program}", program=one_line(event.program))


def _remark(scene: Scene, sentence: Sentence, lang: str) -> tuple[Scene, tuple[Cue, ...]]:
    """Show a sentence in `lang`, once in a turn: remarks are told apart by their English."""
    text, english = neutralise(explain_to(lang, sentence)).strip(), str(sentence)
    if not text or english in scene.remarks:
        return scene, ()
    return replace(scene, remarks=(*scene.remarks, english), curtain_down=False), (Remark(text),)


def _remark_at_work(scene: Scene, notice: Notice, options: StageOptions) -> tuple[Scene, tuple[Cue, ...]]:
    """Show a notice while the work goes on: the curtain comes down again after it."""
    after, cues = _remark(scene, notice.sentence, options.lang)
    if not cues or not scene.curtain_down:
        return after, cues
    return replace(after, curtain_down=True, command_runs=False), (*cues, Curtain(doing=scene.doing))


def _close(scene: Scene, final: Final, options: StageOptions) -> tuple[Scene, tuple[Cue, ...]]:
    cues: list[Cue] = []
    if not scene.spoken and final.text.strip():
        # A turn that was not seen from its beginning still has its answer.
        cues.append(Say(neutralise(final.text), 2))
        scene = replace(scene, spoken=True, answered=True)
    cut_short = final.status != "ok" or not (scene.spoken and scene.answered)
    explained = final.status == "error" and scene.remarks
    said = final.remark or (final.explain() if cut_short and not explained else None)
    if said is not None:
        scene, remark = _remark(scene, said, options.lang)
        cues.extend(remark)
    cues.append(Close(final, closing_line(final, options.lang), list_failures(final, options.lang)))
    return replace(scene, curtain_down=False), tuple(cues)


class Stage:
    """Keeps the scene between events, for a face that reads the stream. `options` may change between two events."""

    def __init__(self, options: StageOptions | None = None) -> None:
        self.options = options or StageOptions()
        self.scene = Scene()

    def read(self, stamped: Stamped) -> tuple[Cue, ...]:
        self.scene, cues = perform(self.scene, stamped.event, self.options)
        return cues


def staged_json(stamped: Stamped, cues: Sequence[Cue]) -> dict[str, Any]:
    """Return the event for the wire with its cues for the page: `stage` has all of them, `act` and `show` the words."""
    body = stamped.to_json() | {"stage": [cue.to_json() for cue in cues]}
    for cue in cues:
        if isinstance(cue, Say):
            body |= {"act": cue.act, "show": cue.text}
    return body


def _find_path_at_work(event: Event) -> str:
    if not isinstance(event, Step) or not isinstance(event.args, Mapping):
        return ""
    path = event.args.get("path") or event.args.get("directory")
    return one_line(path) if isinstance(path, str) else ""


def _look_behind(event: Event, lang: str) -> tuple[Backstage, ...]:
    title, text = "", ""
    if isinstance(event, Step):
        title, text = event.name, json.dumps(event.args, ensure_ascii=False)
    elif isinstance(event, Output):
        title, text = ("…", event.text) if event.text else ("", "")
    elif isinstance(event, ToolResult):
        title, text = f"{event.tool} → {event.result.status.value}", event.result.as_text()
    elif isinstance(event, Approval):
        title = f"{event.tool} {event.path}: {event.decision}"
    elif isinstance(event, Diff):
        title, text = f"{event.path} +{event.added} −{event.removed}", event.diff
    elif isinstance(event, Retry):
        reason = explain_to(lang, event.reason)
        title = translate_to(lang, "retry {attempt}: {reason}", attempt=event.attempt, reason=reason)
    elif isinstance(event, Checked):
        title, text = f"{event.check.name} → {'passed' if event.check.passed else 'failed'}", event.check.summary
    elif isinstance(event, Repair):
        title, text = f"repair {event.round}/{event.rounds}", event.report
    elif isinstance(event, Plan):
        title, text = "plan", json.dumps(event.plan, ensure_ascii=False)
    return (Backstage(one_line(title), neutralise(text)),) if title else ()
