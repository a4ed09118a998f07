"""A project in memory whose every line says who wrote it, and the journal that its turns would leave."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from nebula.blame.authors import BEFORE, YOU, Author
from nebula.files.digest import digest
from nebula.workspace.journal.changes import RecordedChange


class MarkedProject:
    """Implements `nebula.blame.fold.History`."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.files: dict[str, list[str]] = {}
        self.log: list[RecordedChange] = []
        self.contents: dict[str, bytes] = {}
        self.author_of: dict[str, Author] = {}
        """By the mark that a line carries."""
        self.carried_at: list[str] = []
        self._marks = 0
        self._turns = 0
        self._clock = 0

    # What happens

    def line(self, author: Author) -> str:
        self._marks += 1
        self.author_of[f"mark{self._marks}"] = author
        return f"    value{self._marks} = compute(mark{self._marks})"

    def new_turn(self) -> Author:
        self._turns += 1
        return Author("turn", f"turn-{self._turns}")

    def edit(self, path: str, author: Author) -> None:
        """Change, add, remove, move or reformat some lines of a file."""
        lines = self.files.setdefault(path, [])
        for _ in range(self.random.randint(1, 3)):
            at = self.random.randint(0, len(lines))
            match self.random.choice(["add", "add", "change", "remove", "move", "reformat"]):
                case "add":
                    lines[at:at] = [self.line(author) for _ in range(self.random.randint(1, 3))]
                case "change" if at < len(lines):
                    lines[at] = self.line(author)
                case "remove":
                    del lines[at : at + 2]
                case "move" if lines:
                    moved = lines.pop(min(at, len(lines) - 1))
                    lines.insert(self.random.randint(0, len(lines)), moved)
                case "reformat" if at < len(lines):
                    lines[at] = "\t" + lines[at].strip().replace(" = ", "=")

    def move_between(self, source: str, target: str) -> None:
        lines = self.files.get(source, [])
        if len(lines) > 2:
            at = self.random.randint(0, len(lines) - 2)
            taken = lines[at : at + 2]
            del lines[at : at + 2]
            self.files.setdefault(target, []).extend(taken)

    def record(self, before: dict[str, bytes | None], group: str, kind: str = "write") -> None:
        """Record what a turn did since these contents."""
        for path in sorted({*before, *self.files}):
            old, new = before.get(path), self.now(path)
            if old != new:
                self._clock += 1
                names = [None if each is None else self.keep(each) for each in (old, new)]
                change = RecordedChange(group, kind, path, *names, seq=self._clock, ts=self.time())  # type: ignore[arg-type]
                self.log.append(change)

    def keep(self, content: bytes) -> str:
        name = digest(content)
        self.contents[name] = content
        return name

    def snapshot(self) -> dict[str, bytes | None]:
        return {path: self.now(path) for path in self.files}

    def time(self) -> str:
        return f"2026-01-01T00:00:00.{self._clock:06}"

    # What the fold asks

    def paths(self, end: int) -> Sequence[str]:
        return list(dict.fromkeys(change.path for change in self.log if change.seq < end))

    def changes(self, path: str) -> Sequence[RecordedChange]:
        return [change for change in self.log if change.path == path]

    def changes_of(self, group: str) -> Sequence[RecordedChange]:
        return [change for change in self.log if change.group == group]

    def content(self, state: str) -> bytes | None:
        return self.contents.get(state)

    def now(self, path: str) -> bytes | None:
        lines = self.files.get(path)
        return None if lines is None else "".join(f"{line}\n" for line in lines).encode()

    def was_carried(self, since: str, until: str | None) -> bool:
        return any(since <= each and (until is None or each <= until) for each in self.carried_at)

    def expected(self, path: str) -> list[Author]:
        """Return the author that each line of a file carries; what stood in a file before its first turn is older."""
        return [self.author_of[line.rpartition("(")[2].rstrip(")")] for line in self.files[path]]


__all__ = ["BEFORE", "YOU", "MarkedProject"]
