"""The checks of a project that nobody configured: confirmed once by the user, and remembered."""

from __future__ import annotations

import sys

from nebula.agent.checks.find import with_found_checks
from nebula.cli.printing import print_remark
from nebula.config import Settings, is_declined, remember_trust
from nebula.language import Sentence, explain, translate
from nebula.language.agreement import agrees
from nebula.stage import one_line


def confirmed_checks(settings: Settings, said: list[Sentence]) -> Settings:
    """Return the settings with the project's own checks, where the user lets them run; remarks go into `said`."""
    settings = with_found_checks(settings)
    if not settings.checks_need_trust or is_declined(settings):
        return settings
    listed = ", ".join(one_line(command) for command in settings.checks)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        remark = Sentence(
            "Checks that were not run, since nobody has confirmed them: {checks} (--trust lets them run)", checks=listed
        )
        said.append(remark)
        print_remark(f"evercontext: {explain(remark)}")
        return settings
    print_remark(translate("This project seems to be checked by: {checks}", checks=listed))
    print_remark(translate("Run them after each task? (y/N): "), end="")
    trusted = agrees(sys.stdin.readline())
    return remember_trust(settings, trusted=trusted)
