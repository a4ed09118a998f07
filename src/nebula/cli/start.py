"""Start each of the three commands, or say in one sentence that this system cannot run them.

Locks and descriptors of folders are those of Linux and macOS. Where Python has no module for them, as on Windows,
nothing else of nebula can be imported, so that is found out first. A commit waits for `evercontext hook run`: this
module loads next to nothing.
"""

from __future__ import annotations

import atexit
import gc
import sys

from nebula.cli.late_modules import put_off

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED = 130
"""As `nebula.errors` says it, which is not loaded yet."""


def nebula() -> int:
    return _start(_nebula)


def evercontext() -> int:
    return _start(_evercontext)


def vizprompt() -> int:
    return _start(_vizprompt)


def _nebula() -> int:
    put_off()
    from nebula.cli.nebula import main

    return main()


def _evercontext() -> int:
    put_off()
    from nebula.cli.evercontext_start import main

    return main()


def _vizprompt() -> int:
    from nebula.cli.vizprompt import main

    return main()


def _start(command: Callable[[], int]) -> int:
    if not _is_possible_here():
        return 1
    _collect_rarely()
    try:
        return command()
    except KeyboardInterrupt:  # before anything is loaded that would say so
        return INTERRUPTED


def _collect_rarely() -> None:
    """Keep the collector from looking through what a command loads time and again, least of all at its end: that was a
    sixth of the whole start."""
    gc.set_threshold(50_000, 20, 20)
    atexit.register(gc.freeze)


def _is_possible_here() -> bool:
    try:
        import fcntl  # noqa: F401
    except ImportError:
        import os

        from nebula.language import language_of, translate, use_language

        use_language(language_of(os.environ))
        sentence = translate(
            "This runs on Linux and macOS. On Windows use WSL: wsl --install, then install it in there."
        )
        sys.stderr.write(f"nebula: {sentence}\n")
        return False
    return True
