"""Who wrote a line, from what nodes themselves record: all there is in a clone, which has no journal.

A line is a turn's where it is still as the turn left it: in a file that is, as a whole, as a turn left it; the only
line of its kind here, written by one turn that no later turn took it from; or beside such a line, as it stood in the
record. Anything less certain is nobody's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final

from nebula.blame import text
from nebula.blame.course import file_of, find_renames
from nebula.blame.line_record import UNTOLD, WrittenLine, hash_line, read_removed, read_wrote
from nebula.files.digest import digest
from nebula.value import field, record, value


@value
class TurnLines:
    """A node's record of one file."""

    node_id: str
    path: str
    wrote: str
    removed: str = ""
    before: str = ""
    after: str = ""


@record
class _File:
    """A file, whatever turns have called it."""

    path: str
    records: list[int] = field(default_factory=list)
    """The numbers of the records that are about it, as they follow each other."""


@value
class _Written:
    """A line as some turn wrote it, which no later one is known to have taken out."""

    node_id: str
    file: _File
    place: tuple[int, int]
    """The number of its record and its place there: neighbours differ by one."""


@record
class _Standing:
    """All lines that turns wrote and that should still be somewhere."""

    by_hash: dict[str, list[_Written]]
    by_place: dict[tuple[int, int], tuple[_Written, str]]
    files: dict[str, _File]


_FORWARD: Final = 1
_BACKWARD: Final = -1


def find_writers(
    path: str, content: bytes, records: Sequence[TurnLines], now: Callable[[str], bytes | None]
) -> list[str | None]:
    """Return for each line of a file the id of the node that wrote it; None where that cannot be known.

    `records` are in the order of the turns; `now` returns another file as it is, None where there is none."""
    standing = _replay(records, now)
    hashes = [hash_line(line) for line in text.split(content)]
    found = _match_telling(path, content, hashes, standing, now)
    if path in standing.files:
        _match_states(found, digest(content), hashes, standing.files[path], records, standing)
    _spread(found, hashes, standing, _FORWARD)
    _spread(found, hashes, standing, _BACKWARD)
    return [each.node_id if each is not None else None for each in found]


def _replay(records: Sequence[TurnLines], now: Callable[[str], bytes | None]) -> _Standing:
    standing = _Standing({}, {}, {})
    for _, together in groupby(enumerate(records), lambda each: each[1].node_id):
        turn = list(together)
        renamed = find_renames({own.path: (own.before, own.after) for _, own in turn})
        for new, old in renamed.items():
            if old in standing.files and now(old) is None:  # of a try that nobody took the old one is still there
                standing.files[new] = standing.files.pop(old)
                standing.files[new].path = new
        for number, own in turn:
            if own.path not in renamed and (own.after or own.path not in renamed.values()):
                _replay_one(standing, number, own)
    return standing


def _replay_one(standing: _Standing, number: int, own: TurnLines) -> None:
    file = standing.files.setdefault(own.path, _File(own.path))
    file.records.append(number)
    for removed in read_removed(own.removed):
        _take_out(standing, removed, own.path)
    for line, written in _read_written(number, own, file):
        if line.hash != UNTOLD:
            standing.by_hash.setdefault(line.hash, []).append(written)
            standing.by_place[written.place] = written, line.hash


def _read_written(number: int, own: TurnLines, file: _File) -> Iterator[tuple[WrittenLine, _Written]]:
    last_run, offset = -1, 0
    for place, line in enumerate(read_wrote(own.wrote)):
        offset += line.run != last_run  # a gap, so that the end of a run is no neighbour of the next one's start
        last_run = line.run
        yield line, _Written(own.node_id, file, (number, place + offset))


def _match_states(
    found: list[_Written | None],
    state: str,
    hashes: Sequence[str],
    file: _File,
    records: Sequence[TurnLines],
    standing: _Standing,
) -> None:
    """Give lines to the turn that left the file as it is now, then to the one that left it as that turn found it, and
    so on: for as long as every line that the turn wrote stands where it stood, as short as it may be. Where it was no
    turn that left it so last, a line that a turn took out in between may have been typed again."""
    places = list(range(len(hashes)))
    by_turn = file_of(records[file.records[-1]].after or None) == state
    number = _first_with(state, file, records)
    while number is not None:
        lines = list(_read_written(number, records[number], file))
        if not all(_stands(line, places, hashes) for line, _ in lines):
            return
        for line, written in lines:
            if line.hash != UNTOLD and (by_turn or written.place in standing.by_place):
                found[places[line.number - 1]] = written
        own = {line.number for line, _ in lines}
        places = [place for at, place in enumerate(places, 1) if at not in own]
        before = file_of(records[number].before or None)
        number = _first_with(before, file, records) if before is not None else None


def _first_with(state: str, file: _File, records: Sequence[TurnLines]) -> int | None:
    """Return the number of the record whose turn made a state of a file; None where a turn only found it: a state that
    comes back brings the authors that it had first."""
    for number in file.records:
        if file_of(records[number].before or None) == state:
            return None
        if file_of(records[number].after or None) == state:
            return number
    return None


def _stands(line: WrittenLine, places: Sequence[int], hashes: Sequence[str]) -> bool:
    return 1 <= line.number <= len(places) and line.hash in (UNTOLD, hashes[places[line.number - 1]])


def _take_out(standing: _Standing, hashed: str, path: str) -> None:
    """Forget the last such line that was written into a file."""
    written = standing.by_hash.get(hashed, [])
    for place in range(len(written) - 1, -1, -1):
        if written[place].file.path == path:
            del standing.by_place[written.pop(place).place]
            return


def _match_telling(
    path: str, content: bytes, hashes: Sequence[str], standing: _Standing, now: Callable[[str], bytes | None]
) -> list[_Written | None]:
    found: list[_Written | None] = [None] * len(hashes)
    places: dict[str, list[int]] = {}
    for number, line in enumerate(text.split(content)):
        if text.is_telling(text.key(line)):
            places.setdefault(hashes[number], []).append(number)
    elsewhere: dict[str, frozenset[str]] = {}
    for hashed, numbers in places.items():
        known = standing.by_hash.get(hashed, [])
        own = [each for each in known if each.file.path == path]
        moved = [] if own else [each for each in known if not _still_there(each.file.path, hashed, now, elsewhere)]
        candidates = own or moved
        if len(numbers) <= len(candidates) and len({each.node_id for each in candidates}) == 1:
            for number, written in zip(numbers, candidates, strict=False):
                found[number] = written
    return found


def _still_there(path: str, hashed: str, now: Callable[[str], bytes | None], known: dict[str, frozenset[str]]) -> bool:
    """Return True if the file that a line was written into still has it: then here it is a copy."""
    if path not in known:
        known[path] = frozenset(map(hash_line, text.split(now(path) or b"")))
    return hashed in known[path]


def _spread(found: list[_Written | None], hashes: Sequence[str], standing: _Standing, step: int) -> None:
    """Give a line beside a known one to the same turn, where the record has the two side by side.

    What other turns have put between them since does not part them; a line of nobody does."""
    taken = {each.place for each in found if each is not None}
    reached: dict[int, int] = {}
    """The last place of each record that was met, by the record's number."""
    for number in range(len(hashes))[::step]:
        here = found[number]
        if here is None:
            here = _find_next(hashes[number], reached, step, taken, standing)
            found[number] = here
        if here is None:
            reached.clear()
        else:
            taken.add(here.place)
            reached[here.place[0]] = here.place[1]


def _find_next(
    hashed: str, reached: dict[int, int], step: int, taken: set[tuple[int, int]], standing: _Standing
) -> _Written | None:
    for record_number, last in reached.items():
        place = record_number, last + step
        written = standing.by_place.get(place)
        if written is not None and written[1] == hashed and place not in taken:
            return written[0]
    return None
