"""A program: reads requests as JSON lines, runs each command in a layer, answers with what came of it. With a home as its
argument the upper side lies on disk, and the kernel behaves as the oldest that will do."""

import fnmatch
import json
import sys

from old_kernel import become_old

from nebula.sandbox.command import run
from nebula.sandbox.contract import Command, Limits
from nebula.sandbox.secrets import SecretFinder

SECRET_NAMES = (".env*", "id_rsa", "*.pem", ".ssh")


def is_secret(path: str) -> bool:
    return any(fnmatch.fnmatch(path.rpartition("/")[2], pattern) for pattern in SECRET_NAMES)


def is_ignored(path: str, is_folder: bool) -> bool:
    return path.rpartition("/")[2] in {"node_modules", "__pycache__"}


def main() -> None:
    finder = SecretFinder(is_secret)
    disk = sys.argv[1] if len(sys.argv) > 1 else None
    if disk is not None:
        become_old()
    for request in map(json.loads, sys.stdin):
        limits = Limits(**request.get("limits", {}))
        command = Command(
            request["root"], request["line"], limits, request.get("network", False), secrets=finder, disk=disk
        )
        with run(command, is_ignored=is_ignored) as done:
            answer = {
                "exit_code": done.exit_code,
                "stopped": done.stopped,
                "output": done.output,
                "paths": list(done.changes.paths),
                "ignored": [change.path for change in done.changes.ignored],
                "git": [f"{each.kind} {each.name}" for each in done.changes.git],
                "refused": [[each.path, each.what] for each in done.changes.refused],
                "secret": [change.path for change in done.changes.changes if change.secret],
            }
        print(json.dumps(answer), flush=True)


main()
