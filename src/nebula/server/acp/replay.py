"""Show the past of a session in an editor that loads it: the words, and the calls that changed files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from nebula.agent.conversation import PastTurn
from nebula.agent.recording.node_files import FileTexts, texts_by_turn
from nebula.agent.session import Session
from nebula.agent.undo import UndoRefused
from nebula.messages import AssistantMessage, AssistantToolUse, ToolResultStatus, ToolUseResult, UserMessage
from nebula.server.acp.tool_calls import ToolCalls, describe_call, difference, text_content
from nebula.server.acp.view import message
from nebula.stage import neutralise
from nebula.tools.registry import WRITERS

MOST_TURNS = 100
"""So many of the newest turns are shown with the differences of their files."""
MOST_TEXT = 16 * 1024 * 1024
"""Characters of all texts shown, counted from the newest turn back."""


def replay(session: Session, calls: ToolCalls) -> Iterator[dict[str, Any]]:
    """Yield the updates that show the past of a session. This reads the journal, so do not call it in the event
    loop."""
    turns = session.conversation.turns
    files = _find_texts(session, turns)
    for turn in turns:
        shown = _ReplayedTurn(turn, files.get(turn.node_id or "", []), session.settings.root, calls)
        yield from shown.updates(backstage=session.settings.backstage)


def _find_texts(session: Session, turns: Sequence[PastTurn]) -> dict[str, list[FileTexts]]:
    newest = [turn.node_id for turn in turns[-MOST_TURNS:] if turn.node_id]
    try:
        found = texts_by_turn(session.project.workspace, newest) if newest else {}
    except UndoRefused:  # there is no journal here
        return {}
    room = MOST_TEXT
    for node_id in reversed(newest):
        room -= sum(len(each.old or "") + len(each.new or "") for each in found.get(node_id, ()))
        if room < 0:
            found.pop(node_id, None)
    return found


class _ReplayedTurn:
    """A turn of the past. A change is shown with the first call that wrote its file; a change that no call names
    belongs to the last command."""

    def __init__(self, turn: PastTurn, files: Sequence[FileTexts], root: str, calls: ToolCalls) -> None:
        self._messages = turn.messages
        self._files = {each.path: each for each in files}
        self._root = root
        self._calls = calls
        self._results: dict[str, ToolUseResult] = {}
        uses: list[AssistantToolUse] = []
        for said in turn.messages:
            if isinstance(said, UserMessage):
                self._results.update((each.tool_use_id, each) for each in said.tool_use_results or ())
            else:
                uses += said.tool_uses or ()
        named = {_path_of(use) for use in uses}
        commands = [use for use in uses if use.name == "runCommand" and self._succeeded(use)]
        self._last_command = commands[-1] if commands else None
        self._by_commands = [each for each in files if each.path not in named]

    def updates(self, *, backstage: bool) -> Iterator[dict[str, Any]]:
        for said in self._messages:
            is_user = isinstance(said, UserMessage)
            text = said.prompt if isinstance(said, UserMessage) else said.content
            if text and text.strip():
                kind = "user_message_chunk" if is_user else "agent_message_chunk"
                yield message(kind, neutralise(text))
            for use in (said.tool_uses or ()) if isinstance(said, AssistantMessage) else ():
                yield from self._show(use, backstage=backstage)

    def _show(self, use: AssistantToolUse, *, backstage: bool) -> Iterator[dict[str, Any]]:
        changed = self._take_changes(use)
        if not (backstage or changed or (use.name in WRITERS and use.name != "runCommand")):
            return
        content = [
            difference(self._root, each.path, each.old, each.new)
            for each in changed
            if (each.old, each.new) != (None, None)
        ]
        result = self._results.get(use.id)
        if backstage and result is not None and not content:
            content = [text_content(neutralise(result.as_text()))]
        call = describe_call(use.name, use.args, self._root)
        if changed and use is self._last_command:
            call["locations"] = [{"path": os.path.join(self._root, each.path)} for each in changed]
        status = "completed" if self._succeeded(use) else "failed"
        body = {"toolCallId": self._calls.new_id(), **call, "status": status, "content": content}
        yield {"sessionUpdate": "tool_call", **body} | ({"rawInput": use.args} if backstage else {})

    def _take_changes(self, use: AssistantToolUse) -> list[FileTexts]:
        if use is self._last_command:
            return self._by_commands
        found = self._files.pop(_path_of(use), None) if use.name in WRITERS and self._succeeded(use) else None
        return [found] if found is not None else []

    def _succeeded(self, use: AssistantToolUse) -> bool:
        result = self._results.get(use.id)
        return result is not None and result.status is ToolResultStatus.Success


def _path_of(use: AssistantToolUse) -> str:
    path = use.args.get("path") if isinstance(use.args, dict) else None
    return os.path.normpath(path) if isinstance(path, str) and path else ""
