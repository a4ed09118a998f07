"""What of the past is sent: whole turns while they fit, summaries of the older ones, never less than the newest."""

from itertools import pairwise

from nebula.agent.budget import estimate_tokens, total_tokens
from nebula.agent.conversation import LEFT_OUT, Conversation, Fit, PastTurn
from nebula.messages import AssistantMessage, AssistantToolUse, Text, ToolResultStatus, ToolUseResult, UserMessage


def turn(number, size=400):
    return PastTurn(
        (
            UserMessage.new_prompt(f"question {number} " + "q" * size),
            AssistantMessage.new_response(None, f"answer {number} " + "a" * size),
        ),
        node_id=f"node-{number}",
    )


def texts(messages):
    return [m.content if isinstance(m, AssistantMessage) else m.prompt for m in messages]


def test_everything_is_sent_while_it_fits():
    conversation = Conversation([turn(n) for n in range(5)])
    messages, sent = conversation.prefix(100_000)
    assert len(messages) == 10
    assert (sent.full, sent.summarised, sent.left_out) == (5, 0, 0)
    assert sent.tokens == total_tokens(messages)


def test_the_oldest_turns_go_as_summaries_that_name_their_node():
    conversation = Conversation([turn(n, 4000) for n in range(20)])
    messages, sent = conversation.prefix(20_000)
    assert 0 < sent.full < 20
    assert sent.summarised > 0
    assert total_tokens(messages) <= 20_000
    assert texts(messages)[-1].startswith("answer 19")
    first = texts(messages)[0]
    assert "summarised" in first
    assert "readNode" in first
    roles = [type(message).__name__ for message in messages]
    assert roles[0] == "UserMessage"
    assert all(a != b for a, b in pairwise(roles))


def test_a_summary_is_made_once_and_kept_with_the_turn():
    past = turn(1, 4000)
    past.summary = "made by a model"
    conversation = Conversation([past, turn(2, 4000)])
    conversation.compact()
    messages, _ = conversation.prefix(10_000)
    assert "made by a model" in texts(messages)


def test_one_oversized_message_is_cut_before_any_turn_is_summarised():
    conversation = Conversation([turn(0), turn(1, 60_000), turn(2)])
    messages, sent = conversation.prefix(20_000)
    assert sent.full == 3
    assert total_tokens(messages) <= 20_000


def test_compact_summarises_all_but_the_newest():
    conversation = Conversation([turn(n) for n in range(5)])
    assert conversation.compact() == 4
    assert conversation.compact() == 0
    _, sent = conversation.prefix(100_000)
    assert (sent.full, sent.summarised) == (1, 4)


def test_no_room_at_all_sends_nothing_of_the_past():
    messages, sent = Conversation([turn(n) for n in range(3)]).prefix(0)
    assert messages == []
    assert sent.left_out == 3


def rounds(count, size):
    messages = [UserMessage.new_prompt("do it")]
    for number in range(count):
        use = AssistantToolUse(f"c{number}", "readFile", "readFile", {"path": "a"}, {"path": "a"})
        messages.append(AssistantMessage.new_tool_use(None, "", [use]))
        result = ToolUseResult(f"c{number}", [Text("x" * size)], ToolResultStatus.Success)
        messages.append(UserMessage.new_tool_use_results([result]))
    return messages


def test_within_a_turn_the_oldest_results_make_room_and_the_prompt_stays():
    fit = Fit((), frozenset({"readFile"}), room=5_000)
    sent = fit(rounds(10, 4_000))
    assert sent[0].prompt == "do it"
    results = [m.tool_use_results[0].content[0].text for m in sent if isinstance(m, UserMessage) and m.tool_use_results]
    assert results[0] == LEFT_OUT
    assert results[-1] == "x" * 4_000
    assert total_tokens(sent) <= 5_500


def test_what_is_sent_is_always_a_valid_history():
    messages = rounds(2, 10)[:-1]  # interrupted before the last result
    sent = Fit((), frozenset({"readFile"}), room=10_000)(messages)
    assert isinstance(sent[-1], UserMessage)
    assert sent[-1].tool_use_results[0].status is ToolResultStatus.Error


def test_a_turn_stopped_before_its_answer_joins_the_next_one():
    past = (UserMessage.new_prompt("never answered"),)
    sent = Fit(past, frozenset(), room=10_000)([UserMessage.new_prompt("again")])
    assert [message.prompt for message in sent] == ["never answered\n\nagain"]


def test_a_turn_stopped_at_its_tools_is_answered_before_the_next_one():
    settled = turn(1).messages
    stopped = rounds(2, 10)[:-1]
    new = UserMessage.new_prompt("again")
    sent = Fit((*settled, *stopped), frozenset({"readFile"}), room=10_000)([new, *rounds(1, 10)[1:]])
    assert sent[:2] == settled
    assert all(isinstance(a, UserMessage) != isinstance(b, UserMessage) for a, b in pairwise(sent))
    answered = sent[6]
    assert answered.prompt == "again"
    assert answered.tool_use_results[0].status is ToolResultStatus.Error


def test_tools_of_the_past_that_are_gone_have_a_stand_in():
    past = (*rounds(1, 10), AssistantMessage.new_response(None, "done"))
    sent = Fit(past, frozenset({"list"}), room=10_000)([UserMessage.new_prompt("again")])
    assert [use.name for use in sent[1].tool_uses] == ["dummy"]


def test_japanese_counts_by_the_character():
    assert estimate_tokens("検索") >= 2
    assert estimate_tokens("word " * 100) < 150
