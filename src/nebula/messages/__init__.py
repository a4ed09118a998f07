"""What is said: user, assistant, tool use, tool result; how it is cut, written as JSON and kept in order.

Immutable values, equal when their content is equal. This room knows no other.
"""

from .assistant import AssistantMessage, AssistantToolUse, Response, ToolUse
from .environment import MAX_CURRENT_WORKING_DIRECTORY_LEN, EnvState, UserEnvContext
from .history import MAX_HISTORY_MESSAGES, PLACEHOLDER_TOOL, GrowingHistory, Message, repair_history
from .images import IMAGE_FORMATS, MAX_IMAGE_BYTES, MAX_IMAGES_PER_MESSAGE, ImageBlock, recognise_image
from .joining import EMPTY_PROMPT
from .json_forms import MessageFormatError
from .sanitize import clean_tool_arguments, strip_control_characters, strip_hidden_characters
from .tool_results import (
    CANCELLED_TOOL_USE,
    IMAGES_ONLY_RESULT,
    Json,
    Text,
    ToolResultStatus,
    ToolUseResult,
    ToolUseResultBlock,
    truncate_safe_tool_use_results,
)
from .tool_spec import DeclaredSpec, DialectForm, ToolSpec, snake_case
from .truncation import TRUNCATION_SUFFIX, truncate_safe, truncate_safe_in_place
from .user import (
    CONTEXT_ENTRY_END_HEADER,
    CONTEXT_ENTRY_START_HEADER,
    MAX_USER_MESSAGE_SIZE,
    REDACTED_TOOL_RESULT,
    USER_ENTRY_END_HEADER,
    USER_ENTRY_START_HEADER,
    UserInputMessage,
    UserInputMessageContext,
    UserMessage,
)
from .user_content import CancelledToolUses, Prompt, ToolUseResults, UserMessageContent

__all__ = [
    "CANCELLED_TOOL_USE",
    "CONTEXT_ENTRY_END_HEADER",
    "CONTEXT_ENTRY_START_HEADER",
    "EMPTY_PROMPT",
    "IMAGES_ONLY_RESULT",
    "IMAGE_FORMATS",
    "MAX_CURRENT_WORKING_DIRECTORY_LEN",
    "MAX_HISTORY_MESSAGES",
    "MAX_IMAGES_PER_MESSAGE",
    "MAX_IMAGE_BYTES",
    "MAX_USER_MESSAGE_SIZE",
    "PLACEHOLDER_TOOL",
    "REDACTED_TOOL_RESULT",
    "TRUNCATION_SUFFIX",
    "USER_ENTRY_END_HEADER",
    "USER_ENTRY_START_HEADER",
    "AssistantMessage",
    "AssistantToolUse",
    "CancelledToolUses",
    "DeclaredSpec",
    "DialectForm",
    "EnvState",
    "GrowingHistory",
    "ImageBlock",
    "Json",
    "Message",
    "MessageFormatError",
    "Prompt",
    "Response",
    "Text",
    "ToolResultStatus",
    "ToolSpec",
    "ToolUse",
    "ToolUseResult",
    "ToolUseResultBlock",
    "ToolUseResults",
    "UserEnvContext",
    "UserInputMessage",
    "UserInputMessageContext",
    "UserMessage",
    "UserMessageContent",
    "clean_tool_arguments",
    "recognise_image",
    "repair_history",
    "snake_case",
    "strip_control_characters",
    "strip_hidden_characters",
    "truncate_safe",
    "truncate_safe_in_place",
    "truncate_safe_tool_use_results",
]
