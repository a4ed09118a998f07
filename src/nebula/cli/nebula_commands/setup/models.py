"""nebula models: what the configured providers have, what it can do and what it costs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from nebula.cli.arguments import Parser
from nebula.cli.figures.tables import table
from nebula.cli.printing import print_json, print_lines, print_remark, tell_line, tell_remark
from nebula.cli.settings import open_project
from nebula.language import explain, translate
from nebula.llm.catalog import context_length, is_set_up, known_model, price_of
from nebula.llm.choose import list_models, offered_models
from nebula.llm.errors import ModelError
from nebula.llm.known_models import PRICES_OF
from nebula.providers import PROVIDERS
from nebula.stage import one_line


def main(argv: Sequence[str]) -> None:
    parser = Parser(
        "nebula models",
        "The models of the configured providers: context, list prices, and whether they take an effort.",
    )
    parser.add_root()
    parser.add_flag("--json", "print them as one JSON list")
    options = parser.parse_args(argv)
    settings = open_project("nebula", options)
    listed = asyncio.run(list_models(settings))
    found = [_facts(info.provider, info.name, info.context_length) for info in offered_models(listed)]
    if options.json:
        print_json(found)
    elif not found:
        tell_remark("No model can be reached. `nebula doctor` says what to set.")
    else:
        print_lines(_table(found))
        tell_line("US dollars a million tokens, list prices of {month}; ? is not known here.", month=PRICES_OF)
    for provider, answer in listed:
        if isinstance(answer, ModelError) and is_set_up(PROVIDERS[provider], settings):
            print_remark(f"nebula: {provider}: {explain(answer)}")


def _facts(provider: str, name: str, told_context: int | None) -> dict[str, Any]:
    price = price_of(provider, name)
    return {
        "provider": provider,
        "model": name,
        "context": told_context or context_length(name),
        "input": None if price is None else price.input,
        "cached_input": None if price is None else price.input if price.cached is None else price.cached,
        "output": None if price is None else price.output,
        "effort": known_model(name).effort,
        "prices_of": None if price is None else PRICES_OF,
    }


def _table(found: Sequence[dict[str, Any]]) -> list[str]:
    rows = [["", translate("context"), translate("in"), translate("cached"), translate("out"), "effort"]]
    for each in found:
        dollars = [each[name] for name in ("input", "cached_input", "output")]
        prices = ["?" if price is None else f"{price:g}" for price in dollars]
        name, effort = f"{each['provider']}/{each['model']}", "✓" if each["effort"] else ""
        rows.append([one_line(name), f"{each['context']:,}", *prices, effort])
    return table(rows, "<>>>>>", indent="")
