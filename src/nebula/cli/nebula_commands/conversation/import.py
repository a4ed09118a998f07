"""nebula import: the history of other agents, as turns of this project's conversation."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from nebula.cli.arguments import Parser, UsageError, checked_root
from nebula.cli.nebula_commands.conversation.import_settings import main as import_settings
from nebula.cli.printing import print_remark, tell_line, tell_remark
from nebula.cli.settings import open_settings
from nebula.errors import EXIT_FAILED, EXIT_OK
from nebula.exchange.imports.contract import BAD_FILE, ImportSource, SkipCounts
from nebula.exchange.imports.line_claims import LINE_SOURCES, import_lines
from nebula.exchange.imports.reading import files_below
from nebula.exchange.imports.run import SOURCES, ImportReport, import_history, open_source
from nebula.graph.graph import Graph
from nebula.language import explain, translate
from nebula.messages.redaction import Redactor
from nebula.workspace.state_folder import prepare_state_folder


def main(argv: Sequence[str]) -> int:
    if argv and argv[0] == "settings":
        return import_settings(argv[1:])
    options = _parser().parse_args(argv)
    root = checked_root(options.root)
    if not options.dry_run:
        for remark in prepare_state_folder(root).remarks:  # also keeps what comes in out of git until it is shared
            print_remark(f"nebula: {explain(remark)}")
    if options.source in LINE_SOURCES:
        return _import_lines(root, options.source, options.path, options.dry_run)
    settings = open_settings("nebula", root)
    source = open_source(options.source)
    places = _places(source, root, options.path)
    with Graph(os.path.join(root, ".nebula", "graph")) as graph:
        report = import_history(
            graph,
            source,
            places,
            root,
            Redactor(settings.secrets),
            only_here=options.path is None,
            dry_run=options.dry_run,
        )
    _tell(report, options.dry_run)
    return EXIT_FAILED if report.skipped[BAD_FILE] and not (report.added or report.known) else EXIT_OK


def _import_lines(root: str, source: str, path: str | None, dry_run: bool) -> int:
    report = import_lines(root, source, path, dry_run=dry_run)
    facts = {"added": report.added, "known": report.known}
    if dry_run:
        tell_line("{added} records of lines would be kept; {known} are there already", **facts)
    else:
        tell_line("{added} records of lines kept; {known} were there already", **facts)
    _tell_skipped(report.skipped)
    return EXIT_OK if report.added or report.known or not report.skipped.total() else EXIT_FAILED


def _places(source: ImportSource, root: str, path: str | None) -> Iterable[str]:
    """Return the files to read: those named, or the agent's own. Raises UsageError where there are none."""
    if path is None:
        found = list(source.find(root))
        if not found:
            raise UsageError(
                "no sessions of {source} for this directory; name a file or folder: nebula import {source} PATH",
                source=source.NAME,
            )
        return found
    if os.path.isdir(path):
        endings = (".md",) if source.NAME in ("aider", "markdown") else (".jsonl", ".json")
        return files_below(path, *endings)
    if not os.path.exists(path):
        raise UsageError("{path}: there is no such file or folder", path=path)
    return [path]


def _tell(report: ImportReport, dry_run: bool) -> None:
    facts = {"flow": report.flow, "added": report.added, "known": report.known}
    if dry_run:
        tell_line("{added} turns would be added to the flow {flow}; {known} are there already", **facts)
    else:
        tell_line("{added} turns added to the flow {flow}; {known} were there already", **facts)
    if report.marks:
        tell_remark("keys marked as [redacted]: {marks}", marks=report.marks)
    _tell_skipped(report.skipped)


def _tell_skipped(skipped: SkipCounts) -> None:
    for reason, count in sorted(skipped.items(), key=str):
        if count:
            tell_remark("skipped: {what}", what=translate(reason.sentence, count=count))


def _parser() -> Parser:
    parser = Parser(
        "nebula import",
        "The history of another agent, as turns of this project's conversation.",
        about=(
            "Turns become nodes of a flow named after the source, with their branches, times, models and file changes\n"
            "where known. What looks like a key is marked. A second run adds only what is new. Without PATH: the\n"
            "agent's own place, sessions of this directory."
        ),
        examples=(
            "nebula import claude",
            "nebula import chatgpt ~/Downloads/conversations.json --dry-run",
            "nebula import settings claude",
        ),
    )
    parser.add_argument(
        "source",
        choices=(*SOURCES, *LINE_SOURCES),
        metavar="SOURCE",
        help=translate("whose records: {sources}", sources=", ".join((*SOURCES, *LINE_SOURCES))),
    )
    parser.add_argument("path", metavar="PATH", nargs="?", help="a file or folder of its records")
    parser.add_flag("--dry-run", "read everything and write nothing")
    parser.add_root()
    return parser
