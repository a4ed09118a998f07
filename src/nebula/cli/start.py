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
_ENDS = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
_heard: list[int] = []
"""The signals that came before anybody could end a turn properly."""


def nebula() -> int:
    words = sys.argv[1:]
    if words and words[0].startswith("-") and "-p" in words:
        _keep_signals()
    return _start("nebula.cli.nebula", is_task="-p" in words or words[:1] in (["race"], ["take"]))


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
            hear_no_more_signals()


def _take_every_end_for_ctrl_c() -> None:
    """Have a task or a server that is told to end, or whose window is closed, end with its exit code from the first
    moment on; once it has begun it hears signals by itself."""
    for number in (_signal.SIGTERM, _signal.SIGHUP):
        if _signal.getsignal(number) == _signal.SIG_DFL:  # `nohup` has one of them ignored
            _signal.signal(number, _signal.default_int_handler)


def _keep_signals() -> None:
    """Keep the signals that come while a task is being loaded: its turn is to have its events all the same."""
    for number in _ENDS:
        if _signal.getsignal(number) in (_signal.SIG_DFL, _signal.default_int_handler):
            _signal.signal(number, _keep)


def _keep(number: int, _: object) -> None:
    _heard.append(number)


def hear_kept_signals() -> None:
    """Take every signal for Ctrl-C from now on. Raises KeyboardInterrupt where one was kept."""
    for number in _ENDS:
        if _signal.getsignal(number) is _keep:
            _signal.signal(number, _signal.default_int_handler)
    if _heard:
        raise KeyboardInterrupt


def hear_no_more_signals() -> None:
    """Let no signal take the place of an exit code: while the last is said, and while the interpreter, which forgets
    who heard it, is put away."""
    for number in _ENDS:
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
