"""Running a configured command: limits that hold."""

import asyncio
import os
import shlex
import sys

import pytest

from marked_processes import a_mark, wait_until_none_is_left
from nebula.tools.commands.plain import MAX_OUTPUT_BYTES, run_command


def run(command, root, timeout_s=10):
    return asyncio.run(run_command(command, str(root), timeout_s))


def test_output_and_exit_code(tmp_path):
    result = run("sh -c 'echo 日本; echo err >&2; exit 3'", tmp_path)
    assert (result.code, result.passed, result.output) == (3, False, "日本\nerr\n")


def test_it_runs_in_the_root_without_a_terminal(tmp_path):
    output = run("pwd; test -t 0 || echo no terminal", tmp_path).output
    assert output.splitlines() == [os.path.realpath(tmp_path), "no terminal"]


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "MY_TOKEN", "DATABASE_URL", "MYSQL_PWD", "GH_PAT", "PGPASSFILE", "SSH_AUTH_SOCK", "HTTPS_PROXY"],
)
def test_only_named_variables_are_handed_over(tmp_path, monkeypatch, name):
    monkeypatch.setenv(name, "a value of its own")
    monkeypatch.setenv("LC_MESSAGES", "C")
    environment = dict(line.partition("=")[::2] for line in run("env", tmp_path).output.splitlines())
    assert name not in environment
    assert environment["PATH"] == os.environ["PATH"]
    assert environment["LC_MESSAGES"] == "C"


def test_a_line_means_what_it_means_to_a_shell(tmp_path):
    (tmp_path / "a b.txt").write_text("fixed\n")
    assert run('test "$(cat a\\ b.txt)" = fixed && echo good | tr g G', tmp_path).output == "Good\n"
    assert run("! grep -q fixed *.txt", tmp_path).code == 1


def test_a_command_that_takes_too_long_is_stopped_with_its_children(tmp_path):
    mark = a_mark()
    result = run(f"sh -c '(sleep 600; : {mark}) & wait'", tmp_path, timeout_s=0.3)
    assert result.code is None
    assert "Stopped" in result.output
    wait_until_none_is_left(mark)


@pytest.mark.slow
def test_what_a_child_that_left_the_group_holds_is_closed_here(tmp_path):
    left = "import os, time; os.setsid(); open('left', 'w'); time.sleep(5)"
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(left)} & while [ ! -e left ]; do sleep 0.05; done"

    async def count_kept_open():
        before = len(os.listdir("/dev/fd"))
        result = await run_command(command, str(tmp_path), 1)
        for _ in range(100):
            if len(os.listdir("/dev/fd")) > before:
                await asyncio.sleep(0.01)  # the loop closes it in its next round
        return result.code, len(os.listdir("/dev/fd")) - before

    assert asyncio.run(count_kept_open()) == (None, 0)


def test_a_flood_is_kept_by_head_and_tail(tmp_path):
    result = run("sh -c 'echo first; yes | head -c 5000000; echo last'", tmp_path)
    assert result.output.startswith("first\n")
    assert result.output.endswith("last\n")
    assert len(result.output) < MAX_OUTPUT_BYTES + 200
    assert f"[… {5_000_011 - MAX_OUTPUT_BYTES} bytes left out …]" in result.output


def test_a_program_that_is_not_there(tmp_path):
    result = run("no-such-program --x", tmp_path)
    assert result.code == 127
    assert "no-such-program" in result.output
    assert run("", tmp_path).code == 127
    assert run("'unclosed", tmp_path).code != 0
