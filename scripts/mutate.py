"""Runs mutmut and prints the share of mutants that the tests noticed. Use `scripts/mutate`, which installs it."""

from __future__ import annotations

import functools
import gc
import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

UNNOTICED = (0, 33)  # it survived, or no test comes by
UNTRIED = None


def scores() -> dict[str, Counter[str]]:
    """By module: how many were noticed, and how many there were."""
    found: dict[str, Counter[str]] = {}
    for path in sorted(Path("mutants/src").rglob("*.meta")):
        results = json.loads(path.read_text("utf-8"))["exit_code_by_key"].values()
        tried = [result for result in results if result is not UNTRIED]
        if tried:
            name = str(path.relative_to("mutants/src/nebula").with_suffix(""))
            found[name] = Counter(noticed=sum(result not in UNNOTICED for result in tried), tried=len(tried))
    return found


def forget_what_was_cached() -> None:
    """The tests ran once before mutants are tried: an answer that is kept from then would hide a broken line."""
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper):
            each.cache_clear()


def main() -> None:
    from mutmut.__main__ import cli
    from mutmut.core import MutmutCallStack

    # mutmut notes who called whom in a context variable, on which Python 3.11 crashed; nothing here asks for it.
    MutmutCallStack.set = staticmethod(lambda _: None)
    MutmutCallStack.reset = staticmethod(lambda _: None)
    # mutmut 3.8 reads a name that pytest no longer has.
    pytest.Item._nodeid = property(lambda item: item.nodeid)  # type: ignore[attr-defined]
    os.register_at_fork(after_in_child=forget_what_was_cached)
    cli(["run", *sys.argv[1:]], standalone_mode=False)
    total: Counter[str] = Counter()
    for name, score in scores().items():
        print(f"{score['noticed']:5} of {score['tried']:5}  {name}")
        total += score
    print(f"{total['noticed']:5} of {total['tried']:5}  {100 * total['noticed'] / max(1, total['tried']):.0f} %")


if __name__ == "__main__":
    main()
