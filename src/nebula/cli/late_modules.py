"""Modules of Python that asyncio and argparse import and few commands use, loaded when something of them is asked for.

`inspect` is there for the checks and reports of asyncio's debug mode, `traceback` and `linecache` for reports of what
went wrong, `ssl` for addresses with https, `subprocess` for other programs, `locale` for those whose output is read as
text, `gettext` for sentences of argparse that we translate ourselves. With what they load themselves they were a sixth
of what a first request waited for (`bench/start.py`). A module with next to no names stands in for each; the first
other name that is asked for loads it.
"""

from __future__ import annotations

import sys
from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
else:
    ModuleType = type(sys)  # `evercontext hook run` loads nothing that it does not need


class _NoSocket:
    """asyncio asks of every socket whether it is an `ssl.SSLSocket`: none is while `ssl` is not loaded."""


def _extract_stack(frame: object = None, limit: int | None = None) -> object:
    """Stand in for the function that asyncio takes out of `traceback` to report where a future was made."""
    return _load("traceback").extract_stack(frame or sys._getframe(1), limit)


LATE: dict[str, dict[str, object]] = {
    "inspect": {},
    "traceback": {"extract_stack": _extract_stack},
    "linecache": {},
    "ssl": {"SSLSocket": _NoSocket},
    "asyncio.sslproto": {},
    "subprocess": {"PIPE": -1, "STDOUT": -2, "DEVNULL": -3},
    "locale": {},
    "gettext": {
        "gettext": lambda message: _load("gettext").gettext(message),
        "ngettext": lambda one, many, count: _load("gettext").ngettext(one, many, count),
    },
}
"""Each with what is known of it beforehand."""
_loading = RLock()


class LateModule(ModuleType):
    def __getattr__(self, name: str) -> object:
        if name == "__path__":  # `from … import` asks for it; none of them is a package
            raise AttributeError(name)
        module = _load(self.__name__)
        vars(self).update(vars(module))  # whoever imported this one keeps it: the next name is found at once
        return getattr(module, name)


def _load(name: str) -> ModuleType:
    from importlib import import_module

    with _loading:
        if type(sys.modules.get(name)) is LateModule:
            del sys.modules[name]
        return import_module(name)


def put_off() -> None:
    """Let the modules wait. To be called before asyncio is imported; what is loaded already stays as it is."""
    for name, known in LATE.items():
        if name not in sys.modules:
            sys.modules[name] = stand_in = LateModule(name)
            vars(stand_in).update(known)
