"""A session with everything on (memory, log, trace, journal, graph), and coming back to a long one.

agent.py [--turns 50] [--runs 5] [--messages 10000]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from itertools import pairwise

from harness import BIN, Place, bar, median, place, table, timed
from scripted_model import Call, ScriptedModel, Turn

FILES = {f"src/module_{n}.py": f"def function_{n}():\n    return {n}\n" * 20 for n in range(20)}


def work(turns: int) -> list[Turn]:
    """Read, search, list and edit by turns, as real work goes."""
    script = []
    for n in range(turns):
        path = f"src/module_{n // 4 % 20}.py"
        call = (
            Call("readFile", {"path": path}),
            Call("searchInDirectory", {"directory": "src", "keyword": f"function_{n}"}),
            Call("editFile", {"path": path, "new_content": f"# edited {n}\n" * 40}),
            Call("list", {"path": "src"}),
        )[n % 4]
        script.append(Turn("", [call]))
    return [*script, Turn("Done.")]


def gaps(turns: int) -> tuple[dict[str, list[float]], float]:
    with place(FILES) as here, ScriptedModel(work(turns)) as server:
        run = timed([str(BIN / "nebula"), "-p", "work", "--yes"], here.project, here.env(server.env()))
        if run.code != 0:
            raise SystemExit(f"nebula ended with exit code {run.code}")
        found: dict[str, list[float]] = {"read": [], "search": [], "edit": [], "list": []}
        for n, (sooner, later) in enumerate(pairwise(server.turns)):
            found[list(found)[n % 4]].append((later.arrived - (sooner.answered or 0)) * 1000)
        return found, run.peak_mib


def remember(here: Place, messages: int) -> str:
    """A session of so many messages, made the way the program makes them: rows in memory, nodes in the graph."""
    from nebula.agent.session_nodes import SessionNodes
    from nebula.files.home import derived_folder
    from nebula.memory import Sessions
    from nebula.messages import AssistantMessage, AssistantToolUse, Json, ToolResultStatus, ToolUseResult

    with Sessions(str(here.home / ".nebula/memory.db")) as memory:
        session = memory.start(str(here.project), "gpt-4.1-nano")
        memory._connection.execute("PRAGMA synchronous=OFF")  # only to get the bench ready sooner
        derived = derived_folder(str(here.project), str(here.home / ".nebula"))
        made, node = SessionNodes(os.path.join(derived, "sessions")), ""
        for n in range(messages // 4):
            use = AssistantToolUse(f"c{n}", "readFile", "readFile", {"path": "a.py"}, {"path": "a.py"})
            result = ToolUseResult(f"c{n}", (Json({"content": "x = 1\n" * 40}),), ToolResultStatus.Success)
            memory.append_user(session, f"question {n}")
            memory.append_assistant(session, AssistantMessage.new_tool_use(None, "Looking.", (use,)))
            memory.append_tool_result(session, result)
            memory.append_assistant(session, AssistantMessage.new_response(None, f"answer {n} " * 20))
            made.add(session, f"node-{n}", [node] if node else [])
            node = f"node-{n}"
    return session


def first_request(here: Place, *args: str) -> float:
    with ScriptedModel([Turn("ok")]) as server:
        run = timed([str(BIN / "nebula"), "-p", "go on", *args], here.project, here.env(server.env()))
        return server.turns[0].arrived - run.started


def idle_memory() -> float:
    """Resident memory of an interactive session that waits at its prompt, in MiB."""
    import pexpect

    with place() as here:
        env = here.env({"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "TERM": "xterm"})
        child = pexpect.spawn(str(BIN / "nebula"), cwd=str(here.project), env=env, timeout=30)
        child.expect("You:")
        time.sleep(1)
        with open(f"/proc/{child.pid}/status", encoding="utf-8") as status:
            resident = next(line for line in status if line.startswith("VmRSS"))
        child.close(force=True)
        return int(resident.split()[1]) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--messages", type=int, default=10_000)
    options = parser.parse_args()
    runs = [gaps(options.turns) for _ in range(options.runs)]
    kinds = {kind: [gap for run, _ in runs for gap in run[kind]] for kind in runs[0][0]}
    everything = [gap for gaps in kinds.values() for gap in gaps]
    third = options.turns // 4 // 3
    growth = median([median([g for k in run for g in run[k][-third:]]) for run, _ in runs]) / median(
        [median([g for k in run for g in run[k][:third]]) for run, _ in runs]
    )
    rows = [[f"turn with {kind}, ms", f"{median(found):.2f}"] for kind, found in kinds.items()]
    rows += [["peak memory, MiB", f"{median([peak for _, peak in runs]):.0f}"]]
    with place() as here:
        plain = median([first_request(here) for _ in range(options.runs)])
        session = remember(here, options.messages)
        resumed = median([first_request(here, "--resume", session) for _ in range(options.runs)])
    rows += [
        ["first request, new session, ms", f"{plain * 1000:.0f}"],
        [f"first request, session of {options.messages} messages, ms", f"{resumed * 1000:.0f}"],
        ["idle interactive session, MiB", f"{idle_memory():.0f}"],
    ]
    table(f"{options.turns} turns with everything on, {options.runs} runs", ["what", "value"], rows)
    print()
    holds = bar("median turn", median(everything), 10, " ms")
    holds &= bar("last third / first third", growth, 1.5, "×")
    holds &= bar("resuming, beyond a new session", resumed - plain, 0.5, " s")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
