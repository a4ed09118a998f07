"""Instructions of folders inside the project: the model gets them with the result of the first call that touches the
folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from nebula.agent.instructions.standing import MAX_BYTES, Instruction, Instructions, read_folder
from nebula.events import Notice
from nebula.tools.contract import Call
from nebula.tools.ledger import ReadLedger
from nebula.value import value
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.guard.paths import normal_path

_SUBJECTS = ("path", "directory")
_HEADING = "The instructions of this folder ({name}) hold for the files in it and below:"


@value
class FolderInstructions:
    """Finds the instructions nearest to the path of a call; the model gets each once for as long as the ledger
    lasts."""

    root: str
    ledger: ReadLedger
    used: int = 0
    """Bytes that the session's standing instructions take of the limit for all instructions."""

    async def __call__(self, args: Mapping[str, Any], call: Call) -> str:
        """Return the text that goes with the result of `call`; empty where there is nothing new."""
        named = next((each for name in _SUBJECTS if isinstance(each := args.get(name), str)), "")
        try:
            path = normal_path(named).text if named else "."
        except WorkspaceError:
            return ""
        folder = self._folder_of(path)
        if folder in ("", ".") or folder in self.ledger.told_of_folders:  # nearly every call: not worth a thread
            return ""
        found, problems = await asyncio.to_thread(self._find, folder)
        for each in problems.remarks():
            call.emit(Notice(each))
        return f"{_HEADING.format(name=found.name)}\n\n{found.text}" if found is not None else ""

    def _folder_of(self, path: str) -> str:
        return path if os.path.isdir(os.path.join(self.root, path)) else os.path.dirname(path)

    def _find(self, folder: str) -> tuple[Instruction | None, Instructions]:
        """Look in `folder`, then in each folder above it, except the root; each folder is looked into once."""
        told = self.ledger.told_of_folders
        gathered = Instructions(room=MAX_BYTES - self.used - sum(told.values()))
        while folder and folder not in told:
            told[folder] = 0
            if (found := read_folder(self.root, folder, gathered.unreadable)) is not None:
                shown = gathered.add(found)
                told[folder] = len(shown.text.encode("utf-8", "replace")) if shown is not None else 0
                return shown, gathered
            folder = os.path.dirname(folder)
        return None, gathered
