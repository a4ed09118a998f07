"""The prompt of `nebula -p`: what was typed, and what is piped in behind it."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Sequence

from nebula.attachments import Attachment, is_large
from nebula.cli.arguments import UsageError
from nebula.cli.printing import print_remark
from nebula.config import Settings
from nebula.language import translate
from nebula.messages import MAX_IMAGES_PER_MESSAGE

PATIENCE_S = 1.0
FIRST_BYTE_S = 10.0
"""A pipe that somebody left open and never writes to must not hold the task up for ever."""


_INSTEAD = {
    "help": "nebula --help",
    "plan": 'nebula --mode plan -p "task"',
    "agent": 'nebula --mode agent -p "task"',
    "mode": 'nebula --mode plan -p "task"',
    "model": 'nebula --model NAME -p "task"',
    "sessions": "nebula sessions",
    "history": "nebula sessions",
    "resume": "nebula --resume",
    "graph": "nebula graph",
    "tree": "nebula graph",
    "cost": "nebula kpi",
}


def read_prompt(text: str) -> tuple[str, tuple[Attachment, ...]]:
    """`-` is standard input alone; to any other text what is piped in is appended or, where it is large, attached."""
    piped = _everything() if text == "-" else _piped()
    attached: tuple[Attachment, ...] = ()
    if text == "-":
        text = piped
    elif text.strip() and is_large(piped):
        attached = (Attachment.of_text("standard input", "input", piped),)
    elif piped.strip():
        text = f"{text}\n\n{piped}"
    if not text.strip():
        raise UsageError("the prompt is empty; say what to do after -p")
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), attached


def refuse_session_command(text: str) -> None:
    """Somebody who types one wants it carried out, not talked about. Raises UsageError."""
    name = _session_command(text)
    if name in ("", "compact"):  # which makes sense alone, too
        return
    raise UsageError(
        "/{name} is a command of a session; use instead: {instead}", name=name, instead=_INSTEAD.get(name, "nebula -c")
    )


def expand_command(text: str, settings: Settings) -> str:
    """Return the prompt that `/name ARGUMENTS` of a Markdown file stands for, any other text as it is. Raises
    UsageError for a name that nothing has."""
    if not text.startswith("/") or _session_command(text):
        return text
    from nebula.extensions.commands import expand_typed, is_command_word

    expanded = expand_typed(settings, text)
    if expanded is not None:
        return expanded
    if not is_command_word(text):
        return text
    if settings.extensions_need_trust:
        raise UsageError(
            "there is no command {word} (this project's are used once its folder is trusted: --trust)",
            word=text.split(None, 1)[0],
        )
    raise UsageError(
        "there is no command {word} (to send text that begins with a slash, put a space in front)",
        word=text.split(None, 1)[0],
    )


def _session_command(text: str) -> str:
    """Return the name of the session's command that a text is; empty: none. Only a slash loads them."""
    if not text.startswith("/"):
        return ""
    from nebula.cli.terminal.commands.table import find

    found = find(text)
    return found[0].name if found else ""


def read_images(paths: Sequence[str]) -> tuple[Attachment, ...]:
    """Read the images of --image. Raises UsageError."""
    if not paths:
        return ()
    from nebula.agent.attached.images import BadImage, image_from_file

    if len(paths) > MAX_IMAGES_PER_MESSAGE:
        raise UsageError("--image: a message takes {count} images", count=MAX_IMAGES_PER_MESSAGE)
    try:
        return tuple(map(image_from_file, paths))
    except BadImage as problem:
        raise UsageError("--image: {problem}", problem=problem) from None


def _everything() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _piped() -> str:
    try:
        kind = os.fstat(sys.stdin.fileno()).st_mode
    except OSError:
        return ""
    if stat.S_ISREG(kind):
        return _everything()
    if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
        return ""  # a terminal or /dev/null: nothing was piped
    if not _something_comes(PATIENCE_S):
        print_remark(f"nebula: {translate('waiting for standard input (end it with < /dev/null)')}")
        if not _something_comes(FIRST_BYTE_S - PATIENCE_S):
            print_remark(f"nebula: {translate('nothing came on standard input; going on without it')}")
            return ""
    return _everything()


def _something_comes(seconds: float) -> bool:
    return bool(select.select([sys.stdin.fileno()], [], [], seconds)[0])
