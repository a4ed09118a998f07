"""`nebula index` and `evercontext hook`, as a user runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

IDENTITY = {
    f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "a"), ("EMAIL", "a@b.c"))
}


class Repository:
    def __init__(self, bench: Any) -> None:
        self.bench = bench
        self.git("init", "-q", "-b", "main")

    def git(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        places = {**self.bench.env(), **IDENTITY, "GIT_CONFIG_NOSYSTEM": "1", **env}
        return subprocess.run(["git", *args], cwd=self.bench.project, env=places, capture_output=True, text=True)

    def commit(self, **env: str) -> subprocess.CompletedProcess[str]:
        self.git("add", "-A")
        return self.git("commit", "-q", "-m", "work", **env)

    def index(self, *args: str) -> Any:
        ran = self.bench.run("nebula", "index", *args, "--json")
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    def hook(self, *args: str) -> Any:
        return self.bench.run("evercontext", "hook", *args)

    def queued(self) -> int:
        return int(self.index("status")["queued"])


@pytest.fixture
def repository(bench) -> Repository:
    repository = Repository(bench)
    bench.write("light.py", "def lighthouse():\n    return beacon()\n")
    bench.write("boat.py", "def anchor():\n    return chain()\n")
    repository.commit()
    return repository


def test_sync_search_status_and_rebuild(repository, bench):
    assert repository.index("sync") == {"ingested": 2, "deleted": 0, "renamed": 0, "skipped": []}
    assert repository.index("sync")["ingested"] == 0
    (hit,) = repository.index("search", "where", "is", "the", "lighthouse?", "--top-k", "1")["chunks"]
    assert (hit["path"], hit["span"], hit["symbol"]) == ("light.py", "L1-L2", "lighthouse")
    bench.write("new.py", "def windmill():\n    pass\n")
    ran = bench.run("nebula", "index", "search", "windmill", "-k", "1")
    assert ran.out.startswith("new.py:L1-L2  windmill\n    def windmill():\n")
    assert repository.index("search", "windmill", "--path-prefix", "light")["chunks"] == []
    assert repository.index("search", "windmill", "--language", "go")["chunks"] == []
    bench.write("picture.bin", "\0\1\2")
    assert repository.index("rebuild")["ingested"] == 3
    status = repository.index("status")
    assert (status["files"], status["queued"], status["skipped"]) == (3, 0, 1)
    assert status["skipped_files"] == [{"path": "picture.bin", "reason": "binary"}]


def test_a_search_says_why_each_hit_stands_where_it_stands(repository, bench):
    bench.write("tests/test_light.py", "def test_lighthouse():\n    lighthouse()\n")
    first, *_, last = repository.index("search", "lighthouse", "--explain")["chunks"]
    assert (first["path"], last["path"]) == ("light.py", "tests/test_light.py")
    for hit in (first, last):
        assert sum(hit["parts"].values()) == pytest.approx(hit["score"], abs=0.06)
    assert "test" not in first["parts"] and last["parts"]["test"] == min(last["parts"].values()) < 0
    assert "parts" not in repository.index("search", "lighthouse")["chunks"][0]
    head, why, *_ = bench.run("nebula", "index", "search", "lighthouse", "--explain").out.splitlines()
    assert (
        head == "light.py:L1-L2  lighthouse" and " = words +" in why and why.startswith(f"    {first['score']:.2f} = ")
    )


@pytest.mark.parametrize(
    "args", [("index",), ("index", "search"), ("index", "find"), ("index", "search", "x", "--top-k", "0")]
)
def test_a_mistake_is_one_line(bench, args):
    ran = bench.run("nebula", *args)
    assert (ran.code, ran.out, ran.err.count("\n")) == (64, "", 1)


def test_watch_follows_the_files(repository, bench):
    watching = subprocess.Popen(
        bench.argv("nebula", "index", "watch", "--json"), cwd=bench.project, env=bench.env(),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert watching.stdout is not None
        assert json.loads(watching.stdout.readline())["ingested"] == 2
        os.rename(bench.project / "light.py", bench.project / "tower.py")
        assert json.loads(watching.stdout.readline())["renamed"] == 1
        watching.send_signal(signal.SIGINT)
        assert watching.wait(60) == 130
    finally:
        watching.kill()
        watching.communicate()


def test_the_hook_in_a_real_commit(repository, bench):
    repository.index("sync")
    assert repository.hook("install").code == 0
    bench.write("new.py", "def windmill():\n    pass\n")
    repository.git("mv", "light.py", "tower.py")
    assert repository.commit().returncode == 0
    assert repository.queued() == 1
    report = repository.index("sync")
    assert (report["ingested"], report["renamed"], repository.queued()) == (1, 1, 0)
    assert repository.hook("uninstall").out
    assert not (bench.project / ".git/hooks/pre-commit").exists()
    assert "not installed" in repository.hook("uninstall").err


def test_an_aborted_commit_leaves_the_index_right(repository, bench):
    repository.index("sync")
    repository.hook("install")
    bench.write("light.py", "def windmill():\n    pass\n")
    repository.git("add", "-A")
    assert repository.git("commit", "-q", GIT_EDITOR="false").returncode != 0
    repository.git("reset", "-q", "--hard")
    repository.index("sync")
    assert repository.index("search", "windmill")["chunks"] == []


@pytest.mark.parametrize("configured", [False, True])
def test_a_hook_that_is_there_keeps_working(repository, bench, configured):
    if configured:
        repository.git("config", "core.hooksPath", "own/hooks")
    folder = bench.project / ("own/hooks" if configured else ".git/hooks")
    folder.mkdir(parents=True, exist_ok=True)
    theirs = folder / "pre-commit"
    theirs.write_text("#!/bin/sh\necho ran >> .git/theirs\n[ ! -e refuse ]\n")
    theirs.chmod(0o755)
    assert str(folder) in repository.hook("install").out
    bench.write("new.py", "x = 1\n")
    assert repository.commit().returncode == 0
    assert (bench.project / ".git/theirs").read_text() == "ran\n"
    assert repository.queued() == 1
    bench.write("refuse", "")
    assert repository.commit().returncode != 0, "its refusal counts"
    repository.hook("uninstall")
    assert "theirs" in theirs.read_text()


def test_run_is_for_those_who_manage_their_hooks(repository, bench):
    own = bench.project / ".git/hooks/pre-commit"
    own.write_text(f"#!/bin/sh\nexec {bench.argv('evercontext', 'hook', 'run')[0]} hook run\n")
    own.chmod(0o755)
    bench.write("new.py", "x = 1\n")
    assert repository.commit().returncode == 0
    assert repository.queued() == 1
    bench.home.chmod(0o755)
    ran = bench.run("evercontext", "hook", "run", "--root", str(bench.project / "missing"))
    assert ran.code == 0, "whatever is wrong, a commit goes on"


def test_a_project_below_the_top_of_its_repository(repository, bench):
    bench.write("inner/a.py", "x = 1\n")
    inner = ("--root", str(bench.project / "inner"))
    assert repository.index("sync", *inner)["ingested"] == 1
    repository.hook("install", *inner)
    bench.write("inner/b.py", "def windmill():\n    pass\n")
    assert repository.commit().returncode == 0
    from nebula.index.in_step.queue import Queue

    queue = Queue(str(bench.project / "inner"), str(bench.home / ".nebula"))
    (entry,) = queue.entries()
    assert [change.path for change in queue.read(entry)] == ["a.py", "b.py"]


def test_outside_a_repository_the_hook_says_so(bench):
    ran = bench.run("evercontext", "hook", "install")
    assert (ran.code, "not in a git repository" in ran.err) == (1, True)


def test_the_hook_is_offered_to_the_pre_commit_framework():
    offered = (Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text()
    assert "entry: evercontext hook run" in offered
    assert "pass_filenames: false" in offered
