"""The checks of a project that nobody configured: confirmed once by the user, and remembered."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nebula.cli.printing import print_remark
from nebula.language import explain, translate
from nebula.stage import one_line

if TYPE_CHECKING:
    from nebula.config import Settings


def confirmed_checks(settings: Settings) -> Settings:
    """The settings with the project's own checks, where the user lets them run."""
    from nebula.agent.checks.find import with_found_checks
    from nebula.config import is_declined, remember_trust
    from nebula.tools.approval import agrees

    settings = with_found_checks(settings)
    if not settings.checks_need_trust or is_declined(settings):
        return settings
    listed = ", ".join(one_line(command) for command in settings.checks)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        print_remark(
            "evercontext: "
            + translate(
                "Checks that were not run, since nobody has confirmed them: {checks} (--trust lets them run)",
                checks=listed,
            )
        )
        return settings
    print_remark(translate("This project seems to be checked by: {checks}", checks=listed))
    print_remark(translate("Run them after each task? (y/N): "), end="")
    trusted = agrees(sys.stdin.readline())
    if trusted:
        _point_out_unseen(settings)
    return remember_trust(settings, trusted=trusted)


def _point_out_unseen(settings: Settings) -> None:
    """Before the first check fails for it: what lies in the user's home is hidden from them."""
    from nebula.tools.commands.layers import CommandLayers
    from nebula.tools.commands.unseen import unseen_by

    found = [(command, unseen_by(command, settings)) for command in settings.checks]
    if any(unseen for _, unseen in found) and CommandLayers(settings).available:
        for command, unseen in found:
            if unseen is not None:
                print_remark(explain(unseen.sentence(one_line(command))))
