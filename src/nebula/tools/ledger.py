"""Remember what the model has seen of each file, so that it never overwrites what it has not read.

A file counts as read when the model has seen its whole present content: in one read, in ranges that together cover it,
or because it wrote the file. Seen ranges are kept as line numbers, so that an edit needs only its own lines to be read.
The ledger can be rebuilt from a conversation (`registry.learn_from`), so a read in an earlier session counts while the
file is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from nebula.events import ProposedChange
from nebula.files.digest import digest
from nebula.value import field, record
from nebula.workspace.changed_lines import Block
from nebula.workspace.diff import split_lines
from nebula.workspace.proposing import blocks_of

BOM = "\ufeff"
Range = tuple[int, int]
"""The first and the last line, counted from 1, both included."""


@record
class _Seen:
    """The lines seen of one content of one file."""

    sha256: str
    whole: bool = False
    ranges: list[Range] = field(default_factory=list)
    """Disjoint and sorted."""

    def add(self, ranges: Iterable[Sequence[int]], lines: int) -> None:
        self.ranges = _joined([*self.ranges, *((first, last) for first, last in ranges)])
        self.whole = self.whole or lines == 0 or any(first <= 1 and last >= lines for first, last in self.ranges)

    def covers(self, first: int, last: int) -> bool:
        return self.whole or any(start <= first and last <= end for start, end in self.ranges)


@record
class ReadLedger:
    """Remembers for each path which lines of which content the model has seen."""

    _seen: dict[str, _Seen] = field(default_factory=dict)
    _once: set[str] = field(default_factory=set)
    """Files of which some content was once seen in full."""
    _shown: dict[str, set[tuple[int, int, str]]] = field(default_factory=dict)
    """Lines of files whose content was not available, each with the hash of its text; see `recognise`."""
    _texts: dict[str, str] | None = None
    """The contents of files, kept while a conversation is read back, so that its edits can be followed."""

    told_of_folders: dict[str, int] = field(default_factory=dict)
    """Folders that were searched for instructions, each with the bytes that the model got."""

    def recent(self, count: int) -> list[str]:
        """Return the files read last, after those of which a search showed something."""
        return list(dict.fromkeys((*self._shown, *self._seen)))[-count:]

    def saw(self, path: str, content: str) -> None:
        """Note that the model saw the whole file."""
        if self._texts is not None:
            self._texts[_normal(path)] = content
        self._saw_whole(_normal(path), digest(content.encode("utf-8", "surrogateescape")))

    def saw_part(self, path: str, sha256: str, lines: int, shown: Iterable[Sequence[int]]) -> None:
        """Note the ranges `shown` of a content with so many `lines`."""
        name = _normal(path)
        seen = self._seen.get(name)
        if seen is None or seen.sha256 != sha256:
            seen = self._seen[name] = _Seen(sha256)
        seen.add(shown, lines)
        if seen.whole:
            self._once.add(name)

    def was_shown(self, path: str, first: int, last: int, text: str) -> None:
        """Note that the model saw these lines, the last one without its line break, of an unknown content of the
        file."""
        self._shown.setdefault(_normal(path), set()).add((first, last, _hash(text)))

    def recognise(self, path: str, sha256: str, content: str) -> None:
        """Count lines that were shown as read if this content has them at the same place. A byte order mark is never
        shown: a model that has seen all but that has read the file."""
        if content.startswith(BOM) and self.knows(path, digest(content.removeprefix(BOM).encode())):
            self._saw_whole(_normal(path), sha256)
        shown = self._shown.get(_normal(path), ())
        lines = split_lines(content) if shown else []
        for first, last, known in shown:
            text = "".join(lines[first - 1 : last]).removesuffix("\n").removesuffix("\r")
            if last <= len(lines) and _hash(text) == known:
                self.saw_part(path, sha256, len(lines), [(first, last)])

    def edited(self, change: ProposedChange, after: str) -> None:
        """Note a change by the model: it knows the new lines, and of the others those that it knew before."""
        name = _normal(change.path)
        seen = self._seen.get(name)
        if seen is None or seen.sha256 != change.before:
            seen = _Seen(change.before)
        if seen.whole:
            self._saw_whole(name, after)
        else:
            self._seen[name] = _Seen(after, ranges=_carried_over(seen.ranges, blocks_of(change)))

    @contextmanager
    def reading_back(self) -> Iterator[None]:
        """Keep contents for the length of the block, so that `edited_so` can follow the edits of a past
        conversation."""
        self._texts = {}
        try:
            yield
        finally:
            self._texts = None

    def edited_so(self, path: str, edit: Callable[[str], str]) -> None:
        """Note an edit of the past: if the content before it was known in full, so is the content after it."""
        before = (self._texts or {}).get(_normal(path))
        if before is not None:
            self.saw(path, edit(before))

    def knows(self, path: str, sha256: str) -> bool:
        seen = self._seen.get(_normal(path))
        return seen is not None and seen.sha256 == sha256 and seen.whole

    def knows_lines(self, path: str, sha256: str, first: int, last: int) -> bool:
        seen = self._seen.get(_normal(path))
        return seen is not None and seen.sha256 == sha256 and seen.covers(first, last)

    def knew(self, path: str) -> bool:
        """Return whether the model has read any content of this file in full, the present one or an earlier one."""
        return _normal(path) in self._once

    def knows_part(self, path: str, sha256: str) -> bool:
        seen = self._seen.get(_normal(path))
        return seen is not None and seen.sha256 == sha256

    def _saw_whole(self, name: str, sha256: str) -> None:
        self._seen[name] = _Seen(sha256, whole=True)
        self._once.add(name)


def _joined(ranges: Iterable[Range]) -> list[Range]:
    joined: list[Range] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def _carried_over(ranges: Sequence[Range], blocks: Sequence[Block]) -> list[Range]:
    """Return the ranges of the old content as lines of the new one, and the new lines."""
    carried = [(start + 1, end) for _, _, start, end in blocks if start < end]
    unchanged = []
    reached = shift = 0
    for a, b, _, d in blocks:
        unchanged.append((reached + 1, a, shift))
        reached, shift = b, d - b
    unchanged.append((reached + 1, max((last for _, last in ranges), default=0), shift))
    for first, last in ranges:
        carried += [
            (max(first, start) + moved, min(last, end) + moved)
            for start, end, moved in unchanged
            if max(first, start) <= min(last, end)
        ]
    return _joined(carried)


def _hash(text: str) -> str:
    return digest(text.encode("utf-8", "surrogatepass"))


def _normal(path: str) -> str:
    name = "/".join(part for part in path.split("/") if part not in ("", "."))
    if name.isascii():
        return name
    from unicodedata import normalize  # most names are plain ASCII

    return normalize("NFC", name)  # the spellings name one file, and its content is compared anyway
