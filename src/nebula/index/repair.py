"""An index file that turns out to be damaged is made anew, and what was asked is asked again.

One that cannot be used for another reason is a sentence to the user.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from nebula.index.stores.sqlite import is_damage, unusable

if TYPE_CHECKING:
    from nebula.index.index import Index

P = ParamSpec("P")
R = TypeVar("R")


def repairing(method: Callable[Concatenate[Index, P], R]) -> Callable[Concatenate[Index, P], R]:
    @wraps(method)
    def repaired(index: Index, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(index, *args, **kwargs)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise unusable(error) from None
            if not is_damage(error):
                raise
        index.make_anew()
        return method(index, *args, **kwargs)

    return repaired
