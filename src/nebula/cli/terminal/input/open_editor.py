"""The editor of a terminal session, put together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from nebula.cli.terminal.input.attached_size import AttachedSize
from nebula.cli.terminal.input.completion import PromptCompleter
from nebula.cli.terminal.input.editor import EditorInput, PromptParts
from nebula.cli.terminal.input.keys import PromptActions
from nebula.cli.terminal.input.node_names import NodeNames
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.messages.redaction import Redactor
from nebula.workspace.search.file_names import FileNames


def open_editor(terminal: TerminalSession, slash_words: Mapping[str, str], bare_words: Iterable[str]) -> EditorInput:
    """Return the input of a terminal that has what an editor takes; the words are the commands that it completes."""
    names: dict[str, FileNames] = {}

    def files() -> FileNames:
        # One listing a session: its workspace is the one that knows what may be seen.
        session = terminal.session
        return names.setdefault(session.id, FileNames(session.project.read_only))

    return EditorInput(
        PromptParts(
            label=terminal.label,
            status=terminal.status,
            attached=AttachedSize(lambda: terminal.session.project.read_only, terminal.pastes),
            actions=PromptActions(terminal.switch_mode, terminal.toggle_backstage),
            completer=PromptCompleter(
                slash_words, bare_words, files, NodeNames(lambda: terminal.session.archive.graph)
            ),
            pastes=terminal.pastes,
            typed=terminal.typed,
            history_path=os.path.join(terminal.settings.home, "history"),
            redact=Redactor(terminal.settings.secrets).text,
            colour=terminal.screen.colour,
        )
    )
