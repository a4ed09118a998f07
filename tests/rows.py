"""A table of cases as one test: pytest takes a millisecond and more for each test of its own, most rows a few microseconds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from typing import Any

import pytest


def each_row(names: str | Sequence[str], table: Iterable[Any], ids: object = None) -> Callable[[Any], Any]:
    """Like `pytest.mark.parametrize`, as one test that tries every row and names those that fail. For rows that leave
    nothing behind: fixtures are the same for all."""
    fields = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [dict(zip(fields, _values(row, len(fields)), strict=True)) for row in table]

    def decorate(test: Any) -> Any:
        if inspect.iscoroutinefunction(test):

            async def every_row(*args: Any, **fixtures: Any) -> None:
                failed: list[BaseException] = []
                for row in rows:
                    with _kept(failed, row):
                        await test(*args, **fixtures, **row)
                _raise(failed, len(rows))

        else:

            def every_row(*args: Any, **fixtures: Any) -> None:  # type: ignore[misc]
                failed: list[BaseException] = []
                for row in rows:
                    with _kept(failed, row):
                        test(*args, **fixtures, **row)
                _raise(failed, len(rows))

        every_row.__name__, every_row.__qualname__ = test.__name__, test.__qualname__
        every_row.__module__, every_row.__doc__ = test.__module__, test.__doc__
        every_row.__dict__.update(test.__dict__)  # its marks
        others = [each for each in inspect.signature(test).parameters.values() if each.name not in fields]
        every_row.__signature__ = inspect.Signature(others)  # type: ignore[attr-defined]
        return every_row

    return decorate


def _values(row: Any, count: int) -> Sequence[Any]:
    if isinstance(row, type(pytest.param())):
        assert not row.marks, row.marks
        return row.values
    return (row,) if count == 1 else row


@contextmanager
def _kept(failed: list[BaseException], row: dict[str, Any]) -> Any:
    try:
        yield
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - whatever a row raises is told with those of the others
        error.add_note(f"in the row {row!r:.1000}")
        failed.append(error)


def _raise(failed: list[BaseException], count: int) -> None:
    if len(failed) == 1:
        raise failed[0]
    if failed:
        raise BaseExceptionGroup(f"{len(failed)} of {count} rows failed", failed[:20])
    assert count, "the table is empty"
