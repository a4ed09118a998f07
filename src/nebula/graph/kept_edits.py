"""Undo and redo for programs that end after each edit: what takes it back is kept in the user's home.

One file for each edit, `NUMBER-PROCESS.done` or `.undone`, beside what else is derived from the data folder: nothing of
it comes with a clone. Whoever has edited what an edit left is told so, as with any undo, and nothing happens.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from nebula.files.folder import Folder
from nebula.files.home import derived_folder
from nebula.graph.errors import BadFile, GraphError
from nebula.graph.flows.change import GraphChange
from nebula.graph.flows.change_json import dump_changes, load_changes
from nebula.graph.graph import Graph
from nebula.graph.undo import apply_together
from nebula.language import Sentence

KEPT = 20
_DONE, _UNDONE = ".done", ".undone"
_MAX_BYTES = 256 * 1024 * 1024


class KeptEdits:
    """What was done by commands on one data folder, newest last."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.problem: OSError | None = None
        """Why an edit that was just turned cannot be turned once more: on a full disk nothing could be kept of it."""

    def keep(self, words: str, inverses: Sequence[GraphChange]) -> None:
        """Keep what takes back an edit, oldest change first, under the words that tell of it. What could have been done
        again is forgotten. Raises OSError."""
        with self._folder() as folder:
            for name in _named(folder, _UNDONE):
                folder.remove(name)
            done = _named(folder, _DONE)
            number = int(done[-1].partition("-")[0]) + 1 if done else 1
            _write(folder, f"{number:08}-{os.getpid()}{_DONE}", words, inverses)
            for name in done[: max(0, len(done) + 1 - KEPT)]:
                folder.remove(name)

    def undo(self) -> str | None:
        """Take back the newest edit, and return its words; None when there is nothing. Raises ChangedSince, or another
        GraphError, where others have changed what it left: nothing happens then, and that edit is forgotten. After an
        OSError it is still there."""
        return self._turn(_DONE, _UNDONE, -1)

    def redo(self) -> str | None:
        """Do again what was undone last, under the same conditions."""
        return self._turn(_UNDONE, _DONE, 0)

    def _turn(self, ending: str, other: str, place: int) -> str | None:
        with self._folder() as folder:
            found = _named(folder, ending)
            if not found:
                return None
            name = found[place]
            try:
                words, changes = _read(folder, name)
                inverses = apply_together(self._graph, reversed(changes))
            except GraphError:
                folder.remove(name)
                raise
            try:
                _write(folder, name.removesuffix(ending) + other, words, inverses)
            except OSError as error:
                self.problem = error
            folder.remove(name)  # last: whoever is killed before it finds the edit turned already, and forgets it then
            return words

    def _folder(self) -> Folder:
        with Folder.at(derived_folder(self._graph.data_dir)) as home:
            return home.subfolder("edits", perm=0o700)


def _named(folder: Folder, ending: str) -> list[str]:
    return sorted(name for name in folder.listing() if name.endswith(ending) and name[:8].isdecimal())


def _write(folder: Folder, name: str, words: str, changes: Sequence[GraphChange]) -> None:
    text = f"{json.dumps(words)}\n{dump_changes(changes)}\n"
    folder.replace(name, text.encode("utf-8"), durable=False, is_new=True, perm=0o600)


def _read(folder: Folder, name: str) -> tuple[str, list[GraphChange]]:
    """Return what an edit was, in words, and its changes. Raises BadFile for what another version wrote, or nobody
    did."""
    try:
        words, _, changes = (folder.read(name, _MAX_BYTES) or b"").decode("utf-8").partition("\n")
        return str(json.loads(words)), load_changes(changes)
    except (ValueError, TypeError, IndexError):
        path = f"{folder.path}/{name}"
        raise BadFile(path, Sentence("this version cannot undo that edit")) from None
