"""A turn becomes a node and comes back as the same messages."""

from hypothesis import given
from hypothesis import strategies as st

from nebula.agent.recording.file_states import file_states
from nebula.agent.recording.nodes import round_text, turn_of
from nebula.agent.recording.turn_archive import TurnArchive
from nebula.agent.turn_result import TurnResult
from nebula.events import Diff, EventStream, Message, Task, ToolResult
from nebula.graph.values import FileState, Node, Utterance
from nebula.messages import AssistantMessage, AssistantToolUse, Json, ToolResultStatus, ToolUseResult, UserMessage
from nebula.messages.redaction import Redactor

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def node_of(result):
    texts = (
        Utterance("user", result.prompt),
        *(Utterance("tool", round_text(each)) for each in result.rounds),
        Utterance("assistant", result.answer),
    )
    return Node("n1", "2026-01-01T00:00:00+00:00", texts)


def result_of(prompt, acts, last):
    result = TurnResult()
    stream = EventStream("s", recorders=(result,))
    stream.emit(Task(prompt, "agent", "m"))
    for number, said in enumerate(acts):
        use = AssistantToolUse(f"c{number}", "readFile", "readFile", {"path": said}, {"path": said})
        message = AssistantMessage.new_tool_use(None, said, [use])
        stream.emit(Message(message))
        answered = ToolUseResult(f"c{number}", [Json({"content": said})], ToolResultStatus.Success)
        stream.emit(ToolResult("readFile", answered))
    stream.emit(Message(AssistantMessage.new_response(None, last)))
    return result


@given(words, st.lists(words, max_size=3), words.filter(bool))
def test_there_and_back(prompt, acts, last):
    result = result_of(prompt, acts, last)
    messages = turn_of(node_of(result)).messages
    assert messages[0].prompt == prompt
    assert [m.content for m in messages if isinstance(m, AssistantMessage)] == [*acts, last]
    results = [m.tool_use_results[0] for m in messages[1:] if isinstance(m, UserMessage)]
    assert results == [each.results[0] for each in result.rounds]


def test_an_edited_answer_is_taken_as_it_is_now():
    result = result_of("p", ["Looking."], "Done.")
    node = node_of(result)
    edited = Node(node.id, node.timestamp, (*node.texts[:-1], Utterance("assistant", "Rewritten by hand.")))
    assert turn_of(edited).messages[-1].content == "Rewritten by hand."


def test_tool_texts_of_another_program_are_passed_over():
    node = Node(
        "n1",
        "t",
        (Utterance("user", "p"), Utterance("tool", "not ours"), Utterance("tool", "[1]"), Utterance("assistant", "a")),
    )
    assert [type(m).__name__ for m in turn_of(node).messages] == ["UserMessage", "Response"]


def test_no_node_is_known_without_opening_the_graph():
    def open_graph():
        raise AssertionError("a first request would wait for it")

    assert list(TurnArchive(open_graph).known(())) == []


def test_a_file_of_whose_lines_nothing_is_told_keeps_its_states() -> None:
    first, last = Diff(".env", "", 1, 0, "a" * 64, "b" * 64), Diff(".env", "", 1, 1, "b" * 64, "c" * 64)
    summed = Diff(".env", "", 2, 1, "a" * 64, "c" * 64)
    assert file_states([summed], [first, last], None, Redactor()) == [FileState(".env", "a" * 64, "c" * 64)]
