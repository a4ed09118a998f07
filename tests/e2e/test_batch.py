"""`evercontext batch` as a user runs it: many tasks, no project touched, resumable after a kill, one table."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pexpect
import pytest

from conftest import Bench
from nebula.files.home import project_id
from nebula.sandbox.remembered import ON_DISK, remember
from ports import steady_port
from scripted_model import Fault, ScriptedModel, Turn
from scripted_model.batch import batch_model
from terminal_driver import PATIENCE


@pytest.fixture
def batch(bench: Bench) -> Bench:
    """Two projects: one in a repository, one plain."""
    bench.write("repo/app/a.txt", "a\n")
    bench.write("plain/b.txt", "b\n")
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Begin")):
        subprocess.run(["git", *who, *words], cwd=bench.project / "repo", check=True)
    return bench


def tasks(bench: Bench, *lines: dict[str, str]) -> None:
    bench.write("tasks.jsonl", "".join(json.dumps(line) + "\n" for line in lines))


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if ".git/" not in f"{path}/")


def test_every_task_has_a_place_of_its_own_and_no_project_is_touched(batch: Bench) -> None:
    tasks(
        batch,
        {"task": "write one.md", "root": "repo/app"},
        {"task": "write one.md", "root": "repo/app"},
        {"task": "write two.md", "root": "plain", "id": "two"},
        {"task": "refuse x.md", "root": "plain"},
        {"task": "fail", "root": "repo"},
    )
    before = files_below(batch.project / "repo"), files_below(batch.project / "plain")
    with ScriptedModel(batch_model) as model:
        ran = batch.run("evercontext", "batch", "tasks.jsonl", "--parallel", "3", "--json", **model.env())
    assert ran.code == 1
    assert (files_below(batch.project / "repo"), files_below(batch.project / "plain")) == before
    report = ran.json
    assert (report["ok"], report["failed"]) == (3, 2)
    codes = {each["id"]: (each["status"], each["exit_code"]) for each in report["tasks"]}
    assert codes == {"001": ("ok", 0), "002": ("ok", 0), "two": ("ok", 0), "004": ("refused", 2), "005": ("error", 1)}
    assert ran.err.count("/5  ") == 5
    patch = report["tasks"][0]["patch"]
    subprocess.run(["git", "apply", patch], cwd=batch.project / "repo", check=True)
    assert batch.read("repo/app/one.md") == "# one.md\n"


def test_a_task_finds_the_project_as_it_is_without_secrets_and_results(batch: Bench) -> None:
    batch.write("repo/.gitignore", "node_modules/\n")
    batch.write("repo/app/node_modules/x.js", "")
    batch.write("repo/app/a.txt", "not committed\n")
    batch.write("repo/app/.env", "KEY=secret-of-the-project\n")
    batch.write("repo/app/out/old/changes.patch", "of another task\n")
    batch.home.joinpath(".nebula").mkdir(exist_ok=True)
    checks = ["test -d node_modules", "grep -q not.committed a.txt", "test ! -s .env", "test ! -e out"]
    batch.home.joinpath(".nebula/config.json").write_text(json.dumps({"checks": checks}))
    tasks(batch, {"task": "write one.md", "root": "repo/app"}, {"task": "write two.md", "root": "repo/app"})
    with ScriptedModel(batch_model) as model:
        ran = batch.run("evercontext", "batch", "tasks.jsonl", "--out", "repo/app/out", "--json", **model.env())
    assert [each["verified"] for each in ran.json["tasks"]] == [True, True], ran.err


@pytest.mark.parametrize("copies", [False, True])
def test_a_task_begins_at_a_commit(batch: Bench, copies: bool) -> None:
    if copies:
        remember(str(batch.home / ".nebula"), ON_DISK, 0)
    subprocess.run(["git", "tag", "v1"], cwd=batch.project / "repo", check=True)
    batch.write("repo/app/a.txt", "changed\n")
    batch.write("repo/app/new.txt", "new\n")
    batch.write("repo/.gitignore", "tool\n")
    batch.write("repo/app/tool", "tool\n")
    before = files_below(batch.project / "repo")
    looks = ["grep -qx a a.txt", "test ! -e new.txt", "test -s tool"]
    line = {"task": "write one.md", "root": "repo/app", "ref": "v1", "checks": looks}
    tasks(batch, line, line | {"root": "repo", "checks": ["test -s app/a.txt"]})
    with ScriptedModel(batch_model) as model:
        ran = batch.run("evercontext", "batch", "tasks.jsonl", "--json", "--keep", **model.env())
    assert [each["verified"] for each in ran.json["tasks"]] == [True, True], ran.out
    assert ran.err.count("no overlays") == copies
    assert files_below(batch.project / "repo") == before and batch.read("repo/app/a.txt") == "changed\n"
    assert "b/app/one.md" in (batch.project / "tasks.results/001/changes.patch").read_text()
    assert (
        batch.read("tasks.results/work/001/one.md") == "# one.md\n"
        and batch.read("tasks.results/work/001/a.txt") == "a\n"
    )
    assert os.listdir(batch.home / ".nebula/projects") in ([], [f"repo-{_id(batch)}"])


def _id(batch: Bench) -> str:
    return project_id(str(batch.project / "repo")).removeprefix("repo-")


def test_results_can_be_looked_at_like_any_project(batch: Bench) -> None:
    tasks(batch, {"task": "write one.md", "root": "repo", "id": "first"})
    with ScriptedModel(batch_model) as model:
        table = batch.run("evercontext", "batch", "tasks.jsonl", NEBULA_LANG="ja", **model.env())
    assert os.listdir(batch.home / ".nebula/projects") == []
    assert table.code == 0 and "first" in table.out and "1/1" in table.out and "1 件完了" in table.out
    story = batch.run("nebula", "trace", "show", "--root", "tasks.results/first")
    assert story.code == 0 and "one.md" in story.out
    assert batch.run("evercontext", "kpi", "--root", "tasks.results/first", "--json").json["task_success_rate"] == 1.0
    assert not os.path.exists(batch.project / "tasks.results/work")


@pytest.mark.parametrize("trust", [(), ("--trust",)], ids=["not trusted", "trusted"])
def test_checks_of_a_project_run_in_the_place_of_the_task_once_trusted(batch: Bench, trust: tuple[str, ...]) -> None:
    batch.write("plain/.nebula/config.json", '{"checks": ["test -f one.md"]}')
    tasks(batch, {"task": "write one.md", "root": "plain"})
    with ScriptedModel(batch_model) as model:
        ran = batch.run("evercontext", "batch", "tasks.jsonl", "--json", *trust, **model.env())
    assert (ran.code, ran.json["tasks"][0]["verified"]) == (0, True if trust else None)


def test_killed_it_goes_on_with_what_is_left(batch: Bench) -> None:
    tasks(batch, *({"task": f"write f{number}.md", "root": "repo"} for number in range(8)))
    killed, asked_last = threading.Event(), threading.Event()

    def slow(request):
        if "f5.md" in request.body.decode() and not killed.is_set():
            asked_last.set()
            return Turn(fault=Fault.slow(3600))
        return batch_model(request)

    results = batch.project / "tasks.results/results.jsonl"
    with ScriptedModel(slow) as model:
        process = batch.start("evercontext", "batch", "tasks.jsonl", "--parallel", "2", **model.env())
        assert asked_last.wait(60)
        _until(lambda: results.exists() and len(results.read_text().splitlines()) >= 5)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed.set()
        done = {json.loads(line)["id"] for line in results.read_text().splitlines()}
        asked = len(model.turns)
        ran = batch.run("evercontext", "batch", "tasks.jsonl", "--parallel", "2", "--json", **model.env())
        later = "".join(request.body.decode() for request in model.turns[asked:])
    assert ran.code == 0 and ran.json["ok"] == 8
    assert "were done before" in ran.err and "006" not in done
    assert not any(f"write f{int(name) - 1}.md" in later for name in done)
    listed = subprocess.run(["git", "worktree", "list"], cwd=batch.project / "repo", capture_output=True, text=True)
    assert len(listed.stdout.splitlines()) == 1


def test_interrupted_it_says_how_to_go_on(batch: Bench) -> None:
    tasks(batch, {"task": "write a.md", "root": "plain"}, {"task": "write b.md", "root": "plain"})
    asked = threading.Event()

    def slow(request):
        if "b.md" in request.body.decode():
            asked.set()
            return Turn(fault=Fault.slow(3600))
        return batch_model(request)

    results = batch.project / "tasks.results/results.jsonl"
    with ScriptedModel(slow) as model:
        process = batch.start("evercontext", "batch", "tasks.jsonl", "--parallel", "2", **model.env())
        assert asked.wait(60)
        _until(lambda: results.exists() and results.read_text().count("\n") == 1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and b"goes on with the rest" in err
    assert [json.loads(line)["id"] for line in results.read_text().splitlines()] == ["001"]


def _until(holds, seconds: float = 60) -> None:
    """Waits for a file of another process, which tells nobody when it is there."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_terminal_has_one_live_line_and_the_table_at_the_end(batch: Bench) -> None:
    tasks(batch, {"task": "write a.md", "root": "plain"}, {"task": "write b.md", "root": "plain"})
    seen = threading.Event()
    with ScriptedModel(lambda request: replace(batch_model(request), until=seen)) as model:
        env = batch.env(TERM="xterm-256color", **model.env())
        words = batch.argv("evercontext", "batch", "tasks.jsonl", "--parallel", "2")
        with pexpect.spawn(
            words[0], words[1:], cwd=str(batch.project), env=env, dimensions=(24, 120), timeout=PATIENCE
        ) as terminal:
            terminal.expect_exact("0 of 2 done, 0 failed, 2 at work")
            seen.set()
            terminal.expect_exact("2/2  ")
            terminal.expect_exact("2 done, 0 failed")
            terminal.expect(pexpect.EOF)


def test_mistakes_are_one_line(batch: Bench) -> None:
    tasks(batch, {"tusk": "x"})
    for words, said in (
        (("tasks.jsonl",), "line 1: unknown key 'tusk'"),
        (("missing.jsonl",), "cannot be read"),
        (("tasks.jsonl", "--parallel", "0"), "from 1 to 1000"),
    ):
        ran = batch.run("evercontext", "batch", *words)
        assert (ran.code, ran.out) == (64, "") and said in ran.err and ran.err.count("\n") == 1


@contextmanager
def cluster(bench: Bench, folder: Path, **env: str) -> Iterator[str]:
    """A cluster with one machine, this one, that has its own environment; the address of its client port."""
    port = steady_port()
    words = bench.argv("ray", "start", "--head", "--block", "--num-cpus=2", "--include-dashboard=false")
    words += [
        f"--port={steady_port()}",
        f"--ray-client-server-port={port}",
        "--min-worker-port=0",
        "--max-worker-port=0",
    ]
    words += [f"--temp-dir={folder}", "--disable-usage-stats"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    head = subprocess.Popen(words, env=bench.env(PYTHONWARNINGS="default", **env), start_new_session=True, **quiet)
    try:
        _until(lambda: head.poll() is None and _listens(port))
        yield f"ray://127.0.0.1:{port}"
    finally:
        head.terminate()  # it ends what it started
        head.wait(30)


def _listens(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("is_client", [False, True], ids=["of its own", "that is there"])
def test_tasks_run_on_a_cluster(batch: Bench, is_client: bool) -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed (CONTRIBUTING.md says how)")
    tasks(
        batch,
        {"task": "write one.md", "root": "repo/app"},
        {"task": "write two.md", "root": "plain"},
        {"task": "refuse x.md", "root": "plain"},
    )
    before = files_below(batch.project / "repo"), files_below(batch.project / "plain")
    words = ("evercontext", "batch", "tasks.jsonl", "--json", "--on")
    with ScriptedModel(batch_model) as model, tempfile.TemporaryDirectory(prefix="ray") as folder:
        if is_client:
            with cluster(batch, Path(folder), **model.env()) as address:
                ran = batch.run(*words, address, timeout=120, PYTHONWARNINGS="default")  # without any key
        else:
            ran = batch.run(*words, "ray", timeout=120, PYTHONWARNINGS="default", **model.env())
    assert ran.code == 1, ran.err
    assert [each["exit_code"] for each in ran.json["tasks"]] == [0, 0, 2]
    assert "+# one.md" in (batch.project / "tasks.results/001/changes.patch").read_text()
    assert (batch.project / "tasks.results/002/.nebula/trace.jsonl").exists()
    assert (files_below(batch.project / "repo"), files_below(batch.project / "plain")) == before


def test_a_worker_that_dies_fails_its_task_alone_and_one_that_is_interrupted_leaves_nothing(batch: Bench) -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed (CONTRIBUTING.md says how)")
    tasks(batch, {"task": "write one.md", "root": "plain"}, {"task": "write two.md", "root": "plain"})
    asked = threading.Event()

    def slow(request):
        if "two.md" in request.body.decode():
            asked.set()
            return Turn(fault=Fault.slow(3600))
        return batch_model(request)

    def killed(request):
        if "two.md" in request.body.decode():
            os.kill(_worker_of(batch, "ray::work_on"), signal.SIGKILL)
            return Turn(fault=Fault.slow(3600))
        return batch_model(request)

    words = ("evercontext", "batch", "tasks.jsonl", "--json", "--parallel", "1", "--on", "ray")
    with tempfile.TemporaryDirectory(prefix="ray") as folder:
        env = {"PYTHONWARNINGS": "default", "TMPDIR": folder}
        with ScriptedModel(slow) as model:
            process = batch.start(*words, **env, **model.env())
            assert asked.wait(60)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            assert process.returncode == 130
            assert list(Path(folder).glob("nebula-task-*")) == []
        with ScriptedModel(killed) as model:
            ran = batch.run(*words, "--again", timeout=120, **env, **model.env())
    assert [(each["status"], each["exit_code"]) for each in ran.json["tasks"]] == [("ok", 0), ("error", 1)]
    assert "died" in ran.json["tasks"][1]["remark"]


def _worker_of(batch: Bench, name: str) -> int:
    """Return the process of a name that was started by a command of this bench."""
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            words, environ = (Path("/proc", pid, each).read_bytes() for each in ("cmdline", "environ"))
        except OSError:
            continue
        if words.startswith(name.encode()) and str(batch.home).encode() in environ:
            return int(pid)
    raise AssertionError(name)


@pytest.mark.skipif("ray" in sys.modules, reason="Ray is loaded")
def test_without_ray_one_line_says_what_to_install(batch: Bench) -> None:
    batch.write("ray.py", "raise ImportError('not here')\n")
    tasks(batch, {"task": "write one.md", "root": "plain"})
    ran = batch.run("evercontext", "batch", "tasks.jsonl", "--on", "ray", PYTHONPATH=str(batch.project))
    assert (ran.code, ran.out) == (64, "") and "ray[client]" in ran.err and ran.err.count("\n") == 1
