"""Apply the policy to a path: one judge for every caller and every operation.

It judges in this order: malformed 422, path 400 (both in `paths`), extension 400, protection 400. What is on the disk
(404, 409, 413, 415) is judged by whoever has opened it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

from nebula.files.protected_names import is_named
from nebula.value import field, value
from nebula.workspace.contract import DEFAULT_MAX_BYTES
from nebula.workspace.errors import (
    ExtensionRefused,
    MalformedRequest,
    PathRefused,
    ProtectedPath,
    SecretPath,
    WorkspaceError,
)
from nebula.workspace.guard.paths import NormalPath, normal_path
from nebula.workspace.guard.repositories import RepositoryFinder

_RUN_BY_GIT = frozenset({"hooks", "config", "config.worktree", "attributes", "modules", "commondir", "git-rebase-todo"})
"""`commondir` names the folder from which git takes settings and hooks; the list of a rebase has lines that git
runs."""

OPENED_BY_NAME = (
    SECRET := "{path}: may hold secrets; the user must allow this file by name.",
    CONTROL := "{path}: controls other programs; the user must allow it by name.",
    KIND := "{path}: files of this kind are not allowed here; EC_ALLOW_EXT says which are: {kinds}.",
)
"""The remark on a file that --allow would open."""


@value
class Policy:
    extensions: tuple[str, ...] | None = None
    """Extensions that a file's name may have, with the dot, in any case; None: every text file."""
    max_bytes: int = DEFAULT_MAX_BYTES
    """The largest size of a file to read or write, as UTF-8; for an append, of the result."""
    allowed: Set[str] = field(default_factory=frozenset)
    """What the user allowed by name, relative to the root: secret files, control files and folders of these. What is
    taken out of it is allowed no longer."""


class Judge:
    def __init__(
        self,
        policy: Policy,
        named: frozenset[str] = frozenset(),
        place: Callable[[str], NormalPath] = normal_path,
    ) -> None:
        """`named` is what the user said yes to when asked about it; a folder there is that folder, and not what is in
        it. `place` returns a path in normal form, as it is spelled where the files are."""
        self.policy = policy
        self._place = place
        self._said = named
        self._named = tuple(normal_path(path).parts for path in sorted(named))
        self._read: tuple[frozenset[str], tuple[tuple[str, ...], ...]] = (frozenset(), ())
        if () in (*self._allowed, *self._named):
            raise MalformedRequest("The root itself cannot be allowed; name the files.")
        self._extensions = None if policy.extensions is None else tuple(map(str.lower, policy.extensions))

    def allowing(self, paths: Iterable[str]) -> Judge:
        """Return a judge that also allows these paths, to each of which the user said yes."""
        return Judge(self.policy, self._said | frozenset(paths), self._place)

    @property
    def _allowed(self) -> tuple[tuple[str, ...], ...]:
        """The names that the policy allows now."""
        read, parts = self._read
        if read != self.policy.allowed:
            read = frozenset(self.policy.allowed)
            parts = tuple(self._place(path).parts for path in sorted(read))
            self._read = read, parts
        return parts

    def reading(self, path: NormalPath) -> None:
        """Raise where a file may not be read."""
        self._file(path)
        self._refuse_secret(path)

    def writing(self, path: NormalPath, repositories: RepositoryFinder | None = None) -> None:
        """Raise where a file may not be written."""
        self._file(path)
        standing = path.standing
        if standing.untouchable:
            raise ProtectedPath("{path}: .git and .nebula are never written; choose another place.", path=path.text)
        self._refuse_secret(path)
        if self._is_named(path) or is_named(path.parts, self._allowed, with_folders=True):
            return
        if standing.control or (repositories is not None and repositories.is_inside(path.text)):
            raise ProtectedPath(CONTROL, path=path.text)

    def allows_in_repository(self, path: NormalPath) -> bool:
        """Return whether the user allowed by name a command's change below `.git`. `.git` stands for all of it except
        what makes git run programs: that has to be named itself."""
        names = path.lock_key.split("/")
        if ".nebula" in names or ".git" not in path.parts:
            return False
        runs = not _RUN_BY_GIT.isdisjoint(names)
        agreed = (each for each in self._named if each[-1] == ".git" or each == path.parts)
        return is_named(path.parts, (*self._allowed, *agreed), with_folders=not runs)

    def may_read(self, path: NormalPath) -> bool:
        try:
            self.reading(path)
        except WorkspaceError:
            return False
        return True

    def _is_named(self, path: NormalPath) -> bool:
        return is_named(path.parts, (*self._allowed, *self._named), with_folders=False)

    def _refuse_secret(self, path: NormalPath) -> None:
        if path.standing.secret and not self._is_named(path):
            raise SecretPath(SECRET, path=path.text)

    def _file(self, path: NormalPath) -> None:
        if path.names_directory:
            raise PathRefused("{path}: names a directory; give the name of a file.", path=path.text)
        if self._extensions is None or self._is_named(path):
            return  # a file that the user allowed by name is allowed, of whatever kind
        if not path.name.lower().endswith(self._extensions):
            kinds = ", ".join(self._extensions)
            raise ExtensionRefused(KIND, path=path.text, kinds=kinds)
