"""Completion in the shells themselves, and the manual page as `man` reads it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pexpect
import pytest

from conftest import BIN, Bench

pytestmark = pytest.mark.slow

_BASH = """
source {script}
COMP_WORDS=({words} "{last}") COMP_CWORD={at}
_nebula_complete
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
CASES = [
    ("nebula", "ser", "serve"),
    ("nebula serve", "--po", "--port"),
    ("nebula --mode", "pl", "plan"),
    ("nebula index", "reb", "rebuild"),
    ("nebula mcp", "rem", "remove"),
    ("nebula graph node", "ed", "edit"),
    ("nebula graph", "ta", "tag"),
    ("nebula import", "sett", "settings"),
    ("evercontext", "bat", "batch"),
    ("evercontext batch", "--para", "--parallel"),
    ("vizprompt flow", "conn", "connect"),
    ("nebula blame", "src/ma", "src/main.py"),
]


@pytest.fixture
def script(bench: Bench, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    shell = str(request.param)
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} on this machine")
    ran = bench.run("nebula", "completion", shell)
    assert (ran.code, ran.err) == (0, "")
    bench.write("src/main.py", "x = 1\n")
    path = tmp_path / f"completion.{shell}"
    path.write_text(ran.out, encoding="utf-8")
    return path


@pytest.mark.parametrize("script", ["bash"], indirect=True)
def test_bash_completes(bench: Bench, script: Path) -> None:
    for before, last, wanted in CASES:
        code = _BASH.format(script=script, words=before, last=last, at=len(before.split()))
        done = subprocess.run(["bash", "--norc", "-c", code], cwd=bench.project, capture_output=True, text=True)
        assert (done.stdout.split(), done.stderr) == ([wanted], ""), (before, last)
    code = _BASH.format(script=script, words="nebula -p", last="", at=2)
    done = subprocess.run(["bash", "--norc", "-c", code], cwd=bench.project, capture_output=True, text=True)
    assert done.stdout.split() == [], "nobody can guess a task"


@pytest.mark.parametrize("script", ["fish"], indirect=True)
def test_fish_completes(bench: Bench, script: Path) -> None:
    for before, last, wanted in CASES:
        code = f"source {script}; complete -C '{before} {last}'"
        env = bench.env(PATH=f"{BIN}:/usr/bin:/bin", XDG_CONFIG_HOME=str(bench.home))
        done = subprocess.run(["fish", "-N", "-c", code], cwd=bench.project, env=env, capture_output=True, text=True)
        assert wanted in [line.partition("\t")[0] for line in done.stdout.splitlines()], (before, last, done)
        assert done.stderr == ""


@pytest.mark.parametrize("script", ["zsh"], indirect=True)
def test_zsh_completes(bench: Bench, script: Path) -> None:
    env = bench.env(PATH=f"{BIN}:/usr/bin:/bin", TERM="dumb", PS1="> ")
    shell = pexpect.spawn("zsh", ["-f", "-i"], cwd=str(bench.project), env=env, encoding="utf-8", timeout=60)
    try:
        shell.sendline(
            f"unsetopt zle_bracketed_paste; autoload -U compinit; compinit -D -u; source {script}; echo rea''dy"
        )
        shell.expect("ready")
        for before, last, wanted in CASES:
            shell.send(f"{before} {last}\t")
            shell.expect(re.escape(wanted[len(last) :]))
            shell.send("\x15\n")
    finally:
        shell.close(force=True)


@pytest.mark.parametrize("script", ["fish"], indirect=True)
def test_each_program_is_completed_in_a_new_fish(bench: Bench, script: Path) -> None:
    """Fish looks for a file of the program's own name."""
    line = next(line for line in bench.run("nebula", "completion", "--help").out.splitlines() if "fish/" in line)
    env = bench.env(PATH=f"{BIN}:/usr/bin:/bin")
    (Path(env["HOME"]) / ".config/fish/completions").mkdir(parents=True)
    subprocess.run(["fish", "-c", line], cwd=bench.project, env=env, check=True)
    for before, last, wanted in CASES:
        code = f"complete -C '{before} {last}'"
        done = subprocess.run(["fish", "-c", code], cwd=bench.project, env=env, capture_output=True, text=True)
        assert wanted in [found.partition("\t")[0] for found in done.stdout.splitlines()], (before, last, done)


@pytest.mark.parametrize("script", ["zsh"], indirect=True)
def test_a_zsh_that_completes_nothing_yet_begins_to(bench: Bench, script: Path) -> None:
    code = f"source {script}; print $_comps[nebula] $_comps[evercontext] $_comps[vizprompt]"
    done = subprocess.run(["zsh", "-f", "-c", code], env=bench.env(), capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (["_nebula"] * 3, "")


def test_the_manual_page_is_read_by_man(bench: Bench, tmp_path: Path) -> None:
    ran = bench.run("nebula", "manual")
    assert ran.code == 0 and ran.out.startswith(".TH NEBULA 1")
    for words in ("--output-format", "nebula index [-h] COMMAND", "NEBULA TRACE REPLAY"):
        assert words in ran.out.replace("\\-", "-"), words
    reader = next(filter(shutil.which, ("mandoc", "groff")), None)
    if reader is None:
        pytest.skip("neither mandoc nor groff is on this machine")
    page = tmp_path / "nebula.1"
    page.write_text(ran.out, encoding="utf-8")
    command = (
        [reader, "-Tutf8", str(page)] if reader == "mandoc" else [reader, "-man", "-Tutf8", "-K", "utf8", str(page)]
    )
    shown = subprocess.run(command, capture_output=True, text=True)
    text = re.sub(r".\x08|\x1b\[[0-9;]*m", "", shown.stdout)
    assert "A coding agent" in text and "nebula serve" in text and "--output-format" in text, shown.stderr
    japanese = bench.run("nebula", "manual", NEBULA_LANG="ja").out
    assert japanese.count("書式") == 1 and "\nnebula \\- コーディングエージェント\n" in japanese
