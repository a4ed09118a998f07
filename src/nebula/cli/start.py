"""Start each of the three commands, or say in one sentence that this system cannot run them.

Locks and descriptors of folders are those of Linux and macOS. Where Python has no module for them, as on Windows,
nothing else of nebula can be imported, so that is found out first. A commit waits for `evercontext hook run`: this
module loads next to nothing.
"""

from __future__ import annotations

import sys


def nebula() -> int:
    if not _is_possible_here():
        return 1
    from nebula.cli.nebula import main

    return main()


def evercontext() -> int:
    if not _is_possible_here():
        return 1
    from nebula.cli.evercontext_start import main

    return main()


def vizprompt() -> int:
    if not _is_possible_here():
        return 1
    from nebula.cli.vizprompt import main

    return main()


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
