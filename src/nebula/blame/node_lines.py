"""Who wrote a line, from what nodes themselves record: all there is in a clone, which has no journal.

A line is a turn's where it is still as the turn left it: the only line of its kind here, written by one turn that no
later turn took it from; or beside such a line, as it stood in the record. Anything less certain is nobody's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from nebula.blame import text
from nebula.blame.line_record import UNTOLD, hash_line, read_removed, read_wrote
from nebula.value import record, value


@value
class TurnLines:
    """A node's record of one file."""

    node_id: str
    path: str
    wrote: str
    removed: str = ""


@value
class _Written:
    """A line as some turn wrote it, which no later one is known to have taken out."""

    node_id: str
    path: str
    place: tuple[int, int]
    """The number of its record and its place there: neighbours differ by one."""


@record
class _Standing:
    """All lines that turns wrote and that should still be somewhere."""

    by_hash: dict[str, list[_Written]]
    by_place: dict[tuple[int, int], tuple[_Written, str]]


_FORWARD: Final = 1
_BACKWARD: Final = -1


def find_writers(
    path: str, content: bytes, records: Sequence[TurnLines], now: Callable[[str], bytes | None]
) -> list[str | None]:
    """Return for each line of a file the id of the node that wrote it; None where that cannot be known.

    `records` are in the order of the turns; `now` returns another file as it is, None where there is none."""
    standing = _replay(records)
    hashes = [hash_line(line) for line in text.split(content)]
    found = _match_telling(path, content, hashes, standing, now)
    _spread(found, hashes, standing, _FORWARD)
    _spread(found, hashes, standing, _BACKWARD)
    return [each.node_id if each is not None else None for each in found]


def _replay(records: Iterable[TurnLines]) -> _Standing:
    standing = _Standing({}, {})
    for number, own in enumerate(records):
        for removed in read_removed(own.removed):
            _take_out(standing, removed, own.path)
        last_run, offset = -1, 0
        for place, line in enumerate(read_wrote(own.wrote)):
            offset += line.run != last_run  # a gap, so that the end of a run is no neighbour of the next one's start
            last_run = line.run
            if line.hash == UNTOLD:
                continue
            written = _Written(own.node_id, own.path, (number, place + offset))
            standing.by_hash.setdefault(line.hash, []).append(written)
            standing.by_place[written.place] = written, line.hash
    return standing


def _take_out(standing: _Standing, hashed: str, path: str) -> None:
    """Forget the last such line that was written into a file."""
    written = standing.by_hash.get(hashed, [])
    for place in range(len(written) - 1, -1, -1):
        if written[place].path == path:
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
        own = [each for each in known if each.path == path]
        moved = [] if own else [each for each in known if not _still_there(each.path, hashed, now, elsewhere)]
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
