"""A conversation that is always fit to be sent.

Whatever is appended, a `GrowingHistory` starts with a user message and alternates; every tool use is answered, by id,
in the very next user message; results stand nowhere else; tools that no longer exist have a stand-in; and the
length stays within the limit, at the cost of the oldest turns and never of the newest prompt.

Messages of one side in a row (a *run*) are joined. The newest run stays open: its message is made when somebody
looks, and made again when the run grows, so that appending costs the same however long the history is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence

from nebula.value import replace

from .assistant import AssistantMessage, AssistantToolUse, ToolUse
from .environment import UserEnvContext
from .joining import EMPTY_PROMPT, answering, joined_assistant_message, joined_user_message
from .user import UserMessage
from .user_content import CancelledToolUses, Prompt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import overload

MAX_HISTORY_MESSAGES = 10_000
PLACEHOLDER_TOOL = "dummy"

Message = UserMessage | AssistantMessage


def repair_history(
    messages: Iterable[Message], tools: Container[str] | None = None, limit: int = MAX_HISTORY_MESSAGES
) -> tuple[Message, ...]:
    """Return `messages` as a valid history to send; a tool use at the very end is answered as cancelled.

    `tools` holds the names of all tools that exist (offered at the moment or not); None leaves names alone.
    """
    history = GrowingHistory(messages, tools, limit)
    history.cancel_open_tool_uses()
    return tuple(history)


class GrowingHistory(Sequence[Message]):
    """A valid conversation that grows; only a tool use at its very end may still wait for its results."""

    __slots__ = ("_dropped", "_limit", "_messages", "_run", "_run_is_made", "_tools", "_turn_starts")

    def __init__(
        self, messages: Iterable[Message] = (), tools: Container[str] | None = None, limit: int = MAX_HISTORY_MESSAGES
    ) -> None:
        if limit < 3:
            raise ValueError(f"a history needs room for a prompt and one tool round, not {limit} messages")
        self._tools = tools
        self._limit = limit
        self._messages: list[Message] = []
        self._run: list[Message] = []
        self._run_is_made = False
        # Where the user spoke (stand-ins for empty prompts and stray results do not count), as positions from
        # the first message ever: cutting does not move those.
        self._turn_starts: deque[int] = deque()
        self._dropped = 0
        for message in messages:
            self.append(message)

    def append(self, message: Message) -> None:
        if self._run and not _continues(self._run[-1], message):
            self._make_run()
            self._run = []
            self._run_is_made = False
        if self._run_is_made:
            self._messages.pop()
            self._run_is_made = False
        self._run.append(message)

    @property
    def open_tool_uses(self) -> tuple[AssistantToolUse, ...]:
        """The tool uses at the very end, not yet answered."""
        self._make_run()
        return self._unanswered()

    def cancel_open_tool_uses(self, prompt: str | None = None) -> None:
        """Answer the tool uses that nobody will answer any more, as after an interruption."""
        waiting = self.open_tool_uses
        if waiting:
            self.append(UserMessage.new_cancelled_tool_uses(prompt, [use.id for use in waiting]))

    def __len__(self) -> int:
        self._make_run()
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        self._make_run()
        return iter(self._messages)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: int) -> Message: ...
        @overload
        def __getitem__(self, index: slice) -> Sequence[Message]: ...

    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        self._make_run()
        return self._messages[index]

    def _make_run(self) -> None:
        if self._run_is_made or not self._run:
            return
        if isinstance(self._run[-1], UserMessage):
            users = [message for message in self._run if isinstance(message, UserMessage)]
            self._note_turn_start(users)
            self._messages.append(answering(joined_user_message(users), self._unanswered()))
        else:
            assistants = [message for message in self._run if isinstance(message, AssistantMessage)]
            self._make_way_for_assistant()
            self._messages.append(_with_existing_tools(joined_assistant_message(assistants), self._tools))
        self._run_is_made = True
        self._cut()

    def _note_turn_start(self, users: Iterable[UserMessage]) -> None:
        position = self._dropped + len(self._messages)
        known = self._turn_starts and self._turn_starts[-1] == position  # by an earlier look at the same run
        if not known and any(message.prompt and not message.prompt.isspace() for message in users):
            self._turn_starts.append(position)

    def _make_way_for_assistant(self) -> None:
        waiting = self._unanswered()
        if waiting:
            nothing = UserMessage("", UserEnvContext(), CancelledToolUses(None, ()))
            self._messages.append(answering(nothing, waiting))
        elif not self._messages:
            self._messages.append(UserMessage("", UserEnvContext(), Prompt(EMPTY_PROMPT)))

    def _unanswered(self) -> tuple[AssistantToolUse, ...]:
        last = self._messages[-1] if self._messages else None
        return (last.tool_uses or ()) if isinstance(last, AssistantMessage) else ()

    def _cut(self) -> None:
        """Drop the oldest turns, whole; where one turn is too long, its oldest tool rounds."""
        excess = len(self._messages) - self._limit
        if excess <= 0:
            return
        starts = self._turn_starts
        while len(starts) > 1 and starts[0] - self._dropped < excess:
            starts.popleft()
        turn = starts[0] - self._dropped if starts else 0
        first = self._messages[turn]
        # The turn's own first message stays, so one more of the others goes; they go in pairs.
        rounds_end = turn + 1
        if turn < excess:
            rounds_end += excess - turn + (excess - turn) % 2
        self._messages[:rounds_end] = [answering(first, ()) if isinstance(first, UserMessage) else first]
        self._dropped += rounds_end - 1
        if starts:
            starts[0] = self._dropped


def _continues(last: Message, message: Message) -> bool:
    """Return whether two messages in a row are one: an assistant's unless a tool use lies between."""
    if isinstance(last, UserMessage):
        return isinstance(message, UserMessage)
    return isinstance(message, AssistantMessage) and not last.tool_uses


def _with_existing_tools(message: AssistantMessage, tools: Container[str] | None) -> AssistantMessage:
    uses = message.tool_uses
    if tools is None or not uses or all(use.name in tools for use in uses):
        return message
    return ToolUse(message.message_id, message.content, tuple(_existing(use, tools) for use in uses))


def _existing(use: AssistantToolUse, tools: Container[str]) -> AssistantToolUse:
    if use.name in tools:
        return use
    if use.orig_name in tools:
        return replace(use, name=use.orig_name, args=use.orig_args)
    return replace(use, name=PLACEHOLDER_TOOL)
