"""The table of a race: short names, and why a try ended badly."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

import pytest

from nebula.agent.batch.outcome import TaskOutcome
from nebula.agent.race.outcome import TryOutcome
from nebula.agent.race.take import CannotTake, TakenSet
from nebula.cli.evercontext_commands.batch_view import BatchView
from nebula.cli.race.progress import TryLine
from nebula.cli.race.taking import read_wanted, report_taken, who_decides
from nebula.cli.race.view import reasons, result_table
from nebula.cli.terminal.output.width import display_width
from nebula.config import Settings
from nebula.events import Approval, EventStream, Final, ProposedChange, Retry, Stamped, Step, ToolResult
from nebula.graph.graph import Graph
from nebula.language import Sentence, explain_to, use_language
from nebula.messages import ToolResultStatus, ToolUseResult
from nebula.workspace.errors import PathRefused


def test_a_model_in_a_file_is_named_by_the_file_and_failures_have_their_reason():
    failed = Final("", "error", 1, remark=Sentence("{problem}", problem="no\x1b[2J answer"))
    tries = [
        TryOutcome(1, "t1", "openai/gpt-4.1-nano", Final("Done.", "ok", 0)),
        TryOutcome(2, "t2", "/home/somebody/models/small.gguf", failed),
    ]
    _, first, second = result_table(tries)
    assert first.split()[1] == "openai/gpt-4.1-nano" and second.split()[1] == "small.gguf"
    [reason] = reasons(tries)
    assert reason.startswith("  2 error: no") and "\x1b" not in reason


def test_ids_of_tries_are_as_short_as_everywhere(tmp_path: Path) -> None:
    graph = Graph(str(tmp_path))
    nodes = [graph.create_node("p", "r").id for _ in range(2)]
    tries = [TryOutcome(number, "t", "m", Final("Done.", "ok", 0, node_id=node)) for number, node in enumerate(nodes)]
    short = graph.shortest_unique_ids(nodes)
    assert [line.split()[-1] for line in result_table(tries, graph)[1:]] == [short[node] for node in nodes]
    assert all(len(each) < len(node) for node, each in short.items())


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_line_of_the_table_stays_one_where_the_terminal_is_narrow(lang: str) -> None:
    use_language(lang)
    node = "01a1f19a-4df9-7c"
    tries = [TryOutcome(number, "t", "gpt-4.1-nano", Final("Done.", "ok", 0, node_id=node)) for number in (1, 2)]
    wide = result_table(tries)
    assert max(map(display_width, wide)) > 80 >= max(map(display_width, result_table(tries, columns=80)))
    assert [line.split()[-1] for line in result_table(tries, columns=20)[1:]] == [node, node]
    assert result_table(tries, columns=120) == wide


def test_what_is_said_of_tries_and_tasks_is_in_the_language_of_the_user(capsys: pytest.CaptureFixture[str]):
    use_language("ja")
    line = TryLine(1, started=time.monotonic())
    line.read(Stamped(Final("Done.", "ok", 0), "t1", "", 1, ""))
    assert line.shown.endswith(" · 0 秒")
    refused = PathRefused("{path}: is a device, pipe or socket, not a file.", path="a")
    report_taken(TakenSet(left_out=(refused,)))
    BatchView(1, 0).ended(TaskOutcome("b", "", "", seconds=0.5))
    said = capsys.readouterr().err
    assert str(refused) not in said and explain_to("ja", refused) in said
    assert "1/1  b  失敗  0.5 秒" in said


def test_a_try_says_what_it_waits_for() -> None:
    use_language("en")
    line, stream = TryLine(1, started=time.monotonic()), EventStream("s")
    stream.audience = (line.read,)
    stream.emit(Step("1", "readFile", {"path": "a.py"}))
    assert line.state == "readFile a.py"
    stream.emit(ToolResult("readFile", ToolUseResult("1", (), ToolResultStatus.Success)))
    assert line.state == "asking the model"
    stream.emit(Retry(Sentence("too much"), 2, 20.0, attempts=4, kind="limit"))
    assert line.state == "rate limited, again in 20 s, 2 of 4"
    stream.emit(Retry(Sentence("too much"), 3, 0.0, attempts=4, kind="limit"))
    assert line.state == "asking the model"


async def test_all_of_what_is_taken_is_seen_before_the_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    changes = (
        ProposedChange("run.sh", "mode", diff="mode 644 → 755\n"),
        ProposedChange("a.py", "changed", 1, 1, "@@ -1 +1 @@\n-a\n+is\u200dAdmin\r\n"),
        ProposedChange("gone.txt", "deleted"),
    )
    decision = await who_decides(Settings())(Approval("i", "command", "take", changes))
    assert not decision.allowed
    assert capsys.readouterr().out.splitlines() == [
        "mode  run.sh",
        "mode 644 → 755",
        "changed  a.py (+1 −1)",
        "@@ -1 +1 @@",
        "-a",
        "+is<U+200D>Admin␍",
        "deleted  gone.txt",
    ]


def test_a_try_with_no_path_behind_its_colon_is_not_all_of_it() -> None:
    tries = {2: TryOutcome(2, "t", "m", Final("Done.", "ok", 0, node_id="n"))}
    assert [each.paths for each in read_wanted(tries, ["2:a.py"])] == [("a.py",)]
    for words in (["2:"], ["2:a.py", "2:"]):
        with pytest.raises(CannotTake):
            read_wanted(tries, words)
