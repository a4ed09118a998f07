"""One path on its way: its states with the authors of their lines, the lines that went, and the names it had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from nebula.blame import text
from nebula.blame.authors import Author
from nebula.blame.inherit import Inheritance
from nebula.value import field, record, value
from nebula.workspace.journal.states import parse_state


@record
class FileAuthors:
    """A content with its authors, kept as the difference from another one: a long history holds few lines twice."""

    content: bytes | None
    """None: the journal has it under the name."""
    name: str | None = None
    """Of its content in the journal; None: it is in no journal, or not needed from there."""
    base: FileAuthors | None = None
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


NOTHING = FileAuthors(b"")


@value
class GoneLine:
    """A line that went: by a turn, or between two times by somebody else."""

    author: Author
    since: str = ""
    """Empty: a turn took it out."""
    until: str | None = None
    with_state: bool = False
    """True when an earlier state came back as a whole: whoever brought it (a checkout, a stash) can bring this one."""


@record
class Course:
    """One path, as far as it was folded."""

    done: int = 0
    """How many of its changes were folded."""
    place: int | None = None
    """Where the journal has the last of them, or that of the file this one was before it had another path."""
    state: FileAuthors | None = None
    """None: not met yet."""
    name: str | None = None
    """The state's name in the journal; None: there is no file, or its content is not known."""
    since: str = ""
    """When the state was met."""
    is_known: bool = True
    """False after a state whose content was not kept: who wrote what since then cannot be known."""
    known: dict[str, FileAuthors] = field(default_factory=dict)
    """States by name; the first authors of a content are its authors."""
    taken_out: dict[bytes, GoneLine] = field(default_factory=dict)
    """The lines that stood here once, as they were when they went, but those of nothing but signs."""


def file_of(state: str | None) -> str | None:
    """Return the name of a plain file's content in the journal, whatever its mode; None for anything else."""
    if state is None:
        return None
    entry = parse_state(state)
    return entry.content if entry.kind == "file" else None


def find_renames(ends: Mapping[str, tuple[str | None, str | None]]) -> dict[str, str]:
    """Return the old path of each new one, from the states that a turn found and left at its paths. Where several
    files have the same content nobody can tell which became which."""
    gone = [(name, path) for path, (before, after) in ends.items() if not after and (name := file_of(before or None))]
    came = [(name, path) for path, (before, after) in ends.items() if not before and (name := file_of(after or None))]
    times = Counter(name for name, _ in gone), Counter(name for name, _ in came)
    old = dict(gone)
    return {path: old[name] for name, path in came if times[0][name] == times[1][name] == 1}


def enter(course: Course, state: FileAuthors, name: str | None, ts: str) -> None:
    course.state, course.name, course.since, course.is_known = state, name, ts, True
    if name is not None:
        state.name = name
        course.known.setdefault(name, state)


def settle(
    course: Course,
    base: FileAuthors,
    heritage: Inheritance[Author],
    content: bytes,
    author: Author,
    gap: tuple[str, str | None] = ("", None),
) -> FileAuthors:
    """Make the state of a content whose lines inherit these authors; `author` has the others. `gap` is between which
    times it came to be, where no turn made it."""
    heritage.settle(author)
    for line in heritage.lost:
        if text.says_anything(line.key):
            course.taken_out[line.key] = GoneLine(line.owner, *gap)
    middle = [each for each in heritage.owners if each is not None]
    state = FileAuthors(content, None, base, heritage.head, heritage.tail, middle)
    state.remember()
    return state


def take_back(course: Course, heritage: Inheritance[Author], may_return: Callable[[GoneLine], bool]) -> None:
    """Give lines that stood here once, and come back, the author they had."""
    for number, line in enumerate(heritage.lines):
        if heritage.owners[number] is None:
            key = text.key(line)
            gone = course.taken_out.get(key)
            if gone is not None and may_return(gone) and (text.is_telling(key) or text.is_only(key, heritage.new)):
                heritage.owners[number] = gone.author
