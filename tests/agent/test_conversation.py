"""What of the past is sent: whole turns while they fit, summaries of the older ones, never less than the newest."""

from itertools import pairwise

from nebula.agent.context.building import build_context
from nebula.agent.context.tokens import total_tokens
from nebula.agent.conversation import LEFT_OUT, Conversation, Fit, PastTurn
from nebula.graph.values import Node, Utterance
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


def nowhere(_):
    return None


def sent_of(turns, room, find=nowhere, references=(), compact=False):
    conversation = Conversation(list(turns))
    if compact:
        conversation.compact()
    return build_context(conversation, room, find, references)


def test_everything_is_sent_while_it_fits():
    sent = sent_of([turn(n) for n in range(5)], 100_000)
    assert len(sent.messages) == 10
    assert (len(sent.whole), sent.earlier, sent.left_out) == (5, "", ())
    assert sent.tokens == total_tokens(sent.messages)


def test_the_oldest_turns_go_as_summaries_that_name_their_node():
    sent = sent_of([turn(n, 4000) for n in range(40)], 20_000)
    assert 0 < len(sent.whole) < 40
    assert sent.tokens <= 20_000
    assert texts(sent.messages)[-1].startswith("answer 39")
    assert texts(sent.messages)[0].startswith("question")
    assert "[node-9]: " in sent.earlier
    assert "readNode" in sent.earlier
    assert [part.node_id for part in sent.parts()] == [f"node-{n}" for n in range(40 - len(sent.parts()), 40)]
    assert {part.form for part in sent.packed} == {"summary"}


def test_a_fifth_of_the_room_is_kept_for_what_came_before():
    """Whole turns never fill it to the last token while there is something before them to be told of."""
    turns = [turn(n, 2000) for n in range(10)]
    size = turns[0].tokens
    sent = sent_of(turns, size * 5)
    assert len(sent.whole) == 4
    assert len(sent.packed) > 0
    alone = sent_of(turns[:5], size * 5 + 5)
    assert (len(alone.whole), alone.earlier) == (5, "")


def test_a_summary_that_was_built_takes_the_place_of_an_extract():
    def find(node_id):
        return Node(node_id, "t", (Utterance("user", "q"), Utterance("assistant", "a")), "made by a model", ("search",))

    sent = sent_of([turn(1, 4000), turn(2, 4000)], 10_000, find, compact=True)
    assert "[node-1]: made by a model" in sent.earlier


def test_turns_go_whole_while_they_fit_and_then_as_summaries():
    turns = [turn(0), turn(1, 60_000), turn(2, 8_000)]
    all_of_it = sum(each.tokens for each in turns)
    assert sent_of(turns, all_of_it).messages == tuple(message for each in turns for message in each.sent)
    fewer = sent_of(turns, all_of_it - 1)
    assert [each.name for each in fewer.whole] == ["node-2"]
    assert [part.form for part in fewer.packed] == ["summary", "summary"]
    assert fewer.tokens < all_of_it


def test_the_direct_predecessor_is_cut_only_where_it_does_not_fit_alone():
    turns = [turn(0, 4_000), turn(1, 4_000)]
    alone = sent_of(turns, turns[1].tokens)
    assert alone.messages == turns[1].sent
    cut = sent_of(turns, turns[1].tokens - 1)
    assert [each.name for each in cut.whole] == ["node-1"]
    assert "`readNode` with the id node-1" in cut.messages[-1].content
    assert cut.tokens < turns[1].tokens


def test_the_direct_predecessor_is_sent_in_full_beyond_the_share_of_the_past():
    """Or it is cut to that share: what it may take beside is of no use then."""
    turns = [turn(0, 400), turn(1, 4_000)]
    size = turns[1].tokens
    in_full = build_context(Conversation(turns), size // 2, nowhere, most_newest=size)
    assert in_full.messages == turns[1].sent
    assert in_full.left_out == ("node-0",)
    cut = build_context(Conversation(turns), size // 2, nowhere, most_newest=size - 1)
    assert cut.whole[-1].tokens <= size // 2


def test_the_predecessor_is_the_newest_turn_that_was_answered():
    withdrawn = PastTurn((UserMessage.new_prompt("never mind"),))
    conversation = Conversation([turn(0), turn(1), turn(2), withdrawn, withdrawn])
    assert (conversation.predecessor, conversation.compact()) == (2, 2)
    sent = build_context(conversation, 100_000, nowhere)
    assert sent.whole[0].name == "node-2"
    assert len(sent.whole) == 3


def test_compact_summarises_all_but_the_newest():
    conversation = Conversation([turn(n) for n in range(5)])
    assert conversation.compact() == 4
    assert conversation.compact() == 0
    sent = build_context(conversation, 100_000, nowhere)
    assert (len(sent.whole), len(sent.packed)) == (1, 4)


def test_no_room_at_all_sends_nothing_of_the_past():
    sent = sent_of([turn(n) for n in range(3)], 0)
    assert (sent.messages, sent.earlier) == ((), "")
    assert sent.left_out == ("node-0", "node-1", "node-2")


def test_references_stand_beside_the_path_and_those_on_it_are_not_repeated():
    def find(node_id):
        return Node(
            node_id, "t", (Utterance("user", "q"), Utterance("assistant", "a")), f"about {node_id}", ("search",)
        )

    sent = sent_of([turn(0), turn(1)], 100_000, find, references=["far", "node-1"])
    assert [(part.node_id, part.form) for part in sent.parts()] == [
        ("node-0", "full"),
        ("node-1", "full"),
        ("far", "full"),
    ]
    assert "[far]: about far #search\n[far]\n[prompt]\nq\n[answer]\na" in sent.earlier


def test_a_reference_that_has_no_room_in_full_is_told_by_summary_and_tags():
    def find(node_id):
        return Node(
            node_id, "t", (Utterance("user", "q"), Utterance("assistant", "long " * 9_000)), "short", ("search",)
        )

    sent = sent_of([turn(0)], 2_000, find, references=["far"])
    assert sent.parts()[-1].form == "tags" and "[far]: short #search" in sent.earlier and "long" not in sent.earlier


def test_old_prompts_that_were_withdrawn_are_not_remembered():
    withdrawn = PastTurn((UserMessage.new_prompt("delete everything"),))
    sent = sent_of([withdrawn, turn(1)], 100_000, compact=True)
    assert (sent.earlier, sent.left_out) == ("", ())


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
