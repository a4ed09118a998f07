"""Files that a prompt names: `@path`, `@path:10-80`, `@"a path"`. Most words after an @ name no file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nebula.value import value

MOST_ENDS = 16
"""How many ends are tried for one word: sentences, Japanese ones above all, run on without a space."""

_MENTION = re.compile(r'(?<![0-9A-Za-z_@.])@(?:"([^"\n]+)"|((?:(?!(?<=[^\x00-\x7f])@)[^\s"])+))')
"""A word ends at a blank, at a quote, and before another @ that follows Japanese."""
_LINES = re.compile(r"(.+):L?([0-9]{1,9})(?:-L?([0-9]{1,9}))?")
_END = re.compile(
    r"(?<=[\x21-\x7e])(?=[^\x00-\x7f])|(?<=[^\x00-\x7f])(?=[\x21-\x7e])|(?=[.,:;!?)\]}>'`、。，．：；！？）」』】])"
)
_FILE_ENDING = re.compile(
    r"\.(?:py|pyi|js|ts|tsx|jsx|mjs|md|txt|json|ya?ml|toml|go|rs|java|kt|c|h|cc|cpp|rb|php|html|css|sh|sql|csv|xml"
    r"|png|jpe?g|gif|webp)\Z"
)


@value
class Mention:
    """One way to read a word: a path, and perhaps the lines that are meant."""

    path: str
    first: int | None = None
    last: int | None = None

    @property
    def name(self) -> str:
        if self.first is None:
            return self.path
        return f"{self.path}:{self.first}" + (f"-{self.last}" if self.last != self.first else "")

    @property
    def has_no_lines(self) -> bool:
        """Return whether the mention names a range that holds no line: `a.py:9-3` ends before it begins, `a.py:0-0`
        lies before the first line."""
        return self.first is not None and self.last is not None and not 1 <= self.first <= self.last

    @property
    def is_surely_meant(self) -> bool:
        """Return whether somebody who wrote this and gets no file should be told so."""
        if self.first is not None or _FILE_ENDING.search(self.path.rpartition("/")[2]) is not None:
            return True
        # `@/components/Button` is how some projects import; a file of this machine is no such thing.
        return self.path.startswith(("/", "~/")) and os.path.isfile(os.path.expanduser(self.path))


def mentioned_files(prompt: str) -> Iterator[list[Mention]]:
    """Yield for each word after an @ the ways to read it, the longest first."""
    for quoted, word in _MENTION.findall(prompt):
        yield _readings(quoted, [len(quoted)]) if quoted else _readings(word, _ends(word))


def _ends(word: str) -> list[int]:
    found = {len(word), *(match.start() for match in _END.finditer(word))}
    return sorted(found - {0}, reverse=True)[:MOST_ENDS]


def _readings(word: str, ends: list[int]) -> list[Mention]:
    readings: list[Mention] = []
    for end in ends:
        part = word[:end]
        readings.append(Mention(part))
        if lines := _LINES.fullmatch(part):
            first, last = int(lines[2]), int(lines[3]) if lines[3] else int(lines[2])
            readings.append(Mention(lines[1], first, last))
    return readings
