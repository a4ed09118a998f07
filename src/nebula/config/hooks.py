"""The user's hooks: commands at certain moments of a turn. A wrong value costs a remark, and the rest counts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from nebula.language import Sentence

MOMENTS: Final = ("turn_start", "before_write", "after_write", "turn_end", "waiting")
OUTSIDE: Final = ("turn_end", "waiting")
"""Moments whose hooks run on the machine itself, not in a layer; they may also be `notify`."""
NOTIFY: Final = "notify"


def hooks(value: Any) -> Mapping[str, tuple[str, ...]]:
    """Return the commands of each moment, without what `hook_problems` names."""
    if not isinstance(value, dict):
        return MappingProxyType({})
    return MappingProxyType(
        {moment: tuple(found) for moment in MOMENTS if (found := _commands(moment, value.get(moment)))}
    )


def hook_problems(value: Any) -> list[Sentence]:
    """Return what is wrong with the value, one sentence each."""
    if not isinstance(value, dict):
        return [Sentence("'hooks': expected an object of moments, each with a list of commands")]
    problems = []
    for moment, said in value.items():
        if moment not in MOMENTS:
            known = ", ".join(MOMENTS)
            problems.append(
                Sentence("'hooks': there is no moment '{moment}'; there are: {known}", moment=moment, known=known)
            )
        elif not isinstance(said, list) or _commands(moment, said) != said:
            problems.append(
                Sentence(
                    "'hooks.{moment}': expected a list of commands; anything else in it is left out", moment=moment
                )
            )
    return problems


def _commands(moment: str, said: Any) -> list[str]:
    found = [each for each in said if isinstance(each, str) and each.strip()] if isinstance(said, list) else []
    return [each for each in found if each != NOTIFY or moment in OUTSIDE]
