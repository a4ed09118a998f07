"""Find folders that git treats as a repository although they are not named `.git`.

A `git status` in one obeys the settings there, which may name programs. Such a folder is recognised by its files, so
the disk is asked, and also the other paths of a set that would be written together. Paths that the settings of the
project's own repository name count as well: the folder of its hooks, files with further settings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from nebula.workspace.guard.paths import folders_above


class RepositoryFinder:
    """Remembers its answers, so use one for a single judgement or for one set."""

    def __init__(
        self,
        exists: Callable[[str], bool],
        together: Collection[str] = (),
        obeyed: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._exists = exists
        self._find_obeyed = obeyed
        self._obeyed: Collection[str] | None = None
        self._together = {each for path in together for each in (path, *folders_above(path))}
        self._known: dict[str, bool] = {}

    def is_inside(self, path: str) -> bool:
        """Return whether `path` is, or is in, what git treats as a bare repository or what its settings name."""
        above = (path, *folders_above(path))
        return any(self._is_repository(folder, path) for folder in (*above, "")) or self._is_obeyed(above)

    def _is_obeyed(self, above: Collection[str]) -> bool:
        if self._obeyed is None:
            self._obeyed = {each.casefold() for each in self._find_obeyed()}
        return any(each.casefold() in self._obeyed for each in above)

    def _is_repository(self, folder: str, path: str) -> bool:
        inner = path[len(folder) + 1 :] if folder else path
        first = inner.partition("/")[0]

        def has(name: str) -> bool:
            return name == first or self._has(f"{folder}/{name}" if folder else name)

        return has("HEAD") and (has("commondir") or (has("objects") and has("refs")))

    def _has(self, path: str) -> bool:
        if path not in self._known:
            self._known[path] = path in self._together or self._exists(path)
        return self._known[path]
