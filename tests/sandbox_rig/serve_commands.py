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
        with run(command) as done:
            answer = {
                "exit_code": done.exit_code,
                "stopped": done.stopped,
                "output": done.output,
                "paths": list(done.changes.paths),
                "git": [f"{each.kind} {each.name}" for each in done.changes.git],
                "refused": [[each.path, each.what] for each in done.changes.refused],
                "secret": [change.path for change in done.changes.changes if change.secret],
            }
        print(json.dumps(answer), flush=True)


main()
