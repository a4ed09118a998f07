"""Where a message was written: operating system and working directory."""

from __future__ import annotations

import os
import sys

from nebula.value import value

from .json_forms import read_list, read_optional_field, read_text
from .truncation import truncate_safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_CURRENT_WORKING_DIRECTORY_LEN = 256

_SYSTEM_NAMES = {"darwin": "macos", "win32": "windows"}


@value
class EnvState:
    """Operating system (`linux`, `macos`, `windows`, …) and working directory, each None where unknown."""

    operating_system: str | None = None
    current_working_directory: str | None = None
    environment_variables: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "environment_variables", tuple(self.environment_variables))

    def to_json(self) -> dict[str, Any]:
        return {
            "operating_system": self.operating_system,
            "current_working_directory": self.current_working_directory,
            "environment_variables": list(self.environment_variables),
        }

    @classmethod
    def from_json(cls, obj: object) -> EnvState:
        return cls(
            read_optional_field(obj, "operating_system", read_text),
            read_optional_field(obj, "current_working_directory", read_text),
            read_optional_field(obj, "environment_variables", read_list(read_text)) or (),
        )


@value
class UserEnvContext:
    """The environment a user message carries along."""

    env_state: EnvState | None = None

    @classmethod
    def generate_new(cls) -> UserEnvContext:
        """The state of this process, now."""
        return cls(EnvState(_operating_system(), _working_directory()))

    def to_json(self) -> dict[str, Any]:
        return {"env_state": None if self.env_state is None else self.env_state.to_json()}

    @classmethod
    def from_json(cls, obj: object) -> UserEnvContext:
        return cls(read_optional_field(obj, "env_state", EnvState.from_json))


def _operating_system() -> str:
    return _SYSTEM_NAMES.get(sys.platform) or sys.platform.rstrip("0123456789")


def _working_directory() -> str | None:
    try:
        raw = os.fsencode(os.getcwd())
    except OSError as error:
        import logging  # only here: nothing else in this room needs it

        logging.getLogger(__name__).error("working directory unknown: %s", error)
        return None
    # A name that is not UTF-8 could never be sent; its odd bytes become U+FFFD.
    return truncate_safe(raw.decode("utf-8", "replace"), MAX_CURRENT_WORKING_DIRECTORY_LEN)
