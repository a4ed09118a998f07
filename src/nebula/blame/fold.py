"""Authorship as a fold over the states of files, in the order in which turns found and left them.

What a turn found and what the turn before it left differ by what somebody else did; what a turn left and what it found
differ by what the turn did. A state that comes back (undo, restore, checkout) brings its authors along, since they
belong to the content and not to the time. Only paths that a question needs are folded.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from typing import Protocol

from nebula.blame import text
from nebula.blame.authors import BEFORE, YOU, Author
from nebula.blame.inherit import Inheritance, Lost, inherit
from nebula.files.digest import digest
from nebula.value import field, record
from nebula.workspace.journal.changes import RecordedChange
from nebula.workspace.journal.states import parse_state

_END = 1 << 62
_HEIR_SHARE = 2
"""A file is the heir of a missing one when it has at least one of so many of its telling lines."""


class History(Protocol):
    """What is known of the files of a project."""

    def paths(self, end: int) -> Sequence[str]:
        """Return every path that a turn changed before a place in the journal."""

    def changes(self, path: str) -> Sequence[RecordedChange]:
        """Return the changes of a path, oldest first."""

    def changes_of(self, group: str) -> Sequence[RecordedChange]:
        """Return the changes of a turn, oldest first."""

    def content(self, state: str) -> bytes | None:
        """Return the content of a state; None where it was not kept."""

    def now(self, path: str) -> bytes | None:
        """Return the file as it is; None where there is none, or none that may be read."""

    def was_carried(self, since: str, until: str | None) -> bool:
        """Return True if git moved contents about between two times: a checkout, rebase, merge, stash or the like."""


@record
class _State:
    """A content with its authors, kept as the difference from another one: a long history holds few lines twice."""

    content: bytes | None
    """None: the journal has it under the name."""
    name: str | None = None
    """Of its content in the journal; None: it is in no journal, or not needed from there."""
    base: _State | None = None
    head: int = 0
    tail: int = 0
    middle: list[Author] = field(default_factory=list)
    _owners: list[Author] | None = None
    """Of the newest state of a course: the next one is worked out from it."""

    def owners(self) -> list[Author]:
        """Return the author of each line, in a list that is good until the next state is worked out."""
        chain = [self]
        while chain[-1]._owners is None and (base := chain[-1].base) is not None:
            chain.append(base)
        first = chain.pop()
        owners = list(first.middle) if first._owners is None else first._owners
        if chain:
            owners = list(owners)
        for state in reversed(chain):
            owners[state.head : len(owners) - state.tail] = state.middle
        return owners

    def remember(self) -> None:
        """Keep the authors of all lines, in place of the state that this one was worked out from."""
        base = self.base
        if base is None or base._owners is None:
            self._owners = self.owners()
            return
        self._owners, base._owners = base._owners, None
        if base.name is not None:
            base.content = None  # a long history would fill the memory
        self._owners[self.head : len(self._owners) - self.tail] = self.middle


_NOTHING = _State(b"")


@record
class _Course:
    """One path, as far as it was folded."""

    done: int = 0
    """How many of its changes were folded."""
    state: _State | None = None
    """None: not met yet."""
    name: str | None = None
    """The state's name in the journal; None: there is no file, or its content is not known."""
    since: str = ""
    """When the state was met."""
    is_known: bool = True
    """False after a state whose content was not kept: who wrote what since then cannot be known."""
    known: dict[str, _State] = field(default_factory=dict)
    """States by name; the first authors of a content are its authors."""
    taken_out: dict[bytes, Author] = field(default_factory=dict)
    """The last author of each telling line that stood here once."""


class Fold:
    def __init__(self, history: History) -> None:
        self._history = history
        self._courses: dict[str, _Course] = {}
        self._busy: set[str] = set()

    def authors(self, path: str, content: bytes) -> list[Author]:
        """Return the author of each line of a file as it is now."""
        course = self._fold(path, _END)
        return list(self._meet(path, course, content).owners())

    def authors_after(self, path: str, change: RecordedChange) -> list[Author]:
        """Return the author of each line of a file as a change left it."""
        course = self._fold(path, change.seq + 1)
        state = course.known.get(_file(change.after) or "")
        return list(state.owners()) if state is not None else []

    def _fold(self, path: str, end: int) -> _Course:
        """Fold the changes of a path before a place in the journal."""
        course = self._courses.setdefault(path, _Course())
        if path in self._busy:
            return course  # two turns at once that moved lines to and fro: the rest is settled without them
        self._busy.add(path)
        try:
            for change in self._history.changes(path)[course.done :]:
                if change.seq >= end:
                    break
                self._find(path, course, change)
                self._leave(path, course, change)
                course.done += 1
        finally:
            self._busy.discard(path)
        return course

    def _find(self, path: str, course: _Course, change: RecordedChange) -> None:
        """Take in the state that a change found."""
        name = _file(change.before)
        if course.state is not None and name == course.name:
            return
        state = self._state_found(path, course, change)
        if state is None:
            course.is_known, course.name = False, name
        else:
            _enter(course, state, name, change.ts)

    def _state_found(self, path: str, course: _Course, change: RecordedChange) -> _State | None:
        """Return the state that the next change of a course found; None where its content was not kept."""
        name = _file(change.before)
        if name is None:
            return _NOTHING
        if name in course.known:
            return course.known[name]
        content = self._history.content(name)
        return None if content is None else self._meet(path, course, content, change)

    def _meet(self, path: str, course: _Course, content: bytes, change: RecordedChange | None = None) -> _State:
        """Return a content that nobody of ours has written with its authors: between two turns, or now."""
        if course.known and (known := course.known.get(digest(content))) is not None:
            return known
        base, author = course.state, YOU if course.is_known else BEFORE
        if base is None:
            base, author = self._find_heir(path, content, change) or _NOTHING, BEFORE
            if base is not _NOTHING:
                author = YOU
        heritage = inherit(self._content(base), base.owners(), content)
        if not heritage.is_settled:
            heritage.claim_moved(self._lost_elsewhere(path, course, change))
        if not heritage.is_settled and self._history.was_carried(course.since, change.ts if change else None):
            _bring_back(course, heritage)
        return _settle(course, base, heritage, content, author)

    def _leave(self, path: str, course: _Course, change: RecordedChange) -> None:
        """Take in the state that a change left."""
        name = _file(change.after)
        content = self._history.content(name) if name is not None else b""
        if content is None:
            course.is_known, course.name = False, name
            return
        state = course.known.get(name or "")
        if name is None:
            state = _NOTHING
        if state is None:
            base = course.state or _NOTHING
            heritage = inherit(self._content(base), base.owners(), content)
            author = Author("turn", change.group) if change.kind == "write" and course.is_known else BEFORE
            if not heritage.is_settled and change.kind != "write":
                _bring_back(course, heritage)
            if not heritage.is_settled:
                heritage.claim_moved(self._lost_in_turn(path, change))
            state = _settle(course, base, heritage, content, author)
        elif course.state is not None:
            self._note_lost(course, course.state, state)
        course.is_known = True
        _enter(course, state, name, change.ts)

    def _lost_in_turn(self, path: str, change: RecordedChange) -> Iterator[Lost[Author]]:
        """Yield the lines that the turn of a change took out of other files."""
        courses: dict[str, list[RecordedChange]] = {}
        for each in self._history.changes_of(change.group):
            if each.path != path and each.kind == change.kind:
                courses.setdefault(each.path, []).append(each)
        for other, own in courses.items():
            after = _file(own[-1].after)
            left = self._history.content(after) if after is not None else b""
            found = self._state_found(other, self._fold(other, own[0].seq), own[0])
            if found is not None and left is not None:
                yield from inherit(self._content(found), found.owners(), left).lost

    def _lost_elsewhere(self, path: str, course: _Course, change: RecordedChange | None) -> Iterator[Lost[Author]]:
        """Yield the lines that other files lost, by nobody of ours, while this one changed by nobody of ours."""
        changes = self._history.changes(path)
        start = changes[course.done - 1].seq if course.done else -1
        for other in self._history.paths(start + 1):
            if other == path:
                continue
            found = self._state_between(other, start)
            if found is None:
                continue
            state, then = found
            content = self._content(state)
            if then != content:
                yield from inherit(content, state.owners(), then or b"").lost

    def _state_between(self, path: str, start: int) -> tuple[_State, bytes | None] | None:
        """Return the state of a path at a place in the journal, and what was found there next."""
        changes = self._history.changes(path)
        after = next((each for each in changes if each.seq > start), None)
        before = [each for each in changes if each.seq <= start]
        if not before:
            return None
        left = _file(before[-1].after)
        if left is None or (after is not None and _file(after.before) == left):
            return None
        then = self._history.now(path) if after is None else self._content_found(after)
        course = self._fold(path, start + 1)
        state = course.known.get(left)
        return (state, then) if state is not None else None

    def _content(self, state: _State) -> bytes:
        """Return the content of a state. Raises OSError for one that went from the journal since it was read."""
        if state.content is None:
            state.content = self._history.content(state.name or "")
            if state.content is None:
                raise OSError(errno.EIO, os.strerror(errno.EIO), state.name)
        return state.content

    def _note_lost(self, course: _Course, state: _State, after: _State) -> None:
        for line in inherit(self._content(state), state.owners(), self._content(after)).lost:
            if text.is_telling(line.key):
                course.taken_out[line.key] = line.owner

    def _content_found(self, change: RecordedChange) -> bytes | None:
        name = _file(change.before)
        return self._history.content(name) if name is not None else None

    def _find_heir(self, path: str, content: bytes, change: RecordedChange | None) -> _State | None:
        """Return the last state of the missing file that a file without a past has most of the lines of."""
        start = change.seq if change is not None else _END
        keys = {text.key(line) for line in text.split(content)}
        best, most = None, 0
        for other in self._history.paths(start):
            if other == path or (found := self._state_between(other, start - 1)) is None or found[1] is not None:
                continue
            telling = {line for line in map(text.key, text.split(self._content(found[0]))) if text.is_telling(line)}
            shared = len(telling & keys)
            if shared > most and shared * _HEIR_SHARE >= len(telling):
                best, most = found[0], shared
        return best


def _file(state: str | None) -> str | None:
    """Return the name of a plain file's content in the journal, whatever its mode; None for anything else."""
    if state is None:
        return None
    entry = parse_state(state)
    return entry.content if entry.kind == "file" else None


def _enter(course: _Course, state: _State, name: str | None, ts: str) -> None:
    course.state, course.name, course.since, course.is_known = state, name, ts, True
    if name is not None:
        state.name = name
        course.known.setdefault(name, state)


def _settle(course: _Course, base: _State, heritage: Inheritance[Author], content: bytes, author: Author) -> _State:
    """Make the state of a content whose lines inherit these authors; `author` has the others."""
    heritage.settle(author)
    for line in heritage.lost:
        if text.is_telling(line.key):
            course.taken_out[line.key] = line.owner
    middle = [each for each in heritage.owners if each is not None]
    state = _State(content, None, base, heritage.head, heritage.tail, middle)
    state.remember()
    return state


def _bring_back(course: _Course, heritage: Inheritance[Author]) -> None:
    """Give lines that stood here once, and come back, the author they had."""
    for number, line in enumerate(heritage.lines):
        if heritage.owners[number] is None:
            heritage.owners[number] = course.taken_out.get(text.key(line))
