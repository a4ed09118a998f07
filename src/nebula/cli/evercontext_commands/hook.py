"""evercontext hook: every commit handed over to the code index."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence

from nebula.blame.exchange.notes import note_commit
from nebula.cli.arguments import Parser, checked_root
from nebula.cli.printing import print_remark, tell_line, tell_remark
from nebula.errors import NebulaError
from nebula.index.in_step.hook import install, put_hook, take_hook, uninstall
from nebula.index.in_step.hook_run import hand_over
from nebula.language import explain

ACTIONS = ("install", "uninstall", "run", "note")
NOTES_HOOK = "post-commit"
NOTES_MARK = "# nebula: notes the lines of turns in a commit"
_NOTES_SCRIPT = """#!/bin/sh
{mark}
before="$(dirname "$0")/{hook}.before-nebula"
if [ -x "$before" ]; then "$before" "$@"; fi
{python} -I -c 'import sys; from nebula.cli.evercontext import main; sys.exit(main())' \\
  hook note --root {root} </dev/null >/dev/null 2>&1
exit 0
"""


def main(argv: Sequence[str]) -> None:
    options = _parser().parse_args(argv)
    if options.action == "run":
        _do_or_say(hand_over, os.path.abspath(options.root or "."))
        return
    root = checked_root(options.root)
    if options.action == "note":
        _do_or_say(note_commit, root)
    elif options.action == "install":
        tell_line("Installed: {path}", path=install(root))
        if options.notes:
            text = _NOTES_SCRIPT.format(
                mark=NOTES_MARK, hook=NOTES_HOOK, python=shlex.quote(sys.executable), root=shlex.quote(root)
            )
            tell_line("Installed: {path}", path=put_hook(root, NOTES_HOOK, NOTES_MARK, text))
    elif any([uninstall(root), take_hook(root, NOTES_HOOK, NOTES_MARK)]):
        tell_line("The hook is removed.")
    else:
        tell_remark("The hook is not installed here.")


def _do_or_say(work: Callable[[str], object], root: str) -> None:
    """Do the work of a hook, or say what is wrong: the commit goes on, or is made already. A change that is not handed
    over `nebula index sync` finds all the same."""
    try:
        work(root)
    except (OSError, NebulaError) as problem:
        print_remark(f"evercontext: {explain(problem)}")


def _parser() -> Parser:
    parser = Parser(
        "evercontext hook",
        (
            "A git hook that hands every commit over to the code index, within milliseconds; it never fails a commit.\n"
            "A hook that is already there keeps working. 'run' is for those who manage their hooks themselves."
        ),
    )
    parser.add_argument("action", choices=ACTIONS, help="what to do")
    parser.add_flag("--notes", "with install: also note which lines of a commit turns wrote (refs/notes/ai)")
    parser.add_root()
    return parser
