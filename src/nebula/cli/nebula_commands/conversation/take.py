"""nebula take: what tries of a race did, whole or in parts, into the project."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import closing

from nebula.agent.assembly import graph_opener
from nebula.agent.race.take import CannotTake, TakenSet, Wanted, take_tries
from nebula.agent.recording.turn_archive import TurnArchive
from nebula.cli.arguments import Parser, check_allowed
from nebula.cli.printing import print_json, print_remark
from nebula.cli.race.taking import NO_PATH, report_taken, take_exit_code, who_decides
from nebula.cli.settings import open_project
from nebula.config import Settings
from nebula.errors import EXIT_POLICY
from nebula.graph.errors import GraphError
from nebula.language import translate
from nebula.tools.contract import CancelledLate
from nebula.workspace import Policy, open_workspace


def main(argv: Sequence[str]) -> int:
    parser = Parser("nebula take", "Takes what tries of a race did, whole or in parts.")
    parser.add_argument("nodes", nargs="+", metavar="NODE[:PATH]", help="a try by its node, and a file or folder of it")
    parser.add_root()
    parser.add_allow()
    parser.add_flag("--yes", "take without a question")
    parser.add_output_format("how to print it", "json")
    options = parser.parse_args(argv)
    check_allowed(options.allow)
    settings = open_project("nebula", options)
    with closing(TurnArchive(graph_opener(settings), read_only=True)) as archive:
        wanted = find_wanted(archive, options.nodes)
        if not options.yes and not sys.stdin.isatty():
            print_remark(f"nebula: {translate('Nobody is there to ask: add --yes to take it.')}")
            return EXIT_POLICY
        done = asyncio.run(_take(settings, wanted, options.allow, yes=options.yes))
    if options.output_format == "json":
        print_json(taken_json(done))
    return take_exit_code(done)


def find_wanted(archive: TurnArchive, words: Sequence[str]) -> list[Wanted]:
    """Return the tries and paths that words of the form NODE[:PATH] name. Raises CannotTake."""
    paths: dict[str, list[str]] = {}
    whole: set[str] = set()
    for word in words:
        named, colon, path = word.partition(":")
        if colon and not path:
            raise CannotTake(NO_PATH, word=word)
        try:
            node_id = archive.known([named])[0]
        except GraphError as problem:
            raise CannotTake.of(problem) from problem
        paths.setdefault(node_id, [])
        if path:
            paths[node_id].append(path)
        else:
            whole.add(node_id)
    wanted = []
    for node_id, named_paths in paths.items():
        node = archive.find(node_id)
        if node is None:
            raise CannotTake("There is no node {node}.", node=node_id)
        wanted.append(Wanted(node.id, tuple(node.files), () if node_id in whole else tuple(named_paths)))
    return wanted


async def _take(settings: Settings, wanted: Sequence[Wanted], allow: Sequence[str], *, yes: bool) -> TakenSet:
    with open_workspace(settings.root, Policy(max_bytes=settings.max_bytes, allowed=frozenset(allow))) as workspace:
        try:
            done = await take_tries(wanted, workspace, who_decides(settings, yes=yes), settings)
        except CancelledLate as late:  # it was told to end, and took it nevertheless
            done = late.outcome
    report_taken(done)
    return done


def taken_json(done: TakenSet) -> dict[str, object]:
    files = [{"path": each.path, "added": each.added, "removed": each.removed} for each in done.applied]
    return {"applied": files, "conflicts": list(done.conflicts), "left_out": list(map(str, done.left_out))}
