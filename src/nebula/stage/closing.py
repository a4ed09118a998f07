"""What the program says of a turn that is over."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.events import CheckRun, CommandRun, Diff, Final
from nebula.language import translate_to
from nebula.stage.visible import one_line

_FILES_NAMED = 5


def closing_line(final: Final, lang: str = "en") -> str:
    """Return the facts that the program counted, on one line: files changed, whether that was checked, tokens, time."""
    parts = []
    if final.files_changed:
        parts += [_name_files(final.files_changed, lang), _say_whether_checked(final, lang)]
    if final.changes_failed:
        parts += [] if final.files_changed else [translate_to(lang, "no file changed")]
        parts.append(_count_failed(final.changes_failed, lang))
    if final.citations is not None:
        held, total = final.citations.held, final.citations.total
        parts.append(translate_to(lang, "{held} of {total} citations hold", held=held, total=total))
    usage = final.usage
    if usage.input_tokens or usage.output_tokens:
        counts = {"input": f"{usage.input_tokens:,}", "output": f"{usage.output_tokens:,}"}
        parts.append(translate_to(lang, "{input} tokens in, {output} out", **counts))
    parts.append(_format_seconds(final.duration_s, lang))
    return " · ".join(parts)


def list_failures(final: Final, lang: str = "en") -> tuple[str, ...]:
    """Return a line for each command and check that failed."""
    failed = {each.command: _say_how_it_ended(each, lang) for each in final.commands or () if each.failed}
    for check in final.checks:
        if not check.passed:
            failed.setdefault(check.name, _say_how_it_failed(check, lang))
    return tuple(f"✗ {one_line(command)} · {ended}" for command, ended in failed.items())


def _say_how_it_ended(command: CommandRun, lang: str) -> str:
    if command.stopped is not None:
        return translate_to(lang, "stopped ({limit})", limit=one_line(command.stopped))
    return translate_to(lang, "exit {code}", code=command.exit_code)


def _say_how_it_failed(check: CheckRun, lang: str) -> str:
    if check.exit_code is None:
        return translate_to(lang, "failed")
    return translate_to(lang, "exit {code}", code=check.exit_code)


def _name_files(changes: Sequence[Diff], lang: str) -> str:
    named = [f"{one_line(change.path)} +{change.added} −{change.removed}" for change in changes[:_FILES_NAMED]]
    if len(changes) > _FILES_NAMED:
        named.append(translate_to(lang, "and {count} more", count=len(changes) - _FILES_NAMED))
    files = translate_to(lang, ", ").join(named)
    if len(changes) == 1:
        return translate_to(lang, "1 file changed: {files}", files=files)
    return translate_to(lang, "{count} files changed: {files}", count=len(changes), files=files)


def _count_failed(count: int, lang: str) -> str:
    if count == 1:
        return translate_to(lang, "1 change failed")
    return translate_to(lang, "{count} changes failed", count=count)


def _say_whether_checked(final: Final, lang: str) -> str:
    if not final.checks or not all(check.passed for check in final.checks):
        return translate_to(lang, "unverified")
    names = translate_to(lang, ", ").join(one_line(check.name) for check in final.checks)
    return translate_to(lang, "verified by {names}", names=names)


def _format_seconds(duration_s: float, lang: str) -> str:
    if duration_s < 60:
        return translate_to(lang, "{seconds} s", seconds=f"{duration_s:.1f}")
    minutes, seconds = divmod(round(duration_s), 60)
    return translate_to(lang, "{minutes} min {seconds} s", minutes=minutes, seconds=seconds)
