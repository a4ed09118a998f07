"""What a failed check says, made short. The outputs are what the tools really print."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nebula.agent.checks.failures import MOST_BYTES, Failure, condense, failures, fingerprint
from rows import each_row

TSC = "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'."
MYPY = 'app/main.py:4: error: Name "x" is not defined  [name-defined]'
GCC = "src/main.c:10:5: error: expected ';' before 'return'"
GO = "--- FAIL: TestAdd (0.00s)\n    add_test.go:8: got 3, want 4\nFAIL"
RUSTC = "error[E0425]: cannot find value `y` in this scope\n --> src/main.rs:2:20\n  |"
RUFF = "F401 [*] `os` imported but unused\n --> app/a.py:1:8\n  |"
PANIC = "thread 'tests::adds' panicked at src/lib.rs:9:9:\nassertion `left == right` failed\n  left: 3"
NODE = "AssertionError [ERR_ASSERTION]: 1 == 2\n    at TestContext.<anonymous> (/work/p/test/a.test.js:5:10)\n    at run (node:internal/test:1:2)"


@each_row(
    ("output", "path", "line", "words"),
    [
        (TSC, "src/a.ts", 3, "TS2322"),
        (MYPY, "app/main.py", 4, "not defined"),
        (GCC, "src/main.c", 10, "expected ';'"),
        (GO, "add_test.go", 8, "got 3, want 4"),
        (RUSTC, "src/main.rs", 2, "cannot find value"),
        (RUFF, "app/a.py", 1, "imported but unused"),
        (PANIC, "src/lib.rs", 9, "left == right"),
        (NODE, "test/a.test.js", 5, "1 == 2"),
    ],
)
def test_each_family_of_tools_is_read(output: str, path: str, line: int, words: str) -> None:
    [found] = failures(output, "/work/p")
    assert (found.path, found.line) == (path, line)
    assert words in found.message


def run(argv: list[str], root: Path) -> str:
    env = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # those of our own tests take seconds to load
    done = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False, env=env)
    return done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "calc.py").write_text("import os\n\n\ndef add(a, b):\n    return a - b\n")
    (tmp_path / "test_calc.py").write_text(
        "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\ndef test_boom():\n    add(None, 1)\n"
    )
    return tmp_path


@pytest.mark.slow
def test_a_real_pytest_run_is_condensed(project: Path) -> None:
    output = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], project)
    found = failures(output, str(project))
    assert Failure("test_calc.py", 5, found[0].message) == found[0] and "assert" in found[0].message
    assert any(each.path == "calc.py" and each.line == 5 and "TypeError" in each.message for each in found)
    report = condense(output, str(project), lambda path: (project / path).read_text().splitlines())
    assert ">     5     assert add(1, 2) == 3" in report
    assert "2 failed" in report
    assert len(report.encode()) <= MOST_BYTES


def test_a_real_ruff_run_is_condensed(project: Path) -> None:
    output = run([sys.executable, "-m", "ruff", "check", "--no-cache", "--isolated", "."], project)
    assert [(each.path, each.line) for each in failures(output, str(project))] == [("calc.py", 1)]


def test_a_traceback_names_the_place_in_the_project_and_its_reason(project: Path) -> None:
    (project / "app.py").write_text("import json\njson.loads('{')\n")
    output = run([sys.executable, "app.py"], project)
    [found] = failures(output, str(project))
    assert (found.path, found.line) == ("app.py", 2)
    assert "JSONDecodeError" in found.message


def test_what_no_rule_knows_is_kept_as_the_end() -> None:
    report = condense("strange tool\nit went wrong", "/p", lambda _: None)
    assert report == "The end of its output:\nstrange tool\nit went wrong"


@pytest.mark.slow
def test_the_same_failure_is_recognised_whatever_the_clock_says(project: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    first = run(command, project)
    assert fingerprint(first) == fingerprint(run(command, project))
    (project / "calc.py").write_text("def add(a, b):\n    return a * b\n")
    assert fingerprint(first) != fingerprint(run(command, project))


@pytest.mark.slow
def test_huge_output_is_read_in_linear_time() -> None:
    def seconds(lines: int) -> float:
        text = "x" * 3000 + "\n" + "".join(f"a/b{n}.py:{n}: AssertionError\n" for n in range(lines))
        started = time.process_time()
        condense(text, "/p", lambda _: None)
        fingerprint(text)
        return time.process_time() - started

    seconds(100)
    assert seconds(20_000) < 25 * max(seconds(2_000), 0.004)


def test_a_long_line_is_read_in_linear_time() -> None:
    line = "    at " + "a." * 200_000
    assert [each.path for each in failures(f"{line}\n{NODE}", "/work/p")] == ["test/a.test.js"]
