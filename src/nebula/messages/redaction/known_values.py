"""The secrets that a redactor knows, found in a text in a time that grows with the text and hardly with their number.

A few are looked for one by one, which the interpreter does fastest. Of many, such as the 20,000 values of one file,
each place of the text is looked up by its first characters, and what begins with these by its lengths.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

START = 7
"""Characters by which a value is found; it has as many at least."""
FEW = 250
"""So many are found one by one as fast as by their starts."""


class KnownValues:
    def __init__(self) -> None:
        self._values: set[str] = set()
        self._lengths: dict[str, list[int]] = {}
        """By the first characters, the lengths of the values that begin with them, longest first."""
        self._sorted: list[str] = []
        self._longest = 0

    def add(self, values: Iterable[str]) -> bool:
        """Return whether one of them is new."""
        new = set(values) - self._values
        if not new:
            return False
        self._values |= new
        self._sorted = sorted(self._values)
        self._longest = max(self._longest, *map(len, new))
        for value in new:
            lengths = self._lengths.setdefault(value[:START], [])
            if len(value) not in lengths:
                lengths.append(len(value))
                lengths.sort(reverse=True)
        return True

    def are_in(self, text: str) -> bool:
        if len(self._values) <= FEW:
            for value in self._values:  # noqa: SIM110 - for every event, which a generator would make slower
                if value in text:
                    return True
            return False
        return any(True for _ in self._found_by_start(text))

    def replaced(self, text: str, replacement: str) -> str:
        """Return the text without any part of a value; values that overlap are replaced as one."""
        pieces: list[str] = []
        end = 0
        few = len(self._values) <= FEW
        for start, stop in sorted(self._found_one_by_one(text)) if few else self._found_by_start(text):
            if start >= end:
                pieces += text[end:start], replacement
            end = max(end, stop)
        return "".join(pieces) + text[end:] if pieces else text

    def first_across(self, text: str, cut: int) -> int:
        """Return where a value begins that goes on behind `cut`, or may at the end of `text`; else `cut`."""
        for start in range(max(0, cut - self._longest + 1), cut):
            first = text[start : start + START]
            if len(first) < START:
                if self._begins_with(first):
                    return start
            elif first in self._lengths and self._goes_on(text, start, cut):
                return start
        return cut

    def _goes_on(self, text: str, start: int, cut: int) -> bool:
        for length in self._lengths[text[start : start + START]]:
            if start + length > len(text):
                if self._begins_with(text[start:]):
                    return True
            elif start + length > cut and text[start : start + length] in self._values:
                return True
        return False

    def _begins_with(self, start: str) -> bool:
        from bisect import bisect_left  # not for every start

        at = bisect_left(self._sorted, start)
        return at < len(self._sorted) and self._sorted[at].startswith(start)

    def _found_one_by_one(self, text: str) -> Iterator[tuple[int, int]]:
        for value in self._values:
            start = text.find(value)
            while start >= 0:
                yield start, start + len(value)
                start = text.find(value, start + 1)

    def _found_by_start(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the longest value at each place, in order of the places."""
        lengths = self._lengths
        for start in [at for at in range(len(text) - START + 1) if text[at : at + START] in lengths]:
            for length in lengths[text[start : start + START]]:
                if text[start : start + length] in self._values:
                    yield start, start + length
                    break
