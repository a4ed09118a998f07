"""Reports on a batch: scores of models, and XML whatever a task said."""

from __future__ import annotations

from xml.etree import ElementTree

from nebula.agent.batch.outcome import TaskOutcome
from nebula.agent.batch.reports import format_junit, score_models, with_one_name
from nebula.language import Sentence
from nebula.value import replace


def outcome(name: str, group: str, code: int, **more: object) -> TaskOutcome:
    return TaskOutcome(name, "d", "r", "t", exit_code=code, group=group, model="m", **more)  # type: ignore[arg-type]


def test_passed_at_one_is_the_mean_share_and_at_n_any_of_the_tries():
    found = [
        outcome("a.1", "a", 0, malformed=2),
        outcome("a.2", "a", 1),
        outcome("b.1", "b", 1),
        outcome("b.2", "b", 1),
    ]
    [score] = score_models(found)
    assert (score.tasks, score.tries, score.passed_at_1, score.passed_at_n, score.malformed) == (2, 4, 0.25, 0.5, 2)
    assert score_models([]) == []


def test_a_model_has_one_name_however_it_was_written():
    def names(*models: str) -> list[str]:
        return [each.model for each in with_one_name([replace(outcome("a", "a", 0), model=name) for name in models])]

    assert names("gpt-4.1-nano", "openai/gpt-4.1-nano", "") == ["gpt-4.1-nano", "gpt-4.1-nano", ""]
    assert names("ollama/qwen3:8b", "qwen3:8b", "meta/llama") == ["qwen3:8b", "qwen3:8b", "meta/llama"]
    assert names("gpt-4.1", "ollama/gpt-4.1") == ["openai/gpt-4.1", "ollama/gpt-4.1"]


def test_what_a_task_said_cannot_break_the_xml():
    said = Sentence("{x}", x='<b> "&" \x00\x1b ]]>')
    suite = ElementTree.fromstring(format_junit([outcome("a", "", 1, remark=said), TaskOutcome("b", "d", "r")]))
    [failure], [error] = suite.iter("failure"), suite.iter("error")
    assert failure.get("message") == '<b> "&" �� ]]>' and error.get("type") == "error"
    assert (suite.get("failures"), suite.get("errors")) == ("1", "1")
