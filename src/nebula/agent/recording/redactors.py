"""Make a redactor with the secrets that are known before the first event: the user's keys, and the values of secret
files that are allowed by name."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from nebula.config import Settings
from nebula.files.protected_names import names_secret
from nebula.files.reading import UnreadableFile, read_below
from nebula.messages.redaction import Redactor

MAX_SECRET_BYTES = 1024 * 1024


def redactor_of(settings: Settings, allow: Iterable[str] = (), secrets: Iterable[str] = ()) -> Redactor:
    """Return a redactor for a project; `secrets` are further values. A prompt may hold a secret before any tool has
    read it."""
    redactor = Redactor((*settings.secrets, *secrets))
    if not settings.mcp_url:
        learn_secret_files(redactor, settings.root, filter(names_secret, allow))
    return redactor


def learn_secret_files(redactor: Redactor, root: str, paths: Iterable[str]) -> None:
    """Add the values in these files of a project to the redactor; a file that cannot be read has none."""
    for path in paths:
        with suppress(UnreadableFile):
            redactor.learn((read_below(root, path, MAX_SECRET_BYTES) or b"").decode("utf-8", "replace"))
