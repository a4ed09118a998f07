"""Report what came of a batch: by model, as predictions in SWE-bench's form, and as JUnit for CI."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from nebula.agent.batch.outcome import TaskOutcome
from nebula.agent.batch.results import Results
from nebula.events.facts import Facts
from nebula.llm.catalog import known_provider, split_name
from nebula.value import replace, value

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@value
class ModelScore(Facts):
    """How one model did in all tasks that it was given."""

    model: str
    tasks: int
    tries: int
    passed_at_1: float
    """The share of its tries that passed, averaged over the tasks."""
    passed_at_n: float
    """The share of its tasks of which at least one try passed."""
    cost: float
    unpriced_tokens: int
    malformed: int
    """Replies that could not be used."""


def with_one_name(outcomes: Sequence[TaskOutcome]) -> list[TaskOutcome]:
    """Return the outcomes with one name for each model, however it was written: the provider stands in front only where
    models of two providers have the same name."""
    named = [(provider or known_provider(model), model) for provider, model in (split_name(o.model) for o in outcomes)]
    providers: dict[str, set[str]] = {}
    for provider, model in named:
        providers.setdefault(model, set()).update({provider} - {""})
    return [
        replace(each, model=f"{provider}/{model}" if provider and len(providers[model]) > 1 else model)
        for each, (provider, model) in zip(outcomes, named, strict=True)
    ]


def score_models(outcomes: Sequence[TaskOutcome]) -> list[ModelScore]:
    """Return the score of each model, in the order in which they come first."""
    models: dict[str, dict[str, list[TaskOutcome]]] = {}
    for each in outcomes:
        models.setdefault(each.model, {}).setdefault(each.group or each.id, []).append(each)
    return [_score(model, list(tasks.values())) for model, tasks in models.items()]


def _score(model: str, tasks: Sequence[Sequence[TaskOutcome]]) -> ModelScore:
    shares = [sum(each.exit_code == 0 for each in tries) / len(tries) for tries in tasks]
    all_tries = [each for tries in tasks for each in tries]
    return ModelScore(
        model,
        len(tasks),
        len(all_tries),
        round(sum(shares) / len(shares), 4),
        round(sum(share > 0 for share in shares) / len(shares), 4),
        round(sum(each.cost for each in all_tries), 6),
        sum(each.unpriced_tokens for each in all_tries),
        sum(each.malformed for each in all_tries),
    )


def format_predictions(outcomes: Sequence[TaskOutcome], results: Results) -> str:
    """Return one JSON object a line, as SWE-bench's judge reads them; of several tries of a model the first counts."""
    lines, seen = [], set()
    for each in outcomes:
        key = each.group or each.id, each.model
        if key in seen:
            continue
        seen.add(key)
        try:
            with open(results.patch(each.id), encoding="utf-8", errors="replace", newline="") as file:
                patch = file.read()
        except FileNotFoundError:
            patch = ""
        found = {"instance_id": key[0], "model_name_or_path": each.model, "model_patch": patch}
        lines.append(json.dumps(found) + "\n")
    return "".join(lines)


def format_junit(outcomes: Sequence[TaskOutcome]) -> str:
    """Return the outcomes as a suite of tests: a task that ended by itself and badly failed, any other is an error."""
    failed = [each for each in outcomes if each.exit_code != 0 and each.trace_id]
    errors = [each for each in outcomes if each.exit_code != 0 and not each.trace_id]
    seconds = sum(each.seconds for each in outcomes)
    counts = f'tests="{len(outcomes)}" failures="{len(failed)}" errors="{len(errors)}" time="{seconds:.3f}"'
    cases = "".join(map(_format_case, outcomes))
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {counts}>\n'
        f'<testsuite name="evercontext batch" {counts}>\n{cases}</testsuite>\n</testsuites>\n'
    )


def _format_case(outcome: TaskOutcome) -> str:
    name, group = (quoteattr(_NOT_IN_XML.sub("�", text)) for text in (outcome.id, outcome.group or outcome.id))
    head = f'<testcase classname={group} name={name} time="{outcome.seconds:.3f}"'
    if outcome.exit_code == 0:
        return f"{head}/>\n"
    said = _NOT_IN_XML.sub("�", str(outcome.remark or outcome.status))
    kind = "failure" if outcome.trace_id else "error"
    body = f"<{kind} type={quoteattr(outcome.status)} message={quoteattr(said)}>{escape(said)}</{kind}>"
    return f"{head}>{body}</testcase>\n"
