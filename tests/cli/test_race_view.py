"""The table of a race: short names, and why a try ended badly."""

from __future__ import annotations

from nebula.agent.race.outcome import TryOutcome
from nebula.cli.race.view import reasons, result_table
from nebula.events import Final
from nebula.language import Sentence


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
