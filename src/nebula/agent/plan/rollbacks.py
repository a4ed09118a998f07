"""Restore what a failed task changed; if that is cut short, the next start finishes it.

A note in the user's home says that a rollback is under way. The process that rolls back holds the lock of the note, so
another process takes it over only when that one is gone. Files that are restored already stay as they are: the journal
has the state of each.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from nebula.agent.plan.kept_plans import NoSuchPlan, PlanInProgress, find_plan
from nebula.errors import NebulaError
from nebula.files.descriptors import closed_after
from nebula.files.syscalls import REAL
from nebula.files.untrusted_json import parse_json
from nebula.language import Sentence, sentence_of
from nebula.value import replace
from nebula.workspace.contract import Workspace

NOTES = "rollbacks"
_NAME = re.compile(r"[0-9a-f-]{36}")


@contextmanager
def noted_rollback(folder: str, trace_id: str, done: Mapping[str, str]) -> Iterator[None]:
    """Keep a note in `folder`, the project's folder in the user's home, until the block has ended. `done` are the steps
    that were done before the task began; they stay done."""
    os.makedirs(os.path.join(folder, NOTES), mode=0o700, exist_ok=True)
    path = os.path.join(folder, NOTES, trace_id)
    with closed_after(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)) as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.write(handle, json.dumps(dict(done)).encode())
        REAL.fsync(handle)
        yield
        os.unlink(path)


def finish_rollbacks(folder: str, files: Workspace) -> list[Sentence]:
    """Finish the rollbacks that a process left unfinished in these files; return remarks on them."""
    try:
        names = sorted(name for name in os.listdir(os.path.join(folder, NOTES)) if _NAME.fullmatch(name))
    except OSError:
        return []
    return [said for name in names if (said := _finish(folder, name, files)) is not None]


def _finish(folder: str, trace_id: str, files: Workspace) -> Sentence | None:
    path = os.path.join(folder, NOTES, trace_id)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            paths = files.for_turn(trace_id).roll_back()
        except NebulaError as problem:
            return Sentence(
                "The rollback of a task had been interrupted and could not be completed: {problem}",
                problem=sentence_of(problem),
            )
        finally:
            os.unlink(path)
        _begin_again(folder, trace_id, os.read(handle, os.fstat(handle).st_size))
        said = "The rollback of a task had been interrupted; it is complete now: {paths}"
        return Sentence(said, paths=", ".join(paths)) if paths else None
    except BlockingIOError:  # another process is doing it
        return None
    finally:
        os.close(handle)


def _begin_again(folder: str, trace_id: str, note: bytes) -> None:
    """Reset the plan of a task that was rolled back to where that task began."""
    with suppress(NoSuchPlan, ValueError, AttributeError):
        done = {str(step): str(said) for step, said in parse_json(note or b"{}").items()}
        PlanInProgress(folder, replace(find_plan(folder, trace_id), done=done)).restart()
