"""Where a message was written: operating system and working directory."""

from __future__ import annotations

import os
import sys

from nebula.value import value

from .json_forms import JsonObject, form, optional, read_list, read_text
from .truncation import truncate_safe

MAX_CURRENT_WORKING_DIRECTORY_LEN = 256

_SYSTEM_NAMES = {"darwin": "macos", "win32": "windows"}


@value
class EnvState(JsonObject):
    """Operating system (`linux`, `macos`, `windows`, …) and working directory, each None where unknown."""

    operating_system: str | None = None
    current_working_directory: str | None = None
    environment_variables: tuple[str, ...] = ()

    FORM = form(
        operating_system=optional(read_text),
        current_working_directory=optional(read_text),
        environment_variables=optional(read_list(read_text), ()),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "environment_variables", tuple(self.environment_variables))


@value
class UserEnvContext(JsonObject):
    """The environment a user message carries along."""

    env_state: EnvState | None = None

    FORM = form(env_state=optional(EnvState.from_json))

    @classmethod
    def generate_new(cls) -> UserEnvContext:
        """Return the state of this process, now."""
        system = _SYSTEM_NAMES.get(sys.platform) or sys.platform.rstrip("0123456789")
        return cls(EnvState(system, _working_directory()))


def _working_directory() -> str | None:
    try:
        raw = os.fsencode(os.getcwd())
    except OSError as error:
        import logging  # only here: nothing else in this room needs it

        logging.getLogger(__name__).error("working directory unknown: %s", error)
        return None
    # A name that is not UTF-8 could never be sent; its odd bytes become U+FFFD.
    return truncate_safe(raw.decode("utf-8", "replace"), MAX_CURRENT_WORKING_DIRECTORY_LEN)
