"""Judge a path that a caller wrote, and bring it into normal form, before anything touches the disk.

Judging is a pure function of the text, so its results are cached. Normal form: names joined by "/", none empty, no "."
and no ".."; a ".." that stays inside is resolved by text alone (nothing resolves the result again), one that leaves the
root at any point is refused, even if the path comes back.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from nebula.files.protected_names import Standing, fold_name, standing_of
from nebula.value import value
from nebula.workspace.errors import MalformedRequest, PathEscape, PathRefused

MAX_PATH_BYTES: Final = 4_000
MAX_NAME_BYTES: Final = 255

_JOINERS = "\u200c\u200d"  # needed by Persian and Indic scripts and by joined emoji
_VISIBLE_FORMAT = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2"
_BLANK_LETTERS = "\u115f\u1160\u3164\uffa0\u2800"


@value
class NormalPath:
    text: str
    """The normal form; "." for the root itself."""
    parts: tuple[str, ...]
    standing: Standing
    names_directory: bool
    """It was written with a slash at the end, or is the root itself."""

    @property
    def name(self) -> str:
        return self.parts[-1] if self.parts else "."

    @property
    def lock_key(self) -> str:
        """Equal for all spellings that some file system treats as one file."""
        return "/".join(map(fold_name, self.parts))


def normal_path(path: object) -> NormalPath:
    """Return the path in normal form. Raises MalformedRequest, PathRefused or PathEscape."""
    if not isinstance(path, str):
        raise MalformedRequest("The path must be a string.")
    return _judge(path)


@lru_cache(maxsize=1024)
def _judge(path: str) -> NormalPath:
    if not path.isascii():
        _judge_characters(path)
    elif not path.isprintable():
        raise PathRefused("The path holds control characters; give it without them.")
    if "\\" in path:
        raise PathRefused('The path holds a backslash; separate names with "/".')
    if path.startswith("/"):
        raise PathEscape("The path is absolute; give it relative to the root.")
    parts = _collapse(path)
    text = "/".join(parts)
    if not text.isascii():
        _judge_look_alikes(text)
    if parts and (parts[0] == "~" or parts[0][1:] == ":"):
        raise PathEscape('"~" and drive letters mean nothing here; give the path relative to the root.')
    if len(path.encode()) > MAX_PATH_BYTES or any(len(part.encode()) > MAX_NAME_BYTES for part in parts):
        raise PathRefused("The path is too long for a file system; choose a shorter one.")
    return NormalPath(
        text=text or ".",
        parts=parts,
        standing=standing_of(parts),
        names_directory=not parts or path.endswith(("/", "/.")),
    )


def _collapse(path: str) -> tuple[str, ...]:
    parts: list[str] = []
    for name in path.split("/"):
        if name == "..":
            if not parts:
                raise PathEscape("The path escapes the root; stay below it.")
            parts.pop()
        elif name not in {"", "."}:
            parts.append(name)
    return tuple(parts)


def _judge_characters(path: str) -> None:
    import unicodedata  # most paths are plain ASCII

    for char in path:
        kind = unicodedata.category(char)
        if kind == "Cs":
            raise MalformedRequest("The path is not valid Unicode (it holds a lone surrogate).")
        if kind == "Cc":
            raise PathRefused("The path holds control characters; give it without them.")
        hidden = kind in {"Cf", "Zl", "Zp"} and char not in _JOINERS and char not in _VISIBLE_FORMAT
        if hidden or char in _BLANK_LETTERS:
            raise PathRefused(
                "The path holds an invisible character (U+{code}); give it without.", code=f"{ord(char):04X}"
            )


def _judge_look_alikes(path: str) -> None:
    import unicodedata

    look_alike = unicodedata.normalize("NFKC", path).replace("\\", "/")
    for joiner in _JOINERS:
        look_alike = look_alike.replace(joiner, "")
    if look_alike.startswith("/") or ".." in look_alike.split("/"):
        raise PathEscape('The path holds look-alikes of "/" or ".."; write it in plain characters.')


def folders_above(path: str) -> list[str]:
    """Return the folders that contain a path, outermost first: `a/b/c` → `a`, `a/b`."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
