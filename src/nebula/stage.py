"""What the audience sees of a turn: the one place that decides it.

A turn is a play. A message with tool calls is act one: its text is shown, alone. Then the curtain is down while tools
run: the audience sees that work goes on, not what is done. A message without tool calls is act two and ends the play.
The one fact that decides is whether a finished message carries tool calls; no text is ever looked into.

`perform` is a pure function from the scene so far and the next event to the next scene and its cues. Terminal,
headless output and web page carry out the cues and decide nothing. All text in cues is already `neutralise`d.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from nebula.events import (
    Approval,
    Checked,
    Diff,
    Error,
    Final,
    Message,
    Notice,
    Output,
    Plan,
    Repair,
    Retry,
    Steering,
    Step,
    Task,
    ToolResult,
)
from nebula.language import Sentence, explain_to, translate_to
from nebula.value import replace, value

if TYPE_CHECKING:
    from nebula.events import Event, FileChange, ProposedChange, Stamped

Act = Literal[1, 2]


# Cues


@value
class Say:
    """The model's own words, whole; act 1 before tools run, act 2 at the end."""

    text: str
    act: Act

    def to_json(self) -> dict[str, Any]:
        return {"cue": "say", "act": self.act, "show": self.text}


@value
class Curtain:
    """Work goes on: show activity and elapsed time until any other cue but `Backstage` comes."""

    path: str = ""
    """The file at work, where the setting `curtain` is `paths`."""
    doing: str = ""
    """In plain words, where it takes long and there is something to say: a command runs."""

    def to_json(self) -> dict[str, Any]:
        return {"cue": "curtain", "path": self.path} | ({"doing": self.doing} if self.doing else {})


@value
class Remark:
    """A plain sentence by the program, not the model."""

    text: str

    def to_json(self) -> dict[str, Any]:
        return {"cue": "remark", "text": self.text}


@value
class Ask:
    """Somebody must say yes or no. Path and diff are fit to be shown, with nothing in them that cannot be seen."""

    approval: Approval

    def to_json(self) -> dict[str, Any]:
        return {"cue": "ask"} | self.approval.to_json()


@value
class Close:
    """The turn is over; `line` is what the program says of it."""

    final: Final
    line: str

    def to_json(self) -> dict[str, Any]:
        return {"cue": "close", "status": self.final.status, "line": self.line}


@value
class Backstage:
    """What the curtain hides, for those who asked, in a place of its own."""

    title: str
    text: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"cue": "backstage", "title": self.title, "text": self.text}


@value
class Heard:
    """What the user said while the turn ran has reached the model."""

    text: str

    def to_json(self) -> dict[str, Any]:
        return {"cue": "heard", "text": self.text}


Cue = Say | Curtain | Remark | Ask | Close | Backstage | Heard

# The play


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


def perform(scene: Scene, event: Event, options: StageOptions) -> tuple[Scene, tuple[Cue, ...]]:
    """The next scene, and what to show for this event."""
    if isinstance(event, Task):
        return Scene(curtain_down=True), (Curtain(),)
    if isinstance(event, Message):
        return _speak(scene, event)
    if isinstance(event, Final):
        return _close(scene, event, options)
    if isinstance(event, Error):
        return _remark(scene, event.message, event.in_language(options.lang))
    if isinstance(event, Notice):
        return _remark_at_work(scene, event, options)
    if isinstance(event, Approval) and event.decision is None:
        return replace(scene, curtain_down=False, command_runs=False), (Ask(fit_to_decide(event, options.lang)),)
    if isinstance(event, Steering):
        return replace(scene, curtain_down=True, command_runs=False), (Heard(neutralise(event.text)), Curtain())
    return _interlude(scene, event, options)


def _speak(scene: Scene, event: Message) -> tuple[Scene, tuple[Cue, ...]]:
    act: Act = 1 if event.message.tool_uses else 2
    text = neutralise(event.message.content)
    said: tuple[Cue, ...] = (Say(text, act),) if text.strip() else ()
    scene = replace(scene, spoken=scene.spoken or bool(said), answered=act == 2, curtain_down=act == 1)
    return scene, (*said, Curtain()) if act == 1 else said


def _interlude(scene: Scene, event: Event, options: StageOptions) -> tuple[Scene, tuple[Cue, ...]]:
    cues: list[Cue] = []
    path = _path_at_work(event) if options.curtain == "paths" else ""
    runs = isinstance(event, Output)
    if path or not scene.curtain_down or runs != scene.command_runs:
        cues.append(Curtain(path, _what_runs(event, options.lang) if isinstance(event, Output) else ""))
        scene = replace(scene, curtain_down=True, command_runs=runs)
    if options.backstage:
        cues.extend(_behind(event, options.lang))
    return scene, tuple(cues)


def _what_runs(event: Output, lang: str) -> str:
    if not event.program:
        return translate_to(lang, "running a command")
    return translate_to(lang, "running {program}", program=one_line(event.program))


def _remark(scene: Scene, sentence: str, said: str) -> tuple[Scene, tuple[Cue, ...]]:
    """`sentence` in English is what tells remarks apart, `said` is what the audience hears."""
    text = neutralise(said).strip()
    if not text or sentence in scene.remarks:
        return scene, ()
    return replace(scene, remarks=(*scene.remarks, sentence), curtain_down=False), (Remark(text),)


def _remark_at_work(scene: Scene, notice: Notice, options: StageOptions) -> tuple[Scene, tuple[Cue, ...]]:
    """The work goes on behind what is said about it: the curtain comes down again."""
    after, cues = _remark(scene, notice.message, notice.in_language(options.lang))
    if not cues or not scene.curtain_down:
        return after, cues
    return replace(after, curtain_down=True, command_runs=False), (*cues, Curtain())


def _close(scene: Scene, final: Final, options: StageOptions) -> tuple[Scene, tuple[Cue, ...]]:
    cues: list[Cue] = []
    if not scene.spoken and final.text.strip():
        # A turn that was not seen from its beginning still has its answer.
        cues.append(Say(neutralise(final.text), 2))
        scene = replace(scene, spoken=True, answered=True)
    cut_short = final.status != "ok" or not (scene.spoken and scene.answered)
    said = "" if final.remark is None else explain_to(options.lang, final.remark)
    explained = final.status == "error" and scene.remarks
    if not said and cut_short and not explained:
        said = _how_it_ended(final, options.lang)
    scene, remark = _remark(scene, str(final.remark or said), said)
    cues.extend(remark)
    cues.append(Close(final, closing_line(final, options.lang)))
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
    """The event for the wire with what the page is to make of it: `stage` has all cues, `act` and `show` the words."""
    body = stamped.to_json() | {"stage": [cue.to_json() for cue in cues]}
    for cue in cues:
        if isinstance(cue, Say):
            body |= {"act": cue.act, "show": cue.text}
    return body


# Backstage


def _path_at_work(event: Event) -> str:
    if not isinstance(event, Step) or not isinstance(event.args, Mapping):
        return ""
    path = event.args.get("path") or event.args.get("directory")
    return one_line(path) if isinstance(path, str) else ""


def _behind(event: Event, lang: str) -> tuple[Backstage, ...]:
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


def fit_to_decide(approval: Approval, lang: str) -> Approval:
    """Return the question fit to be shown: no character of what is approved may hide, not even the end of a line."""
    return replace(
        approval,
        tool=one_line(approval.tool),
        changes=tuple(map(_change_seen_whole, approval.changes)),
        together=tuple(map(_change_seen_whole, approval.together)),
        remarks=tuple(_seen_remark(each, lang) for each in approval.remarks),
        text=_shown(approval.text, _UNSEEN),
    )


def _seen_remark(remark: Sentence, lang: str) -> Sentence:
    return Sentence("{remark}", remark=one_line(explain_to(lang, remark)))


def _change_seen_whole(change: ProposedChange) -> ProposedChange:
    return replace(
        change,
        path=one_line(change.path),
        diff=_shown(change.diff, _UNSEEN),
        renamed_from=one_line(change.renamed_from),
    )


# Text that is fit to be shown


def _named(*groups: Iterable[int]) -> dict[int, str]:
    return {code: f"<U+{code:04X}>" for group in groups for code in group}


_SYMBOLS = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"} | {0x7F: "␡"}
_OBEYED = _SYMBOLS | _named(range(0x80, 0xA0), range(0x202A, 0x202F), range(0x2066, 0x206A))
_OBEYED |= _named((0x180E, 0x3164, 0xFEFF, 0xFFA0), range(0x2060, 0x2065), range(0x206A, 0x2070), range(0xFFF9, 0xFFFC))
"""What a terminal obeys instead of showing it, what turns the order of reading round, and what nobody sees and no
script needs."""
_SURROGATE = r"[\uD800-\uDFFF]"
"""What no output can carry; two thousand entries in each of the tables would be a third of a megabyte."""
_SMUGGLED = (
    r"(?P<flag>\U0001F3F4[\U000E0030-\U000E007A]{2,8}\U000E007F)|[\U000E0000-\U000E007F]+"
    r"|[\u200B-\u200D]{2,}|(?<=[\uFE00-\uFE0F\U000E0100-\U000E01EF])[\uFE00-\uFE0F\U000E0100-\U000E01EF]+"
)
"""Letters that cannot be seen: tags that make no flag; joiners and variants, which mean something only singly."""
_UNSEEN = _OBEYED | _named(
    (0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029),
    range(0x1D173, 0x1D17B),
    range(0xE0000, 0xE0080),
)
"""Also what is harmless in talk, and needed there by some scripts and flags, but hides in what is to be approved."""
_UNSEEN_IN_LINE = _UNSEEN | {0x09: "␉", 0x0A: "␊"}


def neutralise(text: str) -> str:
    """The text with every control sequence made visible and harmless; line breaks and tabs stay, CR LF becomes LF."""
    text = _shown(text.replace("\r\n", "\n"), _OBEYED)
    return text if text.isascii() else re.sub(_SMUGGLED, _made_visible, text)


def _made_visible(found: re.Match[str]) -> str:
    return found[0] if found["flag"] else "".join(f"<U+{ord(each):04X}>" for each in found[0])


def one_line(text: str) -> str:
    """The same for names and paths: nothing hidden, nothing that breaks the line."""
    return _shown(text, _UNSEEN_IN_LINE)


def _shown(text: str, table: dict[int, str]) -> str:
    text = text.translate(table)
    return text if text.isascii() else re.sub(_SURROGATE, "\ufffd", text)


# What the program says of a turn

_FILES_NAMED = 5


def _how_it_ended(final: Final, lang: str) -> str:
    if final.status == "error":
        return translate_to(lang, "The turn ended with an error; what was said and done so far is kept.")
    if final.status == "refused":
        return translate_to(lang, "A change was refused and not made.")
    if final.status == "interrupted":
        return translate_to(lang, "Interrupted; what was said and done so far is kept.")
    if final.status == "limit":
        return translate_to(lang, "The turn reached its limit; what was said and done so far is kept.")
    return translate_to(lang, "The turn ended without an answer.")


def closing_line(final: Final, lang: str = "en") -> str:
    """Files changed, whether that was checked, tokens, time: facts counted by the program, on one line."""
    parts = []
    if final.files_changed:
        parts += [_files(final.files_changed, lang), _verdict(final, lang)]
    if final.changes_failed:
        parts += [] if final.files_changed else [translate_to(lang, "no file changed")]
        parts.append(_failed(final.changes_failed, lang))
    if final.citations is not None:
        held, total = final.citations.held, final.citations.total
        parts.append(translate_to(lang, "{held} of {total} citations hold", held=held, total=total))
    usage = final.usage
    if usage.input_tokens or usage.output_tokens:
        counts = {"input": f"{usage.input_tokens:,}", "output": f"{usage.output_tokens:,}"}
        parts.append(translate_to(lang, "{input} tokens in, {output} out", **counts))
    parts.append(_elapsed(final.duration_s, lang))
    return " · ".join(parts)


def _files(changes: Sequence[FileChange], lang: str) -> str:
    named = [f"{one_line(change.path)} +{change.added} −{change.removed}" for change in changes[:_FILES_NAMED]]
    if len(changes) > _FILES_NAMED:
        named.append(translate_to(lang, "and {count} more", count=len(changes) - _FILES_NAMED))
    files = translate_to(lang, ", ").join(named)
    if len(changes) == 1:
        return translate_to(lang, "1 file changed: {files}", files=files)
    return translate_to(lang, "{count} files changed: {files}", count=len(changes), files=files)


def _failed(count: int, lang: str) -> str:
    if count == 1:
        return translate_to(lang, "1 change failed")
    return translate_to(lang, "{count} changes failed", count=count)


def _verdict(final: Final, lang: str) -> str:
    failed = [check for check in final.checks if not check.passed]
    names = translate_to(lang, ", ").join(one_line(check.name) for check in failed or final.checks)
    if failed:
        return translate_to(lang, "unverified: {names} failed", names=names)
    return translate_to(lang, "verified by {names}", names=names) if final.checks else translate_to(lang, "unverified")


def _elapsed(duration_s: float, lang: str) -> str:
    if duration_s < 60:
        return translate_to(lang, "{seconds} s", seconds=f"{duration_s:.1f}")
    minutes, seconds = divmod(round(duration_s), 60)
    return translate_to(lang, "{minutes} min {seconds} s", minutes=minutes, seconds=seconds)
