"""Settings and where they come from.

Precedence: command line > environment > project `.nebula/config.json` > `~/.nebula/config.json` > defaults.
`settings` declares each of them once; `load` reads the layers; `user_file` keeps what the user chose.
"""

from nebula.config.checks import ConfigError
from nebula.config.load import load_settings
from nebula.config.settings import Settings
from nebula.config.user_file import is_declined, remember_extensions, remember_trust, save_choice
from nebula.providers import DEFAULT_MODEL

__all__ = [
    "DEFAULT_MODEL",
    "ConfigError",
    "Settings",
    "is_declined",
    "load_settings",
    "remember_extensions",
    "remember_trust",
    "save_choice",
]
