from hypothesis import given
from hypothesis import strategies as st

from messages.message_strategies import contents, result_lists, texts
from nebula.messages import (
    TRUNCATION_SUFFIX,
    CancelledToolUses,
    Json,
    Prompt,
    Text,
    ToolResultStatus,
    ToolUseResult,
    ToolUseResults,
    UserMessage,
    UserMessageContent,
    truncate_safe,
    truncate_safe_in_place,
    truncate_safe_tool_use_results,
)
from rows import each_row

KANA = "あ" * 20
CRABS = "🦀" * 15


@each_row(
    ("text", "max_bytes", "expected"),
    [
        ("Hello World", 5, "Hello"),
        ("Hello ", 5, "Hello"),
        ("Hello World", 11, "Hello World"),
        ("Hello World", 15, "Hello World"),
        ("あいう", 8, "あい"),
        ("あいう", 2, ""),
        ("a🦀b", 4, "a"),
        ("a🦀b", 5, "a🦀"),
        ("abc", 0, ""),
        ("abc", -1, ""),
        ("", 3, ""),
    ],
)
def test_truncate_safe(text: str, max_bytes: int, expected: str) -> None:
    assert truncate_safe(text, max_bytes) == expected


@each_row(
    ("text", "max_bytes", "suffix", "expected"),
    [
        ("Hello World", 5, "suffix", "suffi"),
        ("hi", 5, "suffix", "hi"),
        ("Hello World", 7, "suffix", "Hsuffix"),
        ("αααααα", 7, "suffix", "suffix"),
        ("αααααα", 8, "suffix", "αsuffix"),
        ("αααααα", 9, "suffix", "αsuffix"),
        (KANA, 40, TRUNCATION_SUFFIX, "ああ" + TRUNCATION_SUFFIX),
        (KANA, 34, TRUNCATION_SUFFIX, TRUNCATION_SUFFIX),
        (KANA, 33, TRUNCATION_SUFFIX, "...content truncated due to lengt"),
        (KANA, 59, TRUNCATION_SUFFIX, "あ" * 8 + TRUNCATION_SUFFIX),
        (KANA, 60, TRUNCATION_SUFFIX, KANA),
        (CRABS, 38, TRUNCATION_SUFFIX, "🦀" + TRUNCATION_SUFFIX),
        (CRABS, 37, TRUNCATION_SUFFIX, TRUNCATION_SUFFIX),
    ],
)
def test_truncate_safe_in_place(text: str, max_bytes: int, suffix: str, expected: str) -> None:
    assert truncate_safe_in_place(text, max_bytes, suffix) == expected


def size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@given(st.text(st.characters()), st.integers(0, 60))
def test_longest_prefix_of_whole_characters(text: str, max_bytes: int) -> None:
    cut = truncate_safe(text, max_bytes)
    assert text.startswith(cut)
    assert size(cut) <= max_bytes
    if cut != text:
        assert size(text[: len(cut) + 1]) > max_bytes


@given(texts, st.integers(0, 60), texts)
def test_never_longer_than_the_limit(text: str, max_bytes: int, suffix: str) -> None:
    cut = truncate_safe_in_place(text, max_bytes, suffix)
    assert size(cut) <= max_bytes
    assert (cut == text) or (size(text) > max_bytes)
    assert cut == text or cut.endswith(suffix) or suffix.startswith(cut)


def result(*blocks: Text | Json, status: ToolResultStatus = ToolResultStatus.Success) -> ToolUseResult:
    return ToolUseResult("id", blocks, status)


def test_results_share_evenly() -> None:
    long = Text("x" * 100)
    cut = truncate_safe_tool_use_results([result(long, Json({"k": "y" * 100})), result(long)], 150)
    x_cut = Text("x" * 16 + TRUNCATION_SUFFIX)
    # The JSON block has become text, and what follows it was cut all the same.
    assert cut == (result(x_cut, Text('{"k":"' + "y" * 10 + TRUNCATION_SUFFIX)), result(x_cut))


def test_results_that_fit_their_share_stay() -> None:
    results = [result(Json({"a": 1}), Text("short"), status=ToolResultStatus.Error), result()]
    assert truncate_safe_tool_use_results(results, 14) == tuple(results)
    assert truncate_safe_tool_use_results([], 10) == ()


@given(result_lists, st.integers(0, 120))
def test_no_block_exceeds_its_share(results: list[ToolUseResult], max_bytes: int) -> None:
    cut = truncate_safe_tool_use_results(results, max_bytes)
    blocks = [block for each in cut for block in each.content]
    assert [(each.tool_use_id, each.status) for each in cut] == [(each.tool_use_id, each.status) for each in results]
    assert all(size(block.as_text()) <= max_bytes // len(blocks) for block in blocks)


def content_size(content: UserMessageContent) -> int:
    blocks = [block for each in content.tool_use_results or () for block in each.content]
    return size(content.prompt or "") + sum(size(block.as_text()) for block in blocks)


@given(contents, st.integers(0, 200))
def test_content_within_the_limit_and_unchanged_when_it_fits(content: UserMessageContent, max_bytes: int) -> None:
    cut = content.truncate_safe(max_bytes)
    assert content_size(cut) <= max_bytes
    assert type(cut) is type(content)
    if content_size(content) <= max_bytes:
        assert cut == content


def test_cancelled_halves() -> None:
    p, r = "p" * 200, "r" * 200
    both = CancelledToolUses(p, [result(Text(r))]).truncate_safe(100)
    assert both == CancelledToolUses("p" * 16 + TRUNCATION_SUFFIX, [result(Text("r" * 16 + TRUNCATION_SUFFIX))])


def test_cancelled_room_left_over_goes_to_the_other_side() -> None:
    short_prompt = CancelledToolUses("p" * 10, [result(Text("r" * 200))]).truncate_safe(100)
    assert short_prompt == CancelledToolUses("p" * 10, [result(Text("r" * 56 + TRUNCATION_SUFFIX))])
    short_results = CancelledToolUses("p" * 200, [result(Text("r" * 10))]).truncate_safe(100)
    assert short_results == CancelledToolUses("p" * 56 + TRUNCATION_SUFFIX, [result(Text("r" * 10))])
    no_prompt = CancelledToolUses(None, [result(Text("r" * 200))]).truncate_safe(100)
    assert no_prompt == CancelledToolUses(None, [result(Text("r" * 66 + TRUNCATION_SUFFIX))])


def test_message_is_cut_into_a_new_one() -> None:
    message = UserMessage.new_prompt(KANA)
    assert message.truncate_safe(40).content == Prompt("ああ" + TRUNCATION_SUFFIX)
    assert message.prompt == KANA
    uneven = UserMessage.new_tool_use_results([result(Text("x" * 90), Text("y" * 10))])
    assert uneven.truncate_safe(100) == uneven
    assert isinstance(uneven.truncate_safe(99).content, ToolUseResults)
    assert uneven.truncate_safe(99) != uneven
