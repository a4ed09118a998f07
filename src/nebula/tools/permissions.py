"""What the user has allowed for the rest of a session: writing files, tools of MCP servers, the network, secret files.

Every such yes is kept here and nowhere else, so that all of them can be listed and revoked. A yes to one message is
kept with that message (`tools/approval`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from nebula.events import ProposedChange
from nebula.language import Sentence
from nebula.value import field, record, value

EVERY_FILE = "*"


@value
class Permission:
    """Something that is done without asking: writing files, calling a tool of an MCP server, using the network,
    fetching pages of one host or of all, showing a secret file to commands."""

    kind: Literal["write", "ignored", "call", "network", "pages", "host", "folder", "secret", "named", "rule"]
    name: str
    """A pattern of paths, the name of the tool, "network", "pages", a host, a folder or a secret file that commands may
    read, what --allow names, or the option of the command line."""
    described: str = ""
    """Of a tool: a digest of its description when the user said yes. With another description it is another tool."""

    @property
    def about(self) -> Sentence:
        """Say what goes without asking."""
        return _ABOUT_ALL if self == ALL_WRITES else _ABOUT[self.kind]


ALL_WRITES = Permission("write", EVERY_FILE)
IGNORED = Permission("ignored", "git-ignored")
"""Changes of commands in files that git ignores: every test run of a compiled project makes some."""
NETWORK = Permission("network", "network")
PAGES = Permission("pages", "pages")
"""Pages of every public host, allowed by a command-line option."""
YES_TO_ALL = Permission("rule", "--yes")
"""Ordinary writes and calls of tools, allowed by a command-line option."""
_ABOUT = {
    "write": Sentence("what is written into such files; not deleting or emptying them"),
    "ignored": Sentence("what commands leave in files that git ignores"),
    "call": Sentence("a tool of an MCP server, as it was described"),
    "network": Sentence("commands that use the network"),
    "pages": Sentence("pages of any public host that are fetched"),
    "host": Sentence("pages of this host that are fetched"),
    "folder": Sentence("a folder that commands may read, in later sessions as well"),
    "secret": Sentence("a secret file that commands may read"),
    "named": Sentence("a secret or control file, treated as any other (--allow)"),
    "rule": Sentence("every ordinary write and every call of a tool"),
}
_ABOUT_ALL = Sentence("every change of ordinary files, what commands delete as well")


@record
class Permissions:
    """Everything that the user allowed in one session."""

    named: set[str] = field(default_factory=set)
    """Secret and control files that --allow names: the guard of the files looks here whenever it judges a path."""
    _given: list[Permission] = field(default_factory=list)

    def give(self, permission: Permission) -> None:
        if permission not in self._given:
            self._given.append(permission)

    def has(self, permission: Permission) -> bool:
        return permission in self._given

    def reach(self, changes: Iterable[ProposedChange]) -> bool:
        """Return whether each of `changes` may be made without asking. A pattern was given for what is written into
        files: it deletes and empties none, makes no link and no file that can be run."""
        patterns = [each.name for each in self._given if each.kind == "write"]
        if EVERY_FILE in patterns:
            return True
        from fnmatch import fnmatchcase  # loaded only when needed

        return bool(patterns) and all(
            change.is_write and any(fnmatchcase(change.path, each) for each in patterns) for change in changes
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secret files that commands may read, and whatever else --allow names."""
        return (*sorted(self.named), *(each.name for each in self._given if each.kind == "secret"))

    @property
    def listed(self) -> tuple[Permission, ...]:
        return (*(Permission("named", name) for name in sorted(self.named)), *self._given)

    def take_back(self, name: str = "") -> tuple[Permission, ...]:
        """Revoke the permission of this `name`, or all of them, and return what was revoked."""
        taken = tuple(each for each in self.listed if not name or each.name == name)
        self._given = [each for each in self._given if each not in taken]
        self.named.difference_update(each.name for each in taken if each.kind == "named")
        return taken
