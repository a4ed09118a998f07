"""What a failed check says, made short: where, what, and a few lines of the code there.

A test run prints hundreds of lines, and a model needs five of them. Each rule below knows how one family of tools
names a place; what no rule knows is kept as the end of the output. `fingerprint` tells whether two runs failed in the
same way, whatever time, address or temporary folder they print.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from nebula.messages import truncate_safe
from nebula.value import value

MOST_FAILURES = 8
MOST_BYTES = 6_000
"""Of the whole report: it goes into every request until the turn ends."""
MESSAGE_LENGTH = 400
LINES_AROUND = 2
TAIL_LINES = 25
MOST_INPUT = 2_000_000
"""Longer output is judged by its end, where every runner puts its summary."""


@value
class Failure:
    path: str
    line: int
    message: str


@value
class _Rule:
    """`where` has the groups path and line, perhaps message. `before`, `after` find the message around it."""

    where: re.Pattern[str]
    before: re.Pattern[str] | None = None
    after: re.Pattern[str] | None = None


_PATH = r"(?P<path>(?:[A-Za-z]:)?[^\s:()'\"<>|]+\.\w+)"
_RULES: Sequence[_Rule] = (
    # tsc: src/a.ts(3,7): error TS2322: message
    _Rule(re.compile(rf"^{_PATH}\((?P<line>\d+),\d+\): (?P<message>(?:error|warning)\b.*)$")),
    # pytest's short traceback: tests/test_a.py:12: AssertionError, with the reason on "E" lines above it
    _Rule(re.compile(rf"^{_PATH}:(?P<line>\d+): (?P<message>\w*(?:Error|Exception|Failed|Warning)\w*)$"),
          before=re.compile(r"^E\s+(?P<message>(?![+?^-] )\S.*)$")),
    # gcc, clang, go vet, mypy, ruff --output-format=concise, eslint -f unix: path:3:7: message
    _Rule(re.compile(rf"^\s*{_PATH}:(?P<line>\d+)(?::\d+)?: (?P<message>\S.*)$")),
    # rustc, ruff: the message first, then "--> path:3:7"
    _Rule(re.compile(rf"^\s*--> {_PATH}:(?P<line>\d+):\d+"),
          before=re.compile(r"^(?P<message>(?:error|warning|[A-Z]+\d+|[a-z-]+:).*)$")),
    # rust tests: thread 'x' panicked at src/lib.rs:3:7: and the reason below
    _Rule(re.compile(rf"panicked at {_PATH}:(?P<line>\d+):\d+:?$"), after=re.compile(r"^\s*(?P<message>\S.*)$")),
    # Python: File "a.py", line 3, in f; the last line of the traceback has the reason
    _Rule(re.compile(r'^\s*File "(?P<path>[^"]+)", line (?P<line>\d+)'),
          after=re.compile(r"^(?P<message>[A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit)\b.*)$")),
    # node: at test (/app/a.test.js:3:7) below the reason
    _Rule(re.compile(rf"^\s*at (?:.*[\s(])?(?:file://)?{_PATH}:(?P<line>\d+):\d+\)?$"),
          before=re.compile(r"^\s*(?P<message>(?:\w*Error|AssertionError)\b.*)$")),
)  # fmt: skip
_NEAR = 40
"""How many lines away from its place a message may stand."""


def condense(output: str, root: str, read_lines: Callable[[str], Sequence[str] | None]) -> str:
    """Return the report for the model. `read_lines` gives a project file's lines, or None where it may not be read."""
    found = failures(output, root)
    blocks = [_block(each, read_lines) for each in found[:MOST_FAILURES]]
    if len(found) > MOST_FAILURES:
        blocks.append(f"… and {len(found) - MOST_FAILURES} more places.")
    tail = "\n".join(output.rstrip().splitlines()[-TAIL_LINES:])
    blocks.append("The end of its output:\n" + tail)
    return truncate_safe("\n\n".join(blocks), MOST_BYTES)


def failures(output: str, root: str) -> list[Failure]:
    """Return every place of the project that the output names, in order, each once."""
    lines = _plain(output[-MOST_INPUT:]).splitlines()
    found: dict[tuple[str, int], Failure] = {}
    for number, line in enumerate(lines):
        for rule in _RULES:
            place = rule.where.search(line)
            if place is None:
                continue
            path = _inside(place["path"], root)
            if path is not None:
                message = _message(rule, place, lines, number)
                found.setdefault((path, int(place["line"][:9])), Failure(path, int(place["line"][:9]), message))
            break
    return list(found.values())


def fingerprint(output: str) -> str:
    """Return a text that is equal for two runs that failed in the same way."""
    text = _plain(output[-MOST_INPUT:])
    for pattern, stand_in in _VARYING:
        text = pattern.sub(stand_in, text)
    return "\n".join(line for raw in text.splitlines() if (line := raw.strip()))


_VARYING = (
    (re.compile(r"0x[0-9a-fA-F]+"), "0x…"),
    (re.compile(r"\b\d+(?:\.\d+)?\s?(?:ms|µs|us|ns|s|sec|seconds|m)\b"), "… s"),
    (re.compile(r"\b\d{1,4}[-/:]\d{2}[-/:]\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?)?\b"), "…"),
    (re.compile(r"/tmp/\S+"), "/tmp/…"),  # noqa: S108 - only looked for
    (re.compile(r"\b(?:pid|PID|port)[ =:]+\d+"), "…"),
)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def _plain(text: str) -> str:
    return _ESCAPES.sub("", text)


def _inside(path: str, root: str) -> str | None:
    """Return the path relative to the root; None for one outside, such as a library's."""
    if path.startswith(root.rstrip("/") + "/"):
        path = path[len(root.rstrip("/")) + 1 :]
    path = path.removeprefix("./")
    hidden = path.startswith(("/", "..", "<")) or "site-packages/" in path or "node_modules/" in path
    return None if hidden else path


def _message(rule: _Rule, place: re.Match[str], lines: Sequence[str], number: int) -> str:
    said = place.groupdict().get("message") or ""
    for pattern, around in (
        (rule.before, range(number - 1, max(-1, number - _NEAR), -1)),
        (rule.after, range(number + 1, min(len(lines), number + _NEAR))),
    ):
        if pattern is not None:
            nearest = next(_matches(pattern, lines, around), "")
            said = f"{said}: {nearest}" if said and nearest and nearest not in said else nearest or said
    return said[:MESSAGE_LENGTH]


def _matches(pattern: re.Pattern[str], lines: Sequence[str], around: range) -> Iterator[str]:
    for place in around:
        if match := pattern.match(lines[place]):
            yield match["message"].strip()


def _block(failure: Failure, read_lines: Callable[[str], Sequence[str] | None]) -> str:
    head = f"{failure.path}:{failure.line}: {failure.message}".rstrip(": ")
    lines = read_lines(failure.path)
    if lines is None:
        return head
    first = max(1, failure.line - LINES_AROUND)
    code = [
        f"{'>' if number == failure.line else ' '} {number:5} {text[:160]}"
        for number, text in enumerate(lines[first - 1 : failure.line + LINES_AROUND], start=first)
    ]
    return "\n".join([head, *code])
