"""What stands at a path, and the short name it has in the journal and in nodes.

<sha256>          a file with that content, whatever its mode
<sha256>:755      a file with that content and mode
link:<sha256>     a symbolic link; its target is kept like a content
folder:755        a folder
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from nebula.value import replace, value

EntryKind = Literal["file", "link", "folder"]


@value
class EntryState:
    kind: EntryKind
    content: str = ""
    """The sha256 of a file's bytes, or of a link's target."""
    mode: int | None = None
    """Permission bits; None: any. A link has none."""

    @property
    def name(self) -> str:
        if self.kind == "link":
            return f"link:{self.content}"
        if self.kind == "folder":
            return f"folder:{0o755 if self.mode is None else self.mode:o}"
        return self.content if self.mode is None else f"{self.content}:{self.mode:o}"


def parse_state(name: str) -> EntryState:
    first, _, second = name.partition(":")
    if first == "link":
        return EntryState("link", second)
    mode = int(second, 8) & 0o7777 if second and not second.strip("01234567") else None
    return EntryState("folder", mode=mode) if first == "folder" else EntryState("file", first, mode)


def rename_content(name: str, new: Callable[[str], str]) -> str:
    """Return the name of a state with its content renamed."""
    state = parse_state(name)
    return replace(state, content=new(state.content)).name if state.content else name


def content_name(name: str | None) -> str | None:
    """Return the sha256 under which a state's content is kept; None where it has none."""
    return (parse_state(name).content or None) if name is not None else None


def same_state(found: str | None, wanted: str | None) -> bool:
    """Return whether one state may stand for the other; a name without a mode matches every mode."""
    if found == wanted or found is None or wanted is None:
        return found == wanted
    one, other = parse_state(found), parse_state(wanted)
    modes = one.mode == other.mode or None in (one.mode, other.mode)
    return (one.kind, one.content) == (other.kind, other.content) and modes
