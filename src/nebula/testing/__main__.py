"""Run the scripted model server by itself: `python -m nebula.testing --script report.json`.

It prints its address first. Without a script, each of the first N replies calls `--tool` with `--args`; then comes the
final answer. On end of input it prints one JSON line per model request (times on the monotonic clock) and leaves.
"""

from __future__ import annotations

import argparse
import json
import sys

from nebula.testing.script import ScriptedCall, ScriptedReply
from nebula.testing.server import ScriptedModel


def read_script(path: str) -> list[ScriptedReply]:
    """Return the replies in a JSON file: a list of {"text": …, "calls": [{"name": …, "args": …, "id": …}]}."""
    with open(path, encoding="utf-8") as file:
        replies = json.load(file)
    return [ScriptedReply(it.get("text", ""), [ScriptedCall(**call) for call in it.get("calls", ())]) for it in replies]


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--turns", type=int, default=0, help="tool turns before the final answer")
    parser.add_argument("--tool", default="readFile")
    parser.add_argument("--args", default='{"path": "README.md"}', help="JSON arguments of each tool call")
    parser.add_argument("--text", default="Done.")
    parser.add_argument("--script", help="JSON file: a list of {text, calls: [{name, args, id}]}")
    options = parser.parse_args()
    if options.script:
        script = read_script(options.script)
    else:
        call = ScriptedCall(options.tool, json.loads(options.args))
        script = [*[ScriptedReply("", [call])] * options.turns, ScriptedReply(options.text)]
    with ScriptedModel(script, port=options.port) as server:
        print(server.url, flush=True)
        sys.stdin.read()
        for request in server.turns:
            times = {"arrived": request.arrived, "complete": request.complete, "answered": request.answered}
            print(json.dumps({"path": request.path, "bytes": len(request.body), **times}))


if __name__ == "__main__":
    main()
