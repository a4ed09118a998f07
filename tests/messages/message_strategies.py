"""Hypothesis strategies for messages of every shape, sensible or not."""

from datetime import timedelta, timezone

from hypothesis import strategies as st

from nebula.messages import (
    AssistantMessage,
    AssistantToolUse,
    CancelledToolUses,
    EnvState,
    ImageBlock,
    Json,
    Prompt,
    Text,
    ToolResultStatus,
    ToolSpec,
    ToolUseResult,
    ToolUseResults,
    UserEnvContext,
    UserInputMessage,
    UserInputMessageContext,
    UserMessage,
)

# Surrogates included: models do send halves of pairs.
texts = st.text(st.characters(), max_size=40) | st.sampled_from(["", "あいう", "🦀🦀", "👩‍👩‍👧", "a\nb"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
# Few ids, so that they meet, miss and repeat.
tool_ids = st.sampled_from(["t1", "t2", "t3", "t4"])
tool_names = st.sampled_from(["readFile", "read_file", "gone"])

blocks = st.builds(Text, texts) | st.builds(Json, json_values)
results = st.builds(ToolUseResult, tool_ids, st.lists(blocks, max_size=3), st.sampled_from(list(ToolResultStatus)))
result_lists = st.lists(results, max_size=4)
prompts = st.builds(Prompt, texts)
cancelled = st.builds(CancelledToolUses, st.none() | texts, result_lists)
contents = prompts | cancelled | st.builds(ToolUseResults, result_lists)

images = st.builds(ImageBlock, st.sampled_from(["png", "jpg", "gif", "webp"]), st.binary(max_size=20))
image_lists = st.none() | st.lists(images, max_size=10)
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
timestamps = st.none() | st.datetimes(timezones=offsets)
env_states = st.builds(EnvState, st.none() | texts, st.none() | texts, st.lists(texts, max_size=2))
env_contexts = st.builds(UserEnvContext, st.none() | env_states)
user_messages = st.builds(UserMessage, texts, env_contexts, contents, timestamps, image_lists)

tool_uses = st.builds(AssistantToolUse, tool_ids, tool_names, tool_names, json_values, json_values)
responses = st.builds(AssistantMessage.new_response, st.none() | texts, texts)
tool_use_messages = st.builds(AssistantMessage.new_tool_use, st.none() | texts, texts, st.lists(tool_uses, max_size=3))
assistant_messages = responses | tool_use_messages
messages = user_messages | assistant_messages

tool_specs = st.builds(ToolSpec, texts, texts, st.dictionaries(texts, json_values, max_size=2))
input_contexts = st.builds(
    UserInputMessageContext,
    st.none() | env_states,
    st.none() | result_lists,
    st.none() | st.lists(tool_specs, max_size=2),
)
input_messages = st.builds(UserInputMessage, texts, st.none() | input_contexts, image_lists, st.none() | texts)
