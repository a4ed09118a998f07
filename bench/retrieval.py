"""How good the index is, over HTTP: the retrieval benchmark against `evercontext rag` on every tree of it.

    .venv/bin/python bench/retrieval.py --benchmark DIR --data OUT [--mirrors MIRRORS] [--ranks FILE]

DIR holds the benchmark (`materialize.py`, `evaluate.py`), OUT what its `materialize.py` laid out. For each tree a
server is started with an index of its own, asked by `evaluate.py --http`, and stopped. The trees have no past; with the
clones that they were laid out from, in MIRRORS, they get the one they had at their commit.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

MEASURES = ("hit@1", "hit@5", "hit@10", "mrr")
READY_S = 300.0


def serve(tree: Path, home: Path) -> tuple[subprocess.Popen[str], str]:
    command = [str(Path(sys.executable).with_name("evercontext")), "rag", "--root", str(tree), "--port", "0"]
    server = subprocess.Popen(
        command,
        env=os.environ | {"NEBULA_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert server.stdout is not None
    for line in server.stdout:
        if found := re.search(r"http://[\w.:\[\]]+", line):
            return server, found[0]
    raise SystemExit("evercontext rag did not start")


def wait_until_ready(url: str) -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        with urllib.request.urlopen(f"{url}/status", timeout=60) as reply:
            if json.load(reply)["ready"]:
                return
        time.sleep(0.2)
    raise SystemExit(f"{url} was not ready in time")


def give_pasts(options: argparse.Namespace) -> None:
    sys.path[:0] = [str(options.benchmark), str(Path(__file__).parent / "ranking")]
    from common import mirror_dir
    from mine import give_past

    snapshots = json.loads((options.benchmark / "queries" / "snapshots.json").read_text())
    for repository, about in json.loads((options.benchmark / "repos.json").read_text()).items():
        for tree in (options.data / "trees").glob(f"{repository}*"):
            if not (tree / ".git").exists():
                give_past(mirror_dir(options.mirrors, about["source"]), snapshots[repository], tree)


def ask(options: argparse.Namespace, repository: str, tasks: str, folder: Path) -> dict[str, dict[str, float]]:
    """Task → measures, of one repository."""
    tree = options.data / "trees" / (f"{repository}.nodoc" if tasks == "doc" else repository)
    server, url = serve(tree, folder / tree.name)
    try:
        wait_until_ready(url)
        found = folder / f"{tree.name}.json"
        command = [sys.executable, "evaluate.py", "--data", str(options.data), "--repos", repository, "--tasks", tasks]
        subprocess.run(
            [*command, "--http", url, "--json", str(found), "--ranks", str(found.with_suffix(".ranks"))],
            cwd=options.benchmark,
            check=True,
            stdout=subprocess.DEVNULL,
        )
    finally:
        server.terminate()
        server.wait()
    return {task: of[repository] for task, of in json.loads(found.read_text())["http"].items() if repository in of}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmark", type=Path, required=True)
    parser.add_argument("--data", type=lambda text: Path(text).resolve(), required=True)
    parser.add_argument("--mirrors", help="clones of the repositories")
    parser.add_argument("--ranks", type=Path, help="the rank of each question, as lines of JSON")
    options = parser.parse_args()
    if options.mirrors:
        give_pasts(options)
    results: dict[str, dict[str, dict[str, float]]] = {"commit": {}, "doc": {}, "ja": {}}
    with tempfile.TemporaryDirectory(prefix="nebula-retrieval-") as name:
        for repository in json.loads((options.benchmark / "repos.json").read_text()):
            for tasks in ("commit,ja", "doc"):
                if tasks == "doc" and not (options.data / "trees" / f"{repository}.nodoc").exists():
                    continue
                for task, measures in ask(options, repository, tasks, Path(name)).items():
                    results[task][repository] = measures
        if options.ranks:
            options.ranks.write_text("".join(each.read_text() for each in sorted(Path(name).glob("*.ranks"))))
    for task, by_repository in results.items():
        count = sum(each["n"] for each in by_repository.values())
        means = [sum(each[m] * each["n"] for each in by_repository.values()) / max(1, count) for m in MEASURES]
        parts = "  ".join(f"{repository} {each['mrr']:.3f}" for repository, each in by_repository.items())
        print(
            f"{task:7} {' '.join(f'{mean:.3f}' for mean in means)}  n={count:.0f}  MRR by repository: {parts}",
            flush=True,
        )


if __name__ == "__main__":
    main()
