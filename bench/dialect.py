"""What it costs to read a model's reply: the ladder beside `json.loads`, rung by rung.

    python bench/dialect.py [--megabytes 1] [--rounds 7]

Each reply is one write of a source file of about that size, wrapped as models wrap it, with and without prose around
it. Beside it `json.loads` reads the same bytes: the reply itself where it is JSON, else the reply as one JSON string.
Both run in turns in one process; the figures are of the processor, the best of the rounds. The bar: 20 MB/s on every
rung. (A thousand small calls in one reply cost what a thousand calls cost; that row has no bar.)
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from harness import bar, table
from nebula.llm.dialect.reader import read_reply
from nebula.llm.dialect.spoken import FormatFailure

BAR_MB_S = 20.0
SMALL_CALLS = "json, small calls"
REFUSED = "refused"
TOOLS = {"write_file": {"properties": {"path": {"type": "string"}, "content": {"type": "string"}}}}


def source(size: int) -> str:
    """Python of this project, over and over: quotes, line breaks and braces as often as in real code."""
    text = Path(__file__).read_text("utf-8").replace("\\", "/")
    return (text * (size // len(text) + 1))[:size]


def replies(content: str) -> dict[str, str]:
    args = {"path": "a.py", "content": content}
    call = json.dumps({"name": "write_file", "arguments": args}, ensure_ascii=False)
    bare = json.dumps(args, ensure_ascii=False)
    small = [{"name": "x", "parameters": {"n": each, "on": True}} for each in range(len(call) // 50)]
    prose = content.translate(str.maketrans("`{[<", "'((("))
    without_tags = content.replace("<", "(")
    return {
        "json": call,
        SMALL_CALLS: json.dumps({"tool_calls": small}),
        "stripped": f"<think>{prose}</think>{call}",
        "tags": f"<tool_call>\n{call}\n</tool_call>",
        "refused, channels": f"<|channel|>commentary to=functions.write_file<|message|>{bare}<|call|>",
        "refused, elements": "<function=write_file>\n<parameter=path>\na.py\n</parameter>\n"
        f"<parameter=content>\n{without_tags}\n</parameter>\n</function>",
        "refused, Python": f"[write_file(path='a.py', content={content!r})]",
        "fence": f"```json\n{call}\n```",
        "scan": f"{prose}\n{call}\n{prose}",
        "repair, raw line breaks": call.replace("\\n", "\n"),
        "repair, single quotes": repr({"name": "write_file", "arguments": args}),
        "repair, trailing comma": call[:-1] + ",}",
    }


def rung_of(reply: str) -> str:
    """Return the rung on which a reply was read; calls in another notation than JSON are refused, at a cost as well."""
    try:
        return read_reply(reply, tools=TOOLS, readers=()).rung
    except FormatFailure:
        return REFUSED


def best_s(rounds: int, *readers: Callable[[], object]) -> list[float]:
    """The best time of each, in turns."""
    best = [float("inf")] * len(readers)
    for _ in range(rounds):
        for place, read in enumerate(readers):
            started = time.process_time()
            read()
            best[place] = min(best[place], time.process_time() - started)
    return best


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    rows, held = [], True
    for name, reply in replies(source(int(options.megabytes * 1e6))).items():
        plain = reply if is_json(reply) else json.dumps(reply, ensure_ascii=False)
        read, rung = partial(rung_of, reply), rung_of(reply)
        if (rung == REFUSED) != name.startswith(REFUSED):
            raise SystemExit(f"{name}: {rung}")
        ours, theirs = best_s(options.rounds, read, partial(json.loads, plain))
        size = len(reply.encode()) / 1e6
        rates = (f"{size:.1f}", f"{size / ours:.0f}", f"{size / theirs:.0f}", f"{ours / theirs:.2f}")
        rows.append((name, rung, *rates))
        if name != SMALL_CALLS:
            held = bar(name, size / ours, BAR_MB_S, " MB/s", at_least=True) and held
    table("Reading a reply", ("reply", "rung", "MB", "MB/s", "json.loads MB/s", "ratio of the times"), rows)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
