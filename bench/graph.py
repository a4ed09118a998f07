"""What the conversation graph costs at 1k, 10k, 100k and 1M nodes; ratios against plain files in the same run.

    python bench/graph.py [SIZE …] [--folder DIR] [--no-search-above N] [--beside BIN]

Generates data folders of the asked sizes (nodes of about 3.7 KB, one flow a thousand nodes; kept in DIR and used
again when given), then measures each in fresh processes:

    append        create_node behind a node in its flow, in turns with writing and flushing one file of that size: how
                  long it waits for the disk (wall without processor), and the processor
    paced         the same at a person's pace, in one flow of all the nodes, and in a flow of one
    first open    get_node without any cache; reopen: with it; every node known: the first stage of the cache
    read all      building the search cache (goes on in the background, search waits for it)
    search        by keyword and by text, words of two Japanese characters among them
    list, check   the flows and the last fifty nodes; everything that can be wrong, a search index of it there

`--beside` names the `bin` folder of another installation: that measures the same in folders of its own.

What is promised, and said with PASS or FAIL:

- A turn waits for the disk five times as long as a plain file at most. It is two commits of the file system (node and
  flow flushed at one moment, then their folders) where the plain file is one, on a machine at work. What that buys is
  that no log has to be read, replayed or emptied.
- Its processor does not grow with the nodes there are, for all else is looked up. The least of three runs counts, and
  three tenths more are allowed: two runs of the same differ by as much on a busy machine.
- A flow is written whole, so a turn costs more in a long one: half a millisecond of processor for each 1,000 turns that
  are in it, at most. Of 10,000 that is three times what it takes on a quiet machine.
- Of 100,000 nodes the first one takes 2 s of processor without any cache, and all of them to be known as well; with it
  0.2 s, and a search 10 ms. The first search of all answers within 3 s, from what is read by then.
- Beside another installation none of that takes one and a half times as much, but for what it takes to write a flow.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from harness import bar

APPENDS = 400
RUNS = 3
PACED = 12
PAUSE_S = 0.7
QUERIES = 200
JAPANESE = (
    *("検索", "要約", "会話", "節点", "接続", "分岐", "合流", "履歴", "文書", "構造"),
    *("設計", "実装", "試験", "性能", "関数", "変数", "通信", "認証", "記録", "画面"),
)
PARTICLES = "をにがはでの、。"
SEARCHES = ("keyword", "keyword_ja2", "text", "text_ja2", "tags", "nothing")
LIMITS = {"first_open": 2000, "map": 2000, "reopen": 200, "first_search": 3000} | {f"{key}_p95": 10 for key in SEARCHES}
"""Milliseconds, for as many nodes as this:"""
LARGEST = 100_000
LONG = 10_000
"""Turns of a flow in which what they cost is more than the noise."""


class Words:
    """Text with the shape of a conversation: common words, rare words, Japanese and English."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        letters = "etaoinshrdlucmfwypvbgk"
        self.english = ["".join(self.chance.choices(letters, k=self.chance.randint(3, 9))) for _ in range(8000)]
        self.japanese = ["".join(self.chance.sample(JAPANESE, 2)) for _ in range(300)] + list(JAPANESE)
        self.tags = [f"タグ{number}" for number in range(150)] + [f"topic-{number}" for number in range(150)]
        self.prompts = [self._japanese(60) for _ in range(500)]
        self.answers = [self._english(380) for _ in range(500)]

    def _japanese(self, count: int) -> str:
        return "".join(self.chance.choice(self.japanese) + self.chance.choice(PARTICLES) for _ in range(count))

    def _english(self, count: int) -> str:
        return " ".join(self.chance.choices(self.english, k=count))

    def node(self) -> tuple[str, str, str, list[str]]:
        rare = self.chance.choice(self.english)
        summary = f"{self.chance.choice(self.japanese)}の{self.chance.choice(self.japanese)} {rare}"
        prompt = f"{rare}{self.chance.choice(self.prompts)}"
        return prompt, self.chance.choice(self.answers), summary, self.chance.sample(self.tags, 3)


TEMPLATE = """\
<?xml version="1.0" encoding="utf-8"?>
<node id="{id}" timestamp="{time}">
<contents>
<text role="user" count="200" duration="0.00" rate="0.00"><![CDATA[
{prompt}
]]></text>
<text role="assistant" count="700" duration="4.20" rate="166.67"><![CDATA[
{answer}
]]></text>
</contents>
<metadata>
<model>gpt-4.1-nano</model>
<summary updated="false" last_built="{time}"><![CDATA[
{summary}
]]></summary>
<tags>
{tags}
</tags>
</metadata>
</node>
"""


def generate(folder: Path, size: int) -> None:
    """A data folder with `size` nodes, written without flushing."""
    from nebula.graph.disk import numbered_paths
    from nebula.graph.formats.flow_yaml import dump_flow
    from nebula.graph.ids import new_id
    from nebula.graph.values import Edge, Flow, FlowEntry

    words = Words(size)
    start = 1_700_000_000
    members: list[str] = []
    flows: list[str] = []
    (folder / "flows").mkdir(parents=True)
    made: set[str] = set()
    with open(folder / "nodes.tsv", "w", encoding="utf-8") as index:
        index.write("relpath\tuuid\ttimestamp\n")
        for number in range(size):
            path, node_id = numbered_paths.path_of(number, 100, "xml"), new_id()
            moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(start + number)) + ".000000+00:00"
            prompt, answer, summary, tags = words.node()
            text = TEMPLATE.format(
                id=node_id,
                time=moment,
                prompt=prompt,
                answer=answer,
                summary=summary,
                tags="\n".join(f"<tag>{tag}</tag>" for tag in tags),
            )
            name = path[:3]
            if name not in made:
                (folder / "nodes" / name).mkdir(parents=True, exist_ok=True)
                made.add(name)
            handle = os.open(folder / "nodes" / path, os.O_WRONLY | os.O_CREAT, 0o666)
            os.write(handle, text.encode("utf-8"))
            os.close(handle)
            index.write(f"{path}\t{node_id}\t{moment}\n")
            members.append(node_id)
            if len(members) == 1000 or number == size - 1:
                flow = Flow(
                    new_id(),
                    f"session {len(flows)}",
                    moment,
                    moment,
                    "",
                    tuple(FlowEntry(place, member) for place, member in enumerate(members, 1)),
                    tuple(Edge(place, place + 1) for place in range(1, len(members))),
                )
                where = numbered_paths.path_of(len(flows), 100, "yaml")
                (folder / "flows" / where).parent.mkdir(exist_ok=True)
                (folder / "flows" / where).write_text(dump_flow(flow), encoding="utf-8")
                flows.append(f"{where}\t{flow.id}\t{moment}\n")
                members = []
    os.rename(folder / "nodes.tsv", folder / "nodes" / "index.tsv")
    (folder / "flows" / "index.tsv").write_text("relpath\tuuid\ttimestamp\n" + "".join(flows), encoding="utf-8")
    (folder / "metadata").mkdir()


def timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def worked(call: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Return the processor's time."""
    started = clock()
    call()
    return clock() - started


def spread(times: list[float]) -> tuple[float, float]:
    """p50 and p95 in milliseconds."""
    ordered = sorted(times)
    return statistics.median(ordered) * 1e3, ordered[int(len(ordered) * 0.95)] * 1e3


def ids_of(folder: Path) -> list[str]:
    return [line.split("\t")[1] for line in (folder / "nodes/index.tsv").read_text("utf-8").splitlines()[1:]]


def measure_append(folder: Path) -> dict[str, float]:
    """Turns of a session in a flow of its own, each beside one plain file of the same size."""
    from nebula.graph.graph import Graph

    words = Words(7)
    graph = Graph(folder)
    plain = folder / "plain"
    flow = graph.create_flow(f"bench {os.getpid()}").id
    shutil.rmtree(plain, ignore_errors=True)
    plain.mkdir()
    last = graph.create_node("start", flow=flow).id
    own: list[float] = []
    work: list[float] = []
    base: list[float] = []
    for number in range(APPENDS):
        prompt, answer, *_ = words.node()
        started, cpu = time.perf_counter(), time.process_time()
        last = graph.create_node(prompt, answer, flow=flow, parents=[last]).id
        own.append(time.perf_counter() - started)
        work.append(time.process_time() - cpu)
        data = TEMPLATE.format(id=last, time="", prompt=prompt, answer=answer, summary="", tags="").encode("utf-8")
        started = time.perf_counter()
        _plain_write(plain / str(number), data)
        base.append(time.perf_counter() - started)
    shutil.rmtree(plain)
    graph.close()
    p50, p95 = spread(own)
    wait = spread([wall - cpu for wall, cpu in zip(own, work, strict=True)])[0] / spread(base)[0]
    return {"append_p50": p50, "append_p95": p95, "append_cpu": spread(work)[0], "append_wait": wait}


def measure_paced(folder: Path) -> dict[str, float]:
    """Turns of a person who thinks in between, behind all the nodes and, in turn, behind a single one."""
    from nebula.graph.graph import Graph

    graph = Graph(folder)
    ids = ids_of(folder)
    flows = [graph.create_flow(f"paced {name} {os.getpid()}").id for name in ("long", "short")]
    graph.rebuild_flow(flows[0], ids)
    graph.rebuild_flow(flows[1], ids[-1:])
    last = [ids[-1], ids[-1]]
    times: list[list[float]] = [[], []]
    work: list[list[float]] = [[], []]
    for _ in range(PACED):
        for place, flow in enumerate(flows):
            time.sleep(PAUSE_S)
            started, cpu = time.perf_counter(), time.process_time()
            last[place] = graph.create_node("and then?", "this", flow=flow, parents=[last[place]]).id
            times[place].append(time.perf_counter() - started)
            work[place].append(time.process_time() - cpu)
    graph.close()
    more = spread(work[0])[0] - spread(work[1])[0]
    return {"paced_p50": spread(times[0])[0], "paced_short_p50": spread(times[1])[0], "paced_cpu": more}


def _plain_write(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    os.write(handle, data)
    os.fsync(handle)
    os.close(handle)


def measure_open(folder: Path) -> dict[str, float]:
    from nebula.graph.graph import Graph

    node_id = ids_of(folder)[-1]
    return {"open": worked(lambda: Graph(folder).get_node(node_id)) * 1e3}


def measure_map(folder: Path) -> dict[str, float]:
    from nebula.graph.graph import Graph

    return {"map": worked(lambda: Graph(folder).count_nodes()) * 1e3}


def measure_read_all(folder: Path) -> dict[str, float]:
    from nebula.graph.graph import Graph

    def read_all() -> None:
        while graph.search_nodes(text="zzzz", limit=1).unread:
            pass

    with Graph(folder) as graph:
        first = timed(lambda: graph.search_nodes(text="zzzz", limit=1))
        return {"first_search": first * 1e3, "read_all_s": first + timed(read_all)}


def measure_search(folder: Path) -> dict[str, float]:
    """Ask everything twice: how long the disk takes for what nobody asked before is the machine's. Only the asking
    thread counts: the look at all files that follows in another takes a twentieth of the time at most."""
    from nebula.graph.graph import Graph

    words = Words(3)
    chance = random.Random(5)
    makers: dict[str, Callable[[], dict[str, Any]]] = {
        "keyword": lambda: {"keywords": [chance.choice(words.tags)]},
        "keyword_ja2": lambda: {"keywords": [chance.choice(JAPANESE)]},
        "text": lambda: {"text": chance.choice(words.english)},
        "text_ja2": lambda: {"text": chance.choice(JAPANESE)},
        "tags": lambda: {"tags": chance.sample(words.tags, 2)},
        "nothing": lambda: {"keywords": ["無之"]},
    }
    questions = {kind: [make() for _ in range(QUERIES)] for kind, make in makers.items()}
    found = {}
    with Graph(folder) as graph:
        graph.search_nodes(text="zzzz", limit=1)
        for kind, asked in (*questions.items(), *questions.items()):
            times = [worked(partial(graph.search_nodes, limit=50, **each), time.thread_time) for each in asked]
            found[f"{kind}_p95"] = spread(times)[1]
    return found


def measure_list(folder: Path) -> dict[str, float]:
    from nebula.graph.graph import Graph

    with Graph(folder) as graph:
        return {"list": worked(graph.list_flows) * 1e3, "list_nodes": worked(lambda: graph.list_nodes(limit=50)) * 1e3}


def measure_check(folder: Path) -> dict[str, float]:
    from nebula.graph.graph import Graph

    with Graph(folder) as graph:
        return {"check": worked(graph.check) * 1e3}


MEASURES = {
    "append": measure_append,
    "paced": measure_paced,
    "open": measure_open,
    "map": measure_map,
    "read_all": measure_read_all,
    "search": measure_search,
    "list": measure_list,
    "check": measure_check,
}


def home_of(folder: Path) -> Path:
    """Where what is derived from it lies."""
    return folder.with_suffix(".home")


def in_fresh_process(name: str, folder: Path, python: str) -> dict[str, float]:
    ran = subprocess.run(
        [python, __file__, "--measure", name, "--folder", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NEBULA_HOME": str(home_of(folder))},
    )
    if ran.returncode:
        raise SystemExit(ran.stderr)
    found: dict[str, float] = json.loads(ran.stdout)
    return found


def run(size: int, home: Path, search_limit: int, python: str) -> dict[str, float]:
    folder = home / f"graph-{size}"
    if not folder.exists():
        partial = home / f"partial-{size}"
        shutil.rmtree(partial, ignore_errors=True)
        seconds = timed(lambda: generate(partial, size))
        os.rename(partial, folder)
        print(f"generated {size:,} nodes in {seconds:.0f} s", file=sys.stderr)

    def measure(name: str) -> dict[str, float]:
        return in_fresh_process(name, folder, python)

    shutil.rmtree(home_of(folder), ignore_errors=True)
    found = {"first_open": measure("open")["open"]}
    mapped = measure("map")
    found |= {"map": mapped["map"], "map_rss": mapped["rss"]}
    found["reopen"] = statistics.median(measure("open")["open"] for _ in range(5))
    appends = [measure("append") for _ in range(RUNS)]
    found |= {key: min(each[key] for each in appends) for key in appends[0]}
    found |= measure("paced")
    if size <= search_limit:
        shutil.rmtree(home_of(folder))
        found |= measure("read_all") | measure("search")
        found |= measure("list") | measure("check")
    return found


def rows(columns: list[dict[str, float]]) -> Iterator[tuple[str, list[str]]]:
    def row(name: str, key: str, unit: str = "ms") -> tuple[str, list[str]]:
        return name, [f"{found[key]:,.2f} {unit}" if key in found else "-" for found in columns]

    yield row("append p50", "append_p50")
    yield row("append p95", "append_p95")
    yield row("append, processor p50", "append_cpu")
    yield row("append, waiting for the disk / plain file", "append_wait", "x")
    yield row("paced append p50, one flow of all nodes", "paced_p50")
    yield row("paced append p50, a flow of one", "paced_short_p50")
    yield row("processor p50, the one beyond the other", "paced_cpu")
    yield row("first open, no cache, processor", "first_open")
    yield row("every node known, no cache, processor", "map")
    yield row("memory after that", "map_rss", "MB")
    yield row("reopen, warm, processor", "reopen")
    yield row("first search, no cache", "first_search")
    yield row("read all for search", "read_all_s", "s")
    for key in SEARCHES:
        yield row(f"search {key} p95, processor", f"{key}_p95")
    yield row("list of flows, processor", "list")
    yield row("list of the last nodes, processor", "list_nodes")
    yield row("check, processor", "check")


def keeps_promises(results: dict[int, dict[str, float]]) -> bool:
    first = min(results)
    holds = True
    for size, found in results.items():
        nodes = f"{size:,} nodes"
        holds &= bar(f"{nodes}, append: waiting for the disk / plain file", found["append_wait"], 5, "×")
        growth = found["append_cpu"] / results[first]["append_cpu"]
        holds &= size == first or bar(f"{nodes}, append: processor / that of {first:,}", growth, 1.3, "×")
        more = found["paced_cpu"] / size * 1000
        holds &= size < LONG or bar(f"{nodes}, append: processor for 1,000 turns of its flow", more, 0.5, " ms")
        for key, limit in LIMITS.items() if size <= LARGEST else ():
            holds &= key not in found or bar(f"{nodes}, {key.replace('_', ' ')}", found[key], limit, " ms")
    return holds


def keeps_pace(results: dict[int, dict[str, float]], others: dict[int, dict[str, float]]) -> bool:
    holds = True
    for size, other in others.items():
        for key in ("reopen", *(f"{kind}_p95" for kind in SEARCHES), "list", "list_nodes", "check"):
            if key in other:
                ratio = results[size][key] / other[key]
                holds &= bar(f"{size:,} nodes, {key.replace('_', ' ')}, beside the other", ratio, 1.5, "×")
    return holds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=[1000, 10_000])
    parser.add_argument("--folder", type=Path, help="where the generated folders are kept (default: a temporary one)")
    parser.add_argument("--no-search-above", type=int, default=100_000, metavar="N")
    parser.add_argument("--beside", type=Path, metavar="BIN")
    parser.add_argument("--measure", choices=MEASURES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        found = MEASURES[options.measure](options.folder)
        found["rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(found))
        return 0
    home = options.folder or Path(tempfile.mkdtemp(prefix="graph-bench-"))
    (home / "beside").mkdir(parents=True, exist_ok=True)
    others: dict[int, dict[str, float]] = {}
    results: dict[int, dict[str, float]] = {}
    try:
        for size in options.sizes:
            results[size] = run(size, home, options.no_search_above, sys.executable)
            if options.beside:
                others[size] = run(size, home / "beside", options.no_search_above, str(options.beside / "python"))
    finally:
        if options.folder is None:
            shutil.rmtree(home)
    columns = {f"{size:,}": found for size, found in results.items()}
    columns |= {f"{size:,} beside": found for size, found in others.items()}
    print("| nodes | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name, cells in rows(list(columns.values())):
        print(f"| {name} | " + " | ".join(cells) + " |")
    print()
    holds = keeps_promises(results)
    return 0 if keeps_pace(results, others) and holds else 1


if __name__ == "__main__":
    sys.exit(main())
