"""An image from the clipboard, by the program that the desktop has for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping

from nebula.errors import NebulaError
from nebula.messages import MAX_IMAGE_BYTES

PATIENCE_S = 5.0
_PROGRAMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("WAYLAND_DISPLAY", ("wl-paste", "--no-newline", "--type", "image/png")),
    ("DISPLAY", ("xclip", "-selection", "clipboard", "-target", "image/png", "-out")),
    ("", ("pngpaste", "-")),
)
"""Each with the variable without which it has nothing to talk to."""


class UnreadableClipboard(NebulaError):
    """Raised when no program is there that could read the clipboard."""

    kind = "clipboard"


def clipboard_image(environ: Mapping[str, str] = os.environ) -> bytes | None:
    """Return the image in the clipboard as PNG; None where there is none. Raises UnreadableClipboard."""
    is_readable = False
    for variable, command in _PROGRAMS:
        program = shutil.which(command[0], path=environ.get("PATH"))
        if program is None or (variable and not environ.get(variable)):
            continue
        is_readable = True
        data = _output_of([program, *command[1:]], environ)
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return data
    if not is_readable:
        raise UnreadableClipboard(
            "Nothing here can read the clipboard: that takes wl-paste (Wayland), xclip (X11) or pngpaste (macOS). The "
            "path of an image, typed or pasted, attaches it, too."
        )
    return None


def _output_of(command: list[str], environ: Mapping[str, str]) -> bytes:
    """Return what a program prints, as far as an image may be large; nothing where it fails or takes too long."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet, env=dict(environ)) as running:
        try:
            data, _ = running.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            running.kill()
            return b""
    return data if running.returncode == 0 and len(data) <= MAX_IMAGE_BYTES else b""
