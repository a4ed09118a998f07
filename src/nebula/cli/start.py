"""Start each of the three commands, or say in one sentence that this system cannot run them.

Locks and descriptors of folders are those of Linux and macOS. Where Python has no module for them, as on Windows,
nothing else of nebula can be imported, so that is found out first. A commit waits for `evercontext hook run`: this
module loads next to nothing.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes classes of what it has, which takes its time
import atexit
import gc
import sys

from nebula.cli.late_modules import put_off

INTERRUPTED = 130
"""As `nebula.errors` says it, which is not loaded yet."""


def nebula() -> int:
    return _start("nebula.cli.nebula", is_task="-p" in sys.argv or sys.argv[1:2] in (["race"], ["take"]))


def evercontext() -> int:
    return _start("nebula.cli.evercontext_start", is_task=sys.argv[1:2] not in (["hook"], ["kpi"]))


def vizprompt() -> int:
    return _start("nebula.cli.vizprompt")


def _start(program: str, *, is_task: bool = False) -> int:
    if not _is_possible_here():
        return 1
    try:
        if is_task:
            _take_every_end_for_ctrl_c()
        _collect_rarely()
        put_off()
        code: int = __import__(program, fromlist=["main"]).main()
        return code
    except KeyboardInterrupt:  # before anything is loaded that would say so
        return INTERRUPTED
    finally:
        if is_task:
            _end_with_the_exit_code()


def _take_every_end_for_ctrl_c() -> None:
    """Have a task or a server that is told to end, or whose window is closed, end with its exit code from the first
    moment on; once it has begun it hears signals by itself."""
    for number in (_signal.SIGTERM, _signal.SIGHUP):
        if _signal.getsignal(number) == _signal.SIG_DFL:  # `nohup` has one of them ignored
            _signal.signal(number, _signal.default_int_handler)


def _end_with_the_exit_code() -> None:
    """Let no signal take the place of an exit code while the interpreter, which forgets who heard it, is put away."""
    for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
        _signal.signal(number, _signal.SIG_IGN)


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
