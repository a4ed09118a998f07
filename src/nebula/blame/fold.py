"""Authorship as a fold over the states of files, in the order in which turns found and left them.

What a turn found and what the turn before it left differ by what somebody else did; what a turn left and what it found
differ by what the turn did. A state that comes back (undo, restore, checkout) brings its authors along, since they
belong to the content and not to the time. Only paths that a question needs are folded.
"""

from __future__ import annotations

import errno
import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Protocol

from nebula.blame import text
from nebula.blame.authors import BEFORE, YOU, Author
from nebula.blame.course import NOTHING, Course, FileAuthors, GoneLine, enter, file_of, find_renames, settle, take_back
from nebula.blame.inherit import Inheritance, Lost, inherit
from nebula.files.digest import digest
from nebula.workspace.journal.changes import RecordedChange

_END = 1 << 62
_HEIR_SHARE = 2
"""A file is the heir of a missing one when it has at least one of so many of its telling lines."""


class History(Protocol):
    """What is known of the files of a project."""

    def paths(self, end: int) -> Sequence[str]:
        """Return every path that a turn changed before a place in the journal."""

    def changes(self, path: str) -> Sequence[RecordedChange]:
        """Return the changes of a path, oldest first."""

    def changes_of(self, turn: str) -> Sequence[RecordedChange]:
        """Return the changes of a turn, oldest first."""

    def content(self, state: str) -> bytes | None:
        """Return the content of a state; None where it was not kept."""

    def now(self, path: str) -> bytes | None:
        """Return the file as it is; None where there is none, or none that may be read."""

    def was_carried(self, since: str, until: str | None) -> bool:
        """Return True if git moved contents about between two times: a checkout, rebase, merge, stash or the like."""


class Fold:
    def __init__(self, history: History) -> None:
        self._history = history
        self._courses: dict[str, Course] = {}
        self._busy: set[str] = set()

    def authors(self, path: str, content: bytes, *, is_in_git: bool = False) -> list[Author]:
        """Return the author of each line of a file as it is now, or as git has it."""
        course = self._fold(path, _END)
        return list(self._meet(path, course, content, is_in_git=is_in_git).owners())

    def find_carried_here(self, path: str, content: bytes, authors: Sequence[Author | None]) -> list[Author | None]:
        """Return for each line without an author the turn that wrote it, where another file lost it, by nobody of
        ours, before a turn first changed this one."""
        changes = self._history.changes(path)
        end = changes[0].seq if changes else _END
        others = (other for other in self._history.paths(end) if other != path)
        lost = (each for other in others for each in self._lost_between(other, 0, end) if each.owner.kind == "turn")
        here = Inheritance(0, 0, text.split(content), list(authors), [], content)
        here.claim_moved(lost)
        return here.owners

    def _fold(self, path: str, end: int) -> Course:
        """Fold the changes of a path before a place in the journal."""
        course = self._courses.setdefault(path, Course())
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
                course.place = change.seq
        finally:
            self._busy.discard(path)
        return course

    def _find(self, path: str, course: Course, change: RecordedChange) -> None:
        """Take in the state that a change found."""
        name = file_of(change.before)
        if course.state is not None and name == course.name:
            return
        is_back = name is None or name in course.known
        state = self._state_found(path, course, change)
        if state is None:
            course.is_known, course.name = False, name
            return
        if is_back and course.state is not None:
            self._note_lost(course, course.state, state, with_state=True)
        enter(course, state, name, change.ts)

    def _state_found(self, path: str, course: Course, change: RecordedChange) -> FileAuthors | None:
        """Return the state that the next change of a course found; None where its content was not kept."""
        name = file_of(change.before)
        if name is None:
            return NOTHING
        if name in course.known:
            return course.known[name]
        content = self._history.content(name)
        return None if content is None else self._meet(path, course, content, change)

    def _meet(
        self,
        path: str,
        course: Course,
        content: bytes,
        change: RecordedChange | None = None,
        *,
        is_in_git: bool = False,
    ) -> FileAuthors:
        """Return a content that nobody of ours has written with its authors: between two turns, or now."""
        if course.known and (known := course.known.get(digest(content))) is not None:
            return known
        base, author = course.state, YOU if course.is_known else BEFORE
        if base is None:
            base, author = self._inherit_file(path, course, content, change)
        heritage = inherit(self._content(base), base.owners(), content)
        if not heritage.is_settled:
            heritage.claim_moved(self._lost_elsewhere(path, course, change))
        until = change.ts if change else None
        if not heritage.is_settled:
            self._bring_back(course, heritage, until, is_in_git=is_in_git)
        return settle(course, base, heritage, content, author, (course.since, until))

    def _inherit_file(
        self, path: str, course: Course, content: bytes, change: RecordedChange | None
    ) -> tuple[FileAuthors, Author]:
        """Return what a file without a past comes from, and who has put the rest of it there."""
        found = self._find_heir(path, content, change)
        if found is None:
            return NOTHING, BEFORE
        state, past = found
        course.taken_out, course.since, course.place = dict(past.taken_out), past.since, past.place
        return state, YOU

    def _leave(self, path: str, course: Course, change: RecordedChange) -> None:
        """Take in the state that a change left."""
        name = file_of(change.after)
        content = self._history.content(name) if name is not None else b""
        if content is None:
            course.is_known, course.name = False, name
            return
        state = course.known.get(name or "")
        if name is None:
            state = NOTHING
        if state is None and change.before is None and change.kind == "write":
            state = self._carried_whole(path, course, change, content)
        if state is None:
            base = course.state or NOTHING
            heritage = inherit(self._content(base), base.owners(), content)
            author = Author("turn", change.turn) if change.kind == "write" and course.is_known else BEFORE
            if not heritage.is_settled and change.kind != "write":
                take_back(course, heritage, lambda _: True)
            if not heritage.is_settled:
                heritage.claim_moved([*self._lost_before(path, course, change), *self._lost_in_turn(path, change)])
            state = settle(course, base, heritage, content, author)
        elif course.state is not None:
            self._note_lost(course, course.state, state)
        if change.before is None and change.kind == "write":
            self._take_over_past(path, course, change, content)
        course.is_known = True
        enter(course, state, name, change.ts)

    def _take_over_past(self, path: str, course: Course, change: RecordedChange, content: bytes) -> None:
        """Let a file that a turn made of one that it removed know what stood in that one: git may carry it back."""
        keys = {text.key(line) for line in text.split(content)}
        for other, own in self._others_of_turn(path, change).items():
            *_, (first, last) = _stretches(own)
            past = self._fold(other, first.seq)
            found = self._state_found(other, past, first) if last.after is None else None
            if found is not None and _count_shared(self._content(found), keys):
                gone = inherit(self._content(found), found.owners(), content).lost
                taken_out = {line.key: GoneLine(line.owner) for line in gone if text.says_anything(line.key)}
                course.taken_out = past.taken_out | taken_out | course.taken_out

    def _carried_whole(self, path: str, course: Course, change: RecordedChange, content: bytes) -> FileAuthors | None:
        """Return the state of a file that the turn only gave another path, as short as its lines may be."""
        others = self._others_of_turn(path, change)
        last = {other: list(_stretches(own))[-1] for other, own in others.items()}
        ends = {other: (first.before, end.after) for other, (first, end) in last.items()}
        old = find_renames({**ends, path: (None, change.after)}).get(path)
        if old is None:
            return None
        first = last[old][0]
        past = self._fold(old, first.seq)
        found = self._state_found(old, past, first)
        if found is None:
            return None
        state = FileAuthors(content, middle=list(found.owners()))
        state.remember()
        return state

    def _others_of_turn(self, path: str, change: RecordedChange) -> dict[str, list[RecordedChange]]:
        """Return the changes that the turn of a change made to other files."""
        courses: dict[str, list[RecordedChange]] = {}
        for each in self._history.changes_of(change.turn):
            if each.path != path and each.kind == change.kind:
                courses.setdefault(each.path, []).append(each)
        return courses

    def _lost_before(self, path: str, course: Course, change: RecordedChange) -> Iterator[Lost[Author]]:
        """Yield the lines that the turn of a change took out of the same file before it: a turn may put them back."""
        own = (each for each in self._history.changes_of(change.turn) if (each.path, each.kind) == (path, change.kind))
        for first, _ in _stretches([each for each in own if each.seq < change.seq]):
            found = course.known.get(file_of(first.before) or "")
            if found is not None:
                yield from inherit(self._content(found), found.owners(), self._content(course.state or NOTHING)).lost

    def _lost_in_turn(self, path: str, change: RecordedChange) -> Iterator[Lost[Author]]:
        """Yield the lines that the turn of a change took out of other files."""
        others = self._others_of_turn(path, change)
        for other, first, last in ((other, *ends) for other, own in others.items() for ends in _stretches(own)):
            changes = self._history.changes(other)
            place = bisect_left(changes, first.seq, key=lambda each: each.seq)
            if place and changes[place - 1].seq > change.seq:
                continue  # what it found was not there yet
            after = file_of(last.after)
            left = self._history.content(after) if after is not None else b""
            found = self._state_found(other, self._fold(other, first.seq), first)
            if found is not None and left is not None:
                yield from inherit(self._content(found), found.owners(), left).lost

    def _lost_elsewhere(self, path: str, course: Course, change: RecordedChange | None) -> Iterator[Lost[Author]]:
        """Yield the lines that other files lost, by nobody of ours, while this one changed by nobody of ours."""
        if course.place is None:
            return  # nothing says since when its lines stand there
        end = change.seq if change is not None else _END
        for other in self._history.paths(end):
            if other != path:
                yield from self._lost_between(other, course.place, end)

    def _lost_between(self, path: str, start: int, end: int) -> Iterator[Lost[Author]]:
        """Yield the lines that a file lost by nobody of ours, as far as that may have been between two places."""
        changes = self._history.changes(path)
        for number, change in enumerate(changes):
            following = changes[number + 1] if number + 1 < len(changes) else None
            if change.seq >= end:
                return
            left = file_of(change.after)
            is_over = following is not None and (following.seq < start or file_of(following.before) == left)
            if left is None or is_over:
                continue
            then = self._history.now(path) if following is None else self._content_found(following)
            if then is not None and digest(then) == left:
                continue
            state = self._fold(path, change.seq + 1).known.get(left)
            if state is not None:
                yield from inherit(self._content(state), state.owners(), then or b"").lost

    def _content(self, state: FileAuthors) -> bytes:
        """Return the content of a state. Raises OSError for one that went from the journal since it was read."""
        if state.content is None:
            state.content = self._history.content(state.name or "")
            if state.content is None:
                raise OSError(errno.EIO, os.strerror(errno.EIO), state.name)
        return state.content

    def _note_lost(self, course: Course, state: FileAuthors, after: FileAuthors, *, with_state: bool = False) -> None:
        for line in inherit(self._content(state), state.owners(), self._content(after)).lost:
            if text.says_anything(line.key):
                course.taken_out[line.key] = GoneLine(line.owner, with_state=with_state)

    def _bring_back(self, course: Course, heritage: Inheritance[Author], until: str | None, *, is_in_git: bool) -> None:
        """Give lines that git has, or carried back, the author they had: it moved contents about since, or when they
        went."""
        carried = self._history.was_carried
        if not any(text.key(line) in course.taken_out for line in heritage.find_open()):
            return
        is_carried = is_in_git or carried(course.since, until)
        take_back(
            course,
            heritage,
            lambda gone: is_carried or gone.with_state or bool(gone.since and carried(gone.since, gone.until)),
        )

    def _content_found(self, change: RecordedChange) -> bytes | None:
        name = file_of(change.before)
        return self._history.content(name) if name is not None else None

    def _find_heir(self, path: str, content: bytes, change: RecordedChange | None) -> tuple[FileAuthors, Course] | None:
        """Return the last state of the missing file that a file without a past has most of the lines of."""
        start = change.seq if change is not None else _END
        keys = {text.key(line) for line in text.split(content)}
        best, most = None, 0
        for other in self._history.paths(start):
            if other == path or (name := self._find_missing(other, start)) is None:
                continue
            course = self._fold(other, start)
            state = course.known.get(name)
            if state is None:
                continue
            shared = _count_shared(self._content(state), keys)
            if shared > most:
                best, most = (state, course), shared
        return best

    def _find_missing(self, path: str, start: int) -> str | None:
        """Return the name of the last state of a path that went by nobody of ours before a place in the journal."""
        changes = self._history.changes(path)
        count = sum(change.seq < start for change in changes)
        for place in range(count - 1, -1, -1):
            left = file_of(changes[place].after)
            if left is None:
                continue
            following = changes[place + 1].before if place + 1 < len(changes) else self._history.now(path)
            if following is None:
                return left
        return None


def _stretches(changes: Sequence[RecordedChange]) -> Iterator[tuple[RecordedChange, RecordedChange]]:
    """Yield the first and the last of those changes that follow one another with nobody else's between them."""
    first = 0
    for place in range(1, len(changes) + 1):
        if place == len(changes) or changes[place].before != changes[place - 1].after:
            yield changes[first], changes[place - 1]
            first = place


def _count_shared(old: bytes, keys: set[bytes]) -> int:
    """Return how many telling lines (of none, short ones) of a file that is gone another one has; 0 where those are too
    few for its heir."""
    lines = {line for line in map(text.key, text.split(old)) if text.says_anything(line)}
    telling = set(filter(text.is_telling, lines)) or lines
    shared = len(telling & keys)
    return shared if shared * _HEIR_SHARE >= len(telling) else 0
