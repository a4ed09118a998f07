"""Running a configured command: limits that hold."""

import asyncio
import os
import time

from nebula.tools.commands import MAX_OUTPUT_BYTES, run_command


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        return stat.read().rpartition(")")[2].split()[0] != "Z"


def run(command, root, timeout_s=10):
    return asyncio.run(run_command(command, str(root), timeout_s))


def test_output_and_exit_code(tmp_path):
    result = run("sh -c 'echo 日本; echo err >&2; exit 3'", tmp_path)
    assert (result.code, result.passed, result.output) == (3, False, "日本\nerr\n")


def test_it_runs_in_the_root_without_a_terminal_or_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("MY_TOKEN", "t-1")
    result = run("sh -c 'pwd; test -t 0 || echo no terminal; env'", tmp_path)
    assert os.path.realpath(tmp_path) in result.output
    assert "no terminal" in result.output
    assert "sk-1" not in result.output
    assert "t-1" not in result.output


def test_a_line_means_what_it_means_to_a_shell(tmp_path):
    (tmp_path / "a b.txt").write_text("fixed\n")
    assert run('test "$(cat a\\ b.txt)" = fixed && echo good | tr g G', tmp_path).output == "Good\n"
    assert run("! grep -q fixed *.txt", tmp_path).code == 1


def test_a_command_that_takes_too_long_is_stopped_with_its_children(tmp_path):
    started = time.monotonic()
    result = run("sh -c 'sleep 60 & echo $! > child; wait'", tmp_path, timeout_s=0.5)
    assert time.monotonic() - started < 5
    assert result.code is None
    assert "Stopped" in result.output
    child = int((tmp_path / "child").read_text())
    until = time.monotonic() + 5
    while alive(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(child)


def test_a_flood_is_kept_by_head_and_tail(tmp_path):
    result = run("sh -c 'echo first; yes | head -c 5000000; echo last'", tmp_path)
    assert result.output.startswith("first\n")
    assert result.output.endswith("last\n")
    assert len(result.output) < MAX_OUTPUT_BYTES + 200
    assert str(result.left_out) in result.output


def test_a_program_that_is_not_there(tmp_path):
    result = run("no-such-program --x", tmp_path)
    assert result.code == 127
    assert "no-such-program" in result.output
    assert run("", tmp_path).code == 127
    assert run("'unclosed", tmp_path).code != 0
