"""The merge driver for the files of a graph: set for a repository by `nebula graph share`, run by git."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence

from nebula.cli.arguments import UsageError
from nebula.cli.printing import print_remark, tell_remark
from nebula.errors import EXIT_FAILED, EXIT_OK
from nebula.git import GitFailed
from nebula.git.writing import set_merge_driver
from nebula.graph.errors import BadFile
from nebula.graph.graph import Graph
from nebula.graph.merging import merge_versions, note_merge, settle_merge

DRIVER = "nebula-graph"
COMMAND = "merge-file"


def install_driver(root: str) -> None:
    """Have git of this repository merge graph files by us; where it cannot be set, say so and go on."""
    line = f"{shlex.quote(sys.executable)} -I -m nebula graph {COMMAND} %O %A %B %P"
    try:
        set_merge_driver(root, DRIVER, "nebula graph", line)
    except GitFailed as problem:
        tell_remark("git could not be set up to merge the conversation: {problem}", problem=problem)


def merge_file(argv: Sequence[str]) -> int:
    """Merge one file as git asks: base, ours (which gets the result), theirs, and its path in the repository."""
    if len(argv) != 4:
        raise UsageError("git runs this: nebula graph merge-file BASE OURS THEIRS PATH")
    versions = []
    for place in argv[:3]:
        with open(place, "rb") as file:
            versions.append(file.read())
    try:
        merged, holds_both = merge_versions(argv[3], *versions)
    except BadFile as problem:
        tell_remark("{path} cannot be merged: {problem}", path=argv[3], problem=problem)
        return EXIT_FAILED
    with open(argv[1], "wb") as file:
        file.write(merged)
    if holds_both:
        note_merge(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(argv[3])))))
        tell_remark("{path}: both versions kept; nebula graph shows them", path=argv[3])
    return EXIT_OK


def tell_settled(data_dir: str) -> None:
    """Part what a merge left in one file, and say what was done."""
    if not os.path.isdir(data_dir):
        return
    with Graph(data_dir) as graph:
        for each in settle_merge(graph):
            print_remark(f"{each.path}: {each.message} ({each.repaired})")
