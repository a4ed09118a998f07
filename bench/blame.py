"""Who wrote a line: `nebula blame` of a long file after many turns, beside `git blame` of the same history as commits.

blame.py [--lines 10000] [--turns 1000] [--others 5000]
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

from harness import BIN, bar, table
from nebula.graph.graph import Graph
from nebula.graph.values import Utterance
from nebula.workspace import open_workspace

PATH = "long.py"
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def versions(lines: int, turns: int) -> list[str]:
    """Return the file before and after each turn: some lines changed, added or taken out."""
    pick = random.Random(1)
    text = [f"value_{number} = compute({number})" for number in range(lines)]
    found = ["\n".join(text) + "\n"]
    for turn in range(turns):
        at = pick.randrange(len(text))
        text[at : at + pick.randrange(3)] = [
            f"turn_{turn}_{n} = compute({at + n})" for n in range(pick.randrange(1, 4))
        ]
        found.append("\n".join(text) + "\n")
    return found


def as_turns(project: Path, contents: list[str]) -> None:
    (project / PATH).write_text(contents[0])
    with Graph(project / ".nebula/graph") as graph, open_workspace(str(project)) as files:
        for number, content in enumerate(contents[1:]):
            files.for_turn(new_turn(graph, number)).write_file(PATH, content, "overwrite")


def new_turn(graph: Graph, number: int) -> str:
    return graph.add_turn(texts=[Utterance("user", f"turn {number}"), Utterance("assistant", "done")]).id


def write_elsewhere(project: Path, turns: int) -> None:
    with Graph(project / ".nebula/graph") as graph, open_workspace(str(project)) as files:
        for number in range(turns):
            turn = files.for_turn(new_turn(graph, number))
            turn.write_file(f"other{number % 20}.py", f"value = {number}\n", "overwrite")


def as_commits(repository: Path, contents: list[str]) -> None:
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.org"]
    subprocess.run(["git", "init", "-q", "."], cwd=repository, check=True)
    stream = "".join(
        f"commit refs/heads/main\ncommitter n <n@example.org> {1_700_000_000 + number} +0000\ndata 1\nx\n"
        f"M 644 inline {PATH}\ndata {len(content)}\n{content}\n"
        for number, content in enumerate(contents)
    )
    subprocess.run([*git, "fast-import", "--quiet"], cwd=repository, input=stream.encode(), check=True, **QUIET)
    subprocess.run([*git, "checkout", "-q", "main"], cwd=repository, check=True)


def seconds(argv: list[str], folder: Path, home: Path) -> float:
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    started = time.monotonic()
    subprocess.run(argv, cwd=folder, env=env, check=True, **QUIET)
    return time.monotonic() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("lines", 10_000), ("turns", 1_000), ("others", 5_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        project, repository, *homes = (Path(place, name) for name in ("project", "repository", "1", "2", "3"))
        for folder in (project, repository, *homes):
            folder.mkdir()
        home = homes[0]
        contents = versions(options.lines, options.turns)
        as_turns(project, contents)
        as_commits(repository, contents)
        blame = [str(BIN / "nebula"), "blame", PATH, "--json"]
        git = min(seconds(["git", "blame", "--porcelain", PATH], repository, home) for _ in range(3))
        cold = min(seconds(blame, project, each) for each in homes)  # each without an answer from before
        again = min(seconds(blame, project, home) for _ in range(9))
        write_elsewhere(project, options.others)
        seconds(blame, project, home)
        after = min(seconds(blame, project, home) for _ in range(9))
    rows = [("git blame", git), ("nebula blame, first", cold), ("again", again), ("after turns elsewhere", after)]
    title = f"Who wrote {options.lines:,} lines, after {options.turns:,} turns"
    table(title, ("", "seconds", "beside git"), [(name, f"{took:.3f}", f"{took / git:.2f}") for name, took in rows])
    held = [bar("first, beside git blame", cold / git, 1.0), bar("again, beside git blame", again / git, 0.1)]
    held.append(bar("after turns in other files, beside again", after / again, 1.5))
    return 0 if all(held) else 1


if __name__ == "__main__":
    raise SystemExit(main())
