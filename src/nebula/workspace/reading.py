"""The files of a project for reading: list, read, search. Writing is refused here, and this module has no code for
it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from nebula.files.descriptors import ClosedByBlock, closed_after
from nebula.files.digest import digest
from nebula.files.reading import read_all
from nebula.workspace.contract import (
    DEFAULT_LIST_ITEMS,
    DEFAULT_SEARCH_FILES,
    FileLines,
    FileText,
    Kinds,
    Listing,
    PathState,
    SearchHits,
    WriteMode,
    WriteResult,
)
from nebula.workspace.errors import MalformedRequest, NotUtf8, ReadOnly, SecretPath, TooLarge
from nebula.workspace.guard.jail import Jail, require_regular, translate
from nebula.workspace.guard.judge import Judge
from nebula.workspace.guard.paths import NormalPath
from nebula.workspace.line_ranges import read_line_range
from nebula.workspace.search.explore import Explorer

MAX_KEYWORD = 10_000


class ReadingWorkspace(ClosedByBlock):
    """List, read, search. Writing is refused."""

    def __init__(self, jail: Jail, judge: Judge, *, turn: str = "") -> None:
        self._jail = jail
        self._judge = judge
        self._turn = turn

    @property
    def read_only(self) -> bool:
        return True

    @property
    def root(self) -> str:
        """The absolute path of the root, for programs that are started there; not for messages."""
        return self._jail.root

    def close(self) -> None:
        self._jail.close()

    def read_file(self, path: str) -> FileText:
        place = self._jail.place(path)
        limit = self._judge.policy.max_bytes
        with self._opened(place) as (fd, secret):
            size = require_regular(fd, place.text).st_size
            content = os.read(fd, min(size, limit) + 1)
            while len(content) <= limit and len(content) != size and (more := os.read(fd, limit)):
                content += more  # it grew, or its size was not known before
                size = -1
        if len(content) > limit:
            raise TooLarge("{path}: has more than the {limit} bytes allowed.", path=place.text, limit=limit)
        return FileText(place.text, _shown(content, place), digest(content), len(content), secret)

    def read_bytes(self, path: str, limit: int) -> bytes:
        """Return the bytes of a file of any kind, such as an image, with at most `limit` bytes. A secret file is always
        refused."""
        place = self._jail.place(path)
        with self._opened(place) as (fd, secret):
            require_regular(fd, place.text)
            content = read_all(fd, limit + 1)
        if secret:
            raise SecretPath("{path}: is a secret file, and no text.", path=place.text)
        if len(content) > limit:
            raise TooLarge("{path}: has more than the {limit} bytes allowed.", path=place.text, limit=limit)
        return content

    def resolve(self, path: str) -> str:
        """Return the path after following its links. Raises PathEscape."""
        return self._jail.resolve(self._jail.place(path)).text

    def read_lines(self, path: str, first: int, last: int | None = None) -> FileLines:
        place = self._jail.place(path)
        first = _count(first, 1, sys.maxsize)
        last = None if last is None else _count(last, 1, sys.maxsize)
        with self._opened(place) as (fd, secret):
            require_regular(fd, place.text)
            found = read_line_range(fd, first, last, self._judge.policy.max_bytes)
        text = _shown(found.content, place)
        return FileLines(place.text, text, first, found.last, found.total_lines, found.sha256, found.size, secret)

    @contextmanager
    def _opened(self, place: NormalPath) -> Iterator[tuple[int, bool]]:
        """Yield a descriptor of a file that may be read, and whether the file is secret."""
        secret = place.standing.secret

        def judge_target(real: NormalPath) -> None:
            nonlocal secret
            self._judge.reading(real)
            secret = secret or real.standing.secret

        self._judge.reading(place)
        with closed_after(self._jail.open_for_reading(place, judge_target)) as fd:
            try:
                yield fd, secret
            except OSError as error:
                raise translate(error, place.text) from None

    def list_files(
        self, path: str = ".", *, recursive: bool = False, extensions: Kinds = None, max_items: int | None = None
    ) -> Listing:
        place = self._jail.place(path)
        kinds = _extensions(extensions)
        cap = _count(max_items, DEFAULT_LIST_ITEMS)
        explorer = self._explorer()
        lister = explorer.list_tree if recursive else explorer.list_folder
        with closed_after(self._jail.open_folder(place, _no_judgement)) as fd:
            return lister(place, fd, kinds, cap)

    def search(self, directory: str, keyword: str, *, max_files: int = DEFAULT_SEARCH_FILES) -> SearchHits:
        place = self._jail.place(directory)
        _require_keyword(keyword)
        cap = _count(max_files, DEFAULT_SEARCH_FILES)
        with closed_after(self._jail.open_folder(place, _no_judgement)) as fd:
            return self._explorer().search(place, fd, keyword, self._judge.may_read, cap)

    def probe(self, path: str) -> PathState:
        place = self._jail.place(path)
        status = self._jail.status(self._jail.resolve(place))
        if status is None:
            return PathState(place.text, "missing")
        if stat.S_ISDIR(status.st_mode):
            return PathState(place.text, "directory")
        if not stat.S_ISREG(status.st_mode):
            return PathState(place.text, "other")
        return PathState(place.text, "file", status.st_size)

    def check_write(self, path: str, mode: WriteMode, content: str | None = None) -> PathState:
        raise _read_only()

    def write_file(
        self, path: str, content: str, mode: WriteMode = "create", *, expected: str | None = None
    ) -> WriteResult:
        raise _read_only()

    def roll_back(self) -> tuple[str, ...]:
        raise _read_only()

    def for_turn(self, trace_id: str) -> Self:
        return type(self)(self._jail, self._judge, turn=trace_id)

    def allowing(self, *paths: str) -> Self:
        """Return the same workspace, which also allows these secret or control files by name."""
        return type(self)(self._jail, self._judge.allowing(paths), turn=self._turn)

    def _explorer(self) -> Explorer:
        return Explorer(self._jail)


def _read_only() -> ReadOnly:
    return ReadOnly("This workspace was opened for reading; nothing can be written in it.")


def _no_judgement(path: NormalPath) -> None:
    """Accept the path: any directory may be listed; its files are judged one by one."""


def encode_text(content: object) -> bytes:
    if not isinstance(content, str):
        raise MalformedRequest("The content must be a string.")
    try:
        return content.encode()
    except UnicodeEncodeError:
        raise MalformedRequest("The content is not valid Unicode (it holds a lone surrogate).") from None


def _require_keyword(keyword: object) -> None:
    if not isinstance(keyword, str) or not keyword or "\0" in keyword or len(keyword) > MAX_KEYWORD:
        raise MalformedRequest("The keyword must have 1 to {limit} characters, none of them NUL.", limit=MAX_KEYWORD)
    encode_text(keyword)


def _count(number: object, default: int, highest: int | None = None) -> int:
    if number is None:
        return default
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise MalformedRequest("A limit must be a whole number of at least 1.")
    return min(number, highest or default * 10)


def _shown(content: bytes, place: NormalPath) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise NotUtf8("{path}: is not UTF-8 text, so it cannot be shown.", path=place.text) from None


def _extensions(extensions: Kinds) -> tuple[str, ...] | None:
    if extensions is None:
        return None
    if isinstance(extensions, str) or not all(isinstance(kind, str) for kind in extensions):
        raise MalformedRequest('Extensions must be a list of strings such as ".py".')
    kinds = (kind.strip().lower() for kind in extensions)
    return tuple(kind if kind.startswith(".") else f".{kind}" for kind in kinds if kind) or None
