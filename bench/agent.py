"""A session with everything on (memory, log, trace, journal, graph), and coming back to a long one.

agent.py [--turns 50] [--runs 5] [--messages 10000] [--long 2000]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from itertools import pairwise

from harness import BIN, Place, bar, median, place, table, timed
from scripted_model import Call, RecordedRequest, ScriptedModel, Turn

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
    from nebula.agent.recording.turn_archive import SessionNode, SessionNodes
    from nebula.files.home import derived_folder
    from nebula.memory.sessions import Sessions
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
            with made.open_to_add(session) as file:
                file.write(SessionNode(f"node-{n}", node).to_line())
            node = f"node-{n}"
    return session


def one_line_edit(rounds: int = 20) -> tuple[int, float]:
    """Bytes of arguments of a one-line edit in a file of 5,000 lines, and the median time of such a round, in ms."""
    lines = [f"value_{n} = {n}\n" for n in range(5_000)]
    edits = [
        {"path": "big.py", "edits": [{"old_text": f"value_{n} = {n}\n", "new_text": f"value_{n} = -{n}\n"}]}
        for n in range(100, 100 + rounds)
    ]
    read = Call("readFile", {"path": "big.py", "start_line": 90, "end_line": 90 + 2 * rounds})
    script = [Turn("", [read]), *(Turn("", [Call("editFile", edit)]) for edit in edits), Turn("Done.")]
    with place({"big.py": "".join(lines)}) as here, ScriptedModel(script) as server:
        run = timed([str(BIN / "nebula"), "-p", "work", "--yes"], here.project, here.env(server.env()))
        changed = (here.project / "big.py").read_text(encoding="utf-8").count("= -")
        if run.code != 0 or changed != rounds:
            raise SystemExit(f"nebula ended with exit code {run.code} after {changed} of {rounds} edits")
        found = [(later.arrived - (sooner.answered or 0)) * 1000 for sooner, later in pairwise(server.turns[1:])]
    return max(len(json.dumps(edit)) for edit in edits), median(found)


LONG_CONTEXT = 16_000
FACT = "Remember that the key of the lighthouse is 4711."


class LongTalk:
    """A model for thousands of turns: it answers, makes summaries, and at the end looks for the first fact."""

    def __init__(self) -> None:
        self.largest = 0
        self.sent: list[int] = []

    def __call__(self, request: RecordedRequest) -> Turn:
        from nebula.graph.tokens import estimate_tokens

        body = request.json
        tokens = estimate_tokens(json.dumps([body["messages"], body.get("tools")], ensure_ascii=False))
        self.largest = max(self.largest, tokens)
        words = body["messages"][-1]["content"]
        if "要約とタグ付けを行う専門家" in words:
            return Turn("要約: It was said that things go on as they did before.\nタグ: talk, more")
        self.sent.append(tokens)
        results = [each["content"] for each in body["messages"] if each["role"] == "tool"]
        if "find the first fact" not in str(body["messages"][-1 - 2 * len(results)]["content"]):
            return Turn("An answer of the usual length. " * 30, input_tokens=tokens)
        if results and "prompt" in (last := json.loads(results[-1])):
            return Turn("Found: " + last["prompt"], input_tokens=tokens)
        system = body["messages"][0]["content"]
        lines = json.loads(results[-1])["turns"] if results else re.findall(r"turns \d+-\d+", system)
        wanted = re.search(r"\[([^\]]+)\]", lines[0]) or re.search(r"(turns \d+-\d+)", lines[0])
        return Turn("", [Call("readNode", {"id": wanted[1] if wanted else ""})], input_tokens=tokens)


def long_session(turns: int) -> tuple[list[float], LongTalk, str]:
    """The processor's time for each turn in ms, the model's own included; what the model saw; its last answer.

    Not the clock's: a turn is some milliseconds of work and several syncs of a disk that others use, too.
    """
    import asyncio

    from nebula.agent.assembly import open_session
    from nebula.config import load_settings
    from nebula.tools.approval import allow_all

    async def talk(root: str, env: dict[str, str]) -> tuple[list[float], str]:
        settings = load_settings(root, env, {"context_tokens": LONG_CONTEXT})
        session = await open_session(settings, approver=allow_all, summarises_ahead=True)
        times = []
        for n in range(turns):
            begun = time.process_time()
            await session.turn(FACT if n == 0 else f"Question {n}: how does it go on?")
            times.append((time.process_time() - begun) * 1000)
        final = await session.turn("Now find the first fact.")
        await session.close()
        session.archive.close()  # its folder goes next, and nobody may be writing there
        return times, final.text

    model = LongTalk()
    with place() as here, ScriptedModel(model) as server:
        times, answer = asyncio.run(talk(str(here.project), here.env(server.env())))
    return times, model, answer


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
    parser.add_argument("--long", type=int, default=2_000, help="turns of the long session; 0 leaves it out")
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
    size, round_ms = one_line_edit()
    holds &= bar("one-line edit in 5,000 lines, arguments", size, 1_024, " bytes")
    holds &= bar("one-line edit in 5,000 lines, round", round_ms, 10, " ms")
    return 0 if (not options.long or report_long(options.long)) and holds else 1


def report_long(turns: int) -> bool:
    times, model, answer = long_session(turns)
    tenth = turns // 10
    first, last = median(times[tenth : 2 * tenth]), median(times[-tenth:])
    before, after = median(model.sent[tenth : 2 * tenth]), median(model.sent[-tenth - 5 : -5])
    print(
        f"{turns} turns over {LONG_CONTEXT} tokens: {first:.1f} ms of processor a turn at first, {last:.1f} ms at last"
    )
    print(f"the first fact, after them: {answer}")
    holds = bar("largest request", model.largest, LONG_CONTEXT, " tokens")
    holds &= bar("time of a turn, last tenth / second tenth", last / first, 1.5, "×")
    holds &= bar("tokens of a request, last tenth / second tenth", after / before, 1.1, "×")
    return holds and FACT in answer


if __name__ == "__main__":
    sys.exit(main())
