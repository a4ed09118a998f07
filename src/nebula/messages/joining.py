"""Making one message of several that stand in a row, and matching results with the tool uses they answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nebula.value import replace

from .assistant import AssistantMessage, AssistantToolUse, Response, ToolUse
from .images import MAX_IMAGES_PER_MESSAGE
from .tool_results import ToolUseResult
from .user import UserMessage
from .user_content import CancelledToolUses, Prompt, ToolUseResults, UserMessageContent

EMPTY_PROMPT = "Empty prompt"


def joined_user_message(run: Sequence[UserMessage]) -> UserMessage:
    """Return one message with all prompts, results and images of `run`; time and place are the newest."""
    newest = run[-1]
    if len(run) == 1:
        return newest
    images = tuple(image for message in run for image in message.images or ())
    return UserMessage(
        _paragraphs(message.additional_context for message in run),
        newest.env_context,
        _joined_content([message.content for message in run]),
        next((message.timestamp for message in reversed(run) if message.timestamp), None),
        images[-MAX_IMAGES_PER_MESSAGE:] or None,
    )


def joined_assistant_message(run: Sequence[AssistantMessage]) -> AssistantMessage:
    """Return one message with all texts of `run`, of which only the last may use tools."""
    newest = run[-1]
    if len(run) == 1 and (newest.tool_uses or isinstance(newest, Response)):
        return newest
    content = _paragraphs(message.content for message in run)
    if newest.tool_uses:
        return ToolUse(newest.message_id, content, newest.tool_uses)
    return Response(newest.message_id, content)


def answering(message: UserMessage, tool_uses: Sequence[AssistantToolUse]) -> UserMessage:
    """Return `message` as the answer to exactly `tool_uses`, in their order.

    A tool use without a result gets a cancelled one; a result without its tool use is given as part of the
    prompt. With no tool uses to answer, the message is a prompt and nothing else.
    """
    results = message.tool_use_results
    if not tool_uses:
        return _as_prompt(message)
    if results is not None and [result.tool_use_id for result in results] == [use.id for use in tool_uses]:
        return message
    matched, strays = _matched(tool_uses, results or ())
    prompt = message.prompt
    if strays:
        stray = replace(message, content=CancelledToolUses(prompt, strays))
        prompt = stray.replace_content_with_tool_use_results().prompt
    content: UserMessageContent = ToolUseResults(matched)
    if prompt or isinstance(message.content, CancelledToolUses):
        content = CancelledToolUses(prompt or None, matched)
    return replace(message, content=content)


def _as_prompt(message: UserMessage) -> UserMessage:
    message = message.replace_content_with_tool_use_results()
    if message.prompt and not message.prompt.isspace():
        return message
    return replace(message, content=Prompt(EMPTY_PROMPT))


def _matched(
    tool_uses: Sequence[AssistantToolUse], results: Iterable[ToolUseResult]
) -> tuple[tuple[ToolUseResult, ...], tuple[ToolUseResult, ...]]:
    """Return one result for each tool use, and the results left over."""
    waiting: dict[str, list[ToolUseResult]] = {use.id: [] for use in tool_uses}
    strays: list[ToolUseResult] = []
    for result in results:
        waiting.get(result.tool_use_id, strays).append(result)
    matched: list[ToolUseResult] = []
    for use in tool_uses:
        found = waiting[use.id]
        matched.append(found.pop(0) if found else ToolUseResult.cancelled(use.id))
    strays += [result for surplus in waiting.values() for result in surplus]
    return tuple(matched), tuple(strays)


def _joined_content(contents: Sequence[UserMessageContent]) -> UserMessageContent:
    prompt = _paragraphs(content.prompt for content in contents)
    if all(isinstance(content, Prompt) for content in contents):
        return Prompt(prompt)
    results = tuple(result for content in contents for result in content.tool_use_results or ())
    if prompt or any(isinstance(content, CancelledToolUses) for content in contents):
        return CancelledToolUses(prompt or None, results)
    return ToolUseResults(results)


def _paragraphs(texts: Iterable[str | None]) -> str:
    return "\n\n".join(text for text in texts if text)
