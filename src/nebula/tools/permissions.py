"""What the user allowed for the rest of a session: writing files, tools of MCP servers, the network, secret files.

Every such yes is held here and nowhere else, so that all of them can be listed and taken back. A yes to one message is
held by that message (`tools/approval`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from nebula.value import field, record, value

EVERY_FILE = "*"


@value
class Permission:
    """Something that is done without asking: writing files, calling a tool of an MCP server, using the network or
    fetching pages of one host, showing a secret file to commands."""

    kind: Literal["write", "ignored", "call", "network", "host", "secret", "rule"]
    name: str
    """A pattern of paths, the name of the tool, "network", a host, a secret file that commands may read, or the option
    of the command line."""
    described: str = ""
    """Of a tool: a digest of how its server described it when the user said yes. Described otherwise, it is another
    tool."""


IGNORED = Permission("ignored", "git-ignored")
"""What commands leave in files that git ignores: each test of a compiled project does."""
NETWORK = Permission("network", "network")
YES_TO_ALL = Permission("rule", "--yes")
"""Ordinary writes and calls of tools, by the command line."""


@record
class Permissions:
    """Everything that the user allowed in one session."""

    _given: list[Permission] = field(default_factory=list)

    def give(self, permission: Permission) -> None:
        if permission not in self._given:
            self._given.append(permission)

    def has(self, permission: Permission) -> bool:
        return permission in self._given

    def reach(self, paths: Iterable[str]) -> bool:
        """Return whether each of `paths` may be written without asking."""
        patterns = [each.name for each in self._given if each.kind == "write"]
        if EVERY_FILE in patterns:
            return True
        from fnmatch import fnmatchcase  # not for every start

        return bool(patterns) and all(any(fnmatchcase(path, each) for each in patterns) for path in paths)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secret files that commands may read."""
        return tuple(each.name for each in self._given if each.kind == "secret")

    @property
    def listed(self) -> tuple[Permission, ...]:
        return tuple(self._given)

    def take_back(self, name: str = "") -> tuple[Permission, ...]:
        """Take back what has this `name`, or everything, and return it."""
        taken = tuple(each for each in self._given if not name or each.name == name)
        self._given = [each for each in self._given if each not in taken]
        return taken
