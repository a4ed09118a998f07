"""What is wrong with a setting, for a person."""

from __future__ import annotations

from nebula.errors import EXIT_USAGE, NebulaError


class ConfigError(NebulaError):
    """A setting that cannot be used. The sentence names the place and says what to do."""

    exit_code = EXIT_USAGE
