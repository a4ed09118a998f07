"""Run the server by itself, for benches: `python -m scripted_model --turns 50` (with tests/ on the path).

Prints its address first. Each of the first N turns calls `--tool` with `--args`; then comes the final answer. On
end of input it prints one JSON line per model request (times on the monotonic clock) and leaves.
"""

from __future__ import annotations

import argparse
import json
import sys

from scripted_model.script import Call, Turn
from scripted_model.server import ScriptedModel


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
        with open(options.script, encoding="utf-8") as file:
            script = [
                Turn(turn.get("text", ""), [Call(**call) for call in turn.get("calls", ())]) for turn in json.load(file)
            ]
    else:
        args = json.loads(options.args)
        script = [Turn("", [Call(options.tool, args)]) for _ in range(options.turns)] + [Turn(options.text)]
    with ScriptedModel(script, port=options.port) as server:
        print(server.url, flush=True)
        sys.stdin.read()
        for request in server.turns:
            times = {"arrived": request.arrived, "complete": request.complete, "answered": request.answered}
            print(json.dumps({"path": request.path, "bytes": len(request.body), **times}))


if __name__ == "__main__":
    main()
