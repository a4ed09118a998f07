"""vizprompt build: summaries and tags."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from nebula.cli.arguments import Parser
from nebula.cli.printing import print_remark, tell_line, tell_remark
from nebula.config import load_settings
from nebula.graph.graph import Graph
from nebula.graph.summaries.build import BuildProgress, BuildReport, build
from nebula.language import explain, translate
from nebula.llm.choose import ChosenModel, choose_model
from nebula.llm.errors import ModelError
from nebula.providers import PROVIDERS
from nebula.stage import one_line


def main(data_dir: str, argv: Sequence[str], prog: str) -> int:
    options = _parser(prog).parse_args(argv)

    with Graph(data_dir) as graph:
        report = asyncio.run(_build(graph, options))
    for outcome in report.failed:
        print_remark(f"{outcome.node_id}: {one_line(outcome.error)}")
    if report.stopped:
        stopped = one_line(report.stopped)
        tell_remark("Stopped: {reason} Not tried: {count}", reason=stopped, count=len(report.not_tried))
    tell_line(
        "Built: {built}  failed: {failed}  left: {left}",
        built=len(report.built),
        failed=len(report.failed),
        left=len(report.not_tried),
    )
    return 1 if report.failed or report.stopped else 0


async def _build(graph: Graph, options: argparse.Namespace) -> BuildReport:
    writer = None if options.offline else await _writer(graph, options)
    try:
        return await build(graph, all=options.all, model=writer, progress=_show_progress)
    finally:
        if writer:
            await writer.connector.aclose()


async def _writer(graph: Graph, options: argparse.Namespace) -> ChosenModel | None:
    provider, model = options.provider or "", options.model or ""
    try:
        return await choose_model(load_settings(), model, provider=provider, suggested=graph.settings.suggested_model)
    except ModelError as error:
        if options.provider or options.model:
            raise
        print_remark(f"{explain(error)} {translate('Extracts are used instead.')}")
        return None


def _show_progress(progress: BuildProgress) -> None:
    outcome = progress.outcome
    said = translate("failed: {reason}", reason=outcome.error) if outcome.error else outcome.summary
    if sys.stderr.isatty():
        print_remark(f"[{progress.done}/{progress.total}] {outcome.node_id} {one_line(said)[:100]}")


def provider_options(parser: Parser, *, required: bool) -> None:
    group = parser.add_mutually_exclusive_group(required=required)
    for row in PROVIDERS.values():
        about = translate("use {name}", name=row.label)
        group.add_argument(f"--{row.name}", dest="provider", action="store_const", const=row.name, help=about)
    parser.add_argument("-m", "--model", metavar="MODEL", help="the model to ask")


def _parser(prog: str) -> Parser:
    parser = Parser(
        prog,
        "Makes the summaries and tags that are due.",
        about=(
            "Due are nodes without a summary and edited ones. Each is saved when it is done: a build that was stopped\n"
            "goes on where it was. Without any model the beginnings of the texts stand in; such a summary begins with\n"
            "[extract] or [抜粋], and the next build with a model replaces it. Exit code 1 when a node failed."
        ),
        examples=("vizprompt build", "vizprompt build --all --ollama -m qwen3:8b"),
    )
    parser.add_flag("--all", "build every node, due or not")
    provider_options(parser, required=False)
    parser.add_flag("--offline", "ask no model, make extracts")
    return parser
