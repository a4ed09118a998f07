"""evercontext hook: every commit handed over to the code index."""

from __future__ import annotations

import os
from collections.abc import Sequence

from nebula.cli.arguments import Parser, checked_root, root_option
from nebula.cli.printing import print_line, print_remark
from nebula.errors import NebulaError
from nebula.language import explain, translate

ACTIONS = ("install", "uninstall", "run")


def main(argv: Sequence[str]) -> int:
    options = _parser().parse_args(argv)
    if options.action == "run":
        return _run(options.root)
    root = checked_root(options.root)

    from nebula.index.in_step.hook import install, uninstall

    if options.action == "install":
        print_line(translate("Installed: {path}", path=install(root)))
    elif uninstall(root):
        print_line(translate("The hook is removed."))
    else:
        print_remark(translate("The hook is not installed here."))
    return 0


def _run(root: str | None) -> int:
    """Hand the commit over. It goes on whatever is wrong; `nebula index sync` finds the change all the same."""
    from nebula.index.in_step.hook_run import hand_over

    try:
        hand_over(os.path.abspath(root or "."))
    except (OSError, NebulaError) as problem:
        print_remark(f"evercontext: {explain(problem)}")
    return 0


def _parser() -> Parser:
    parser = Parser(
        "evercontext hook",
        translate(
            "A git hook that hands every commit over to the code index, within milliseconds; it never fails a commit.\n"
            "A hook that is already there keeps working. 'run' is for those who manage their hooks themselves."
        ),
    )
    parser.add_argument("action", choices=ACTIONS, help=translate("what to do"))
    root_option(parser)
    return parser
