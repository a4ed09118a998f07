"""What a command leaves in files that git ignores: where it is, and a yes for the session that reaches no further."""

from __future__ import annotations

import subprocess

import pytest

from conftest import Bench
from in_process import run_here
from scripted_model import Call, ScriptedModel, Turn


def build(count: int) -> Call:
    return Call("runCommand", {"command": f"mkdir -p target; for i in $(seq {count}); do date +%N > target/$i.o; done"})


@pytest.fixture
def project(bench: Bench) -> Bench:
    subprocess.run(["git", "init", "-q"], cwd=bench.project, check=True)
    bench.write(".gitignore", "/target/\nnode_modules/\n")
    return bench


@pytest.mark.parametrize(
    ("lang", "keys", "kept"),
    [
        ("en", "a yes to all that git ignores in this session", "From now on what commands leave in files that git"),
        (
            "ja",
            "a git が無視するものはこのセッション中すべて許可",
            "以後、コマンドが git の無視するファイルに残したもの",
        ),
    ],
)
def test_a_yes_for_the_session_reaches_no_further(project: Bench, lang: str, keys: str, kept: str) -> None:
    write = Call("writeFile", {"path": "a.txt", "content": "a\n"})
    script = [
        Turn("", [build(2)]),
        Turn("Built."),
        Turn("", [build(9)]),
        Turn("Again."),
        Turn("", [write]),
        Turn("No."),
    ]
    typed = "build\na\nbuild\nwrite\nn\n/permissions\ny\nexit\n"
    with ScriptedModel(script) as server:
        out = run_here(project, "nebula", stdin=typed, NEBULA_LANG=lang, **server.env()).out
    assert "2 (20 bytes), target/1.o, target/2.o" in " ".join(out.split()) or lang == "ja", "the folder is no file"
    assert "target/1.o, target/2.o" in out and out.count(keys) == 1 and out.count(kept) == 1
    assert (project.project / "target/9.o").exists() and not (project.project / "a.txt").exists()
    assert "git-ignored" in out.partition("/permissions")[2]


def test_many_files_are_named_by_their_folder_and_a_no_keeps_nothing(project: Bench) -> None:
    with ScriptedModel([Turn("", [build(9)]), Turn("Built.")]) as server:
        out = run_here(project, "nebula", stdin="build\nn\nexit\n", **server.env()).out
    assert " bytes), target/." in out and not (project.project / "target/1.o").exists()


def test_what_a_test_runner_keeps_among_packages_is_no_question(project: Bench) -> None:
    kept = "mkdir -p node_modules/.vite/vitest && echo {} > node_modules/.vite/vitest/results.json"
    project.write("node_modules/a/index.js", "1\n")
    with ScriptedModel([Turn("", [Call("runCommand", {"command": kept})]), Turn("Passed.")]) as server:
        out = run_here(project, "nebula", stdin="test\nexit\n", **server.env()).out
    assert "Passed." in out and "git ignores" not in out and not (project.project / "node_modules/.vite").exists()
