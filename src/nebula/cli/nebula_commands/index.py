"""nebula index: the code index of this project."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

from nebula.cli.arguments import Parser, number_up_to
from nebula.cli.busy import Busy, busy
from nebula.cli.printing import print_json, print_line, print_remark, tell_line, tell_remark
from nebula.cli.settings import open_project
from nebula.index.errors import IndexFailed
from nebula.index.in_step.watch import watch
from nebula.index.index import Index
from nebula.index.values import Hit, Report, Skipped
from nebula.language import Sentence, explain, translate, translate_count
from nebula.llm.errors import ModelError
from nebula.tools.code.code_index import open_index

QUIET_S = 1.0
"""What takes longer says how far it is."""
MAX_RESULTS = 1_000


def main(argv: Sequence[str]) -> None:
    options = _parser().parse_args(argv)
    settings = open_project("nebula", options)
    run: Callable[[Index, argparse.Namespace], None] = options.run

    with open_index(settings) as index:
        run(index, options)


def _sync(index: Index, options: argparse.Namespace) -> None:
    report = _bring_in_step(index)
    _embed(index)
    _print_report(report, options)


def _bring_in_step(index: Index) -> Report:
    with busy(Sentence("reading the files")) as line:
        return index.sync(_Progress(translate("files indexed"), line))


def _rebuild(index: Index, options: argparse.Namespace) -> None:
    index.clear()
    _sync(index, options)


def _embed(index: Index) -> None:
    """Vectors are a help, not a need: where the embedder fails, the words stand."""
    try:
        with busy() as line:
            index.embed(progress=_Progress(translate("chunks embedded"), line))
    except (ModelError, IndexFailed) as problem:
        print_remark(f"nebula: {explain(problem)}")


def _print_report(report: Report, options: argparse.Namespace) -> None:
    counts = {"ingested": report.ingested, "deleted": report.deleted, "renamed": report.renamed}
    if options.json:
        print_json({**counts, "skipped": _named(report.skipped)})
        return
    tell_line("{ingested} files indexed, {deleted} removed, {renamed} renamed", **counts)
    if report.skipped:
        one = "{count} file left out; nebula index status names it"
        many = "{count} files left out; nebula index status names them"
        print_remark(translate_count(len(report.skipped), one, many))


def _named(skipped: Sequence[Skipped]) -> list[dict[str, str]]:
    return [{"path": each.path, "reason": each.reason} for each in skipped]


def _status(index: Index, options: argparse.Namespace) -> None:
    status = index.status()
    if options.json:
        print_json(status.to_json() | {"skipped_files": _named(status.skipped)})
        return
    counts = {"files": status.files, "chunks": status.chunks, "queued": status.queued}
    tell_line("{files} files in {chunks} chunks; {queued} commits waiting", **counts)
    if status.embedder:
        tell_line("{count} chunks with vectors of {name}", count=status.embedded, name=status.embedder)
    for each in status.skipped:
        tell_line("{path}: left out, {reason}", path=each.path, reason=each.reason)


def _search(index: Index, options: argparse.Namespace) -> None:
    _bring_in_step(index)
    question = " ".join(options.query)
    hits = index.search(question, options.top_k, path_prefix=options.path_prefix, language=options.language)
    reasons = {}
    if options.explain:
        reasons = index.explain(question, path_prefix=options.path_prefix, language=options.language)
    if options.json:
        print_json({"chunks": [hit.to_json() | _reason(reasons, hit) for hit in hits]})
        return
    for hit in hits:
        print_line(f"{hit.path}:{hit.span}  {hit.symbol}".rstrip())
        if reason := _reason(reasons, hit):
            parts = ", ".join(f"{translate(name)} {amount:+.2f}" for name, amount in reason["parts"].items())
            print_line(f"    {hit.score:.2f} = {parts}")
        print_line("".join(f"    {line}\n" for line in hit.text.splitlines()))
    if not hits:
        tell_remark("Nothing was found.")


def _reason(reasons: dict[str, dict[str, float]], hit: Hit) -> dict[str, dict[str, float]]:
    """Return what each part adds to the score of a hit, what adds most first; nothing where it was not asked for."""
    parts = reasons.get(f"{hit.path}:{hit.span}", {})
    if parts:
        parts = parts | {"copy": hit.score - sum(parts.values())}  # a text that stands higher already counts less
    telling = {name: round(amount, 2) for name, amount in parts.items() if round(amount, 2)}
    order = sorted(telling, key=lambda name: -abs(telling[name]))
    return {"parts": {name: telling[name] for name in order}} if parts else {}


def _watch(index: Index, options: argparse.Namespace) -> None:
    import threading

    tell_remark("Following the files; Ctrl-C ends it.")

    def changed(report: Report) -> None:
        _print_report(report, options)
        _embed(index)

    watch(index, threading.Event(), changed)


class _Progress:
    """Says on stderr how far it is, at most once a second; on a terminal always, in the line that says that we work."""

    def __init__(self, what: str, line: Busy | None) -> None:
        self._what = what
        self._line = line
        self._said = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        said = f"{done:,}/{total:,} {self._what}"
        if self._line is not None:
            self._line.doing = said
        elif time.monotonic() - self._said >= QUIET_S:
            self._said = time.monotonic()
            print_remark(said)


def _parser() -> Parser:
    parser = Parser(
        "nebula index",
        "The code index of this project: finds the lines that a question is about.",
        examples=(
            "nebula index sync",
            'nebula index search "where is the session saved?" --path-prefix src/',
            "nebula index status --json",
        ),
    )
    for name, run, about in (
        ("sync", _sync, translate("bring the index in step with the files")),
        ("status", _status, translate("what is indexed, what waits, what was left out")),
        ("search", _search, translate("the chunks that a question is about, the best first")),
        ("rebuild", _rebuild, translate("make the index anew; vectors are kept")),
        ("watch", _watch, translate("stay in step until Ctrl-C")),
    ):
        command = parser.add_command(name, about, run)
        command.add_root()
        command.add_flag("--json", "print JSON")
        if name == "search":
            _search_options(command)
    return parser


def _search_options(parser: Parser) -> None:
    parser.add_argument("query", nargs="+", metavar="QUERY", help="what to look for, in any words")
    parser.add_argument(
        "-k", "--top-k", type=number_up_to(MAX_RESULTS), default=10, metavar="N", help="how many at most (default: 10)"
    )
    parser.add_argument("--path-prefix", default="", metavar="P", help="only paths that begin so")
    parser.add_argument("--language", default="", metavar="L", help="only files of this language")
    parser.add_flag("--explain", "say why each chunk is ranked where it is")
