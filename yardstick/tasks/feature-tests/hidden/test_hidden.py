import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

ORIGINAL = Path("schedule.py").read_text("utf-8")
MUTANTS = [
    ("one[0] < other[1]", "one[0] <= other[1]"),
    ("other[0] < one[1]", "True"),
    ("sorted(spans)", "spans"),
    ("start = max(start, last)", "start = last"),
    ("[*gaps, (start, end)]", "gaps"),
]


def passes():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_schedule.py"]
    return subprocess.run(command, capture_output=True, check=False).returncode


def test_the_program_is_unchanged():
    assert hashlib.sha256(ORIGINAL.encode()).hexdigest() == "8ac4cadfcf90585930dde75851e9532328d251fe04fc524b9040a3f73cca508e"


def test_the_tests_pass():
    assert passes() == 0


@pytest.mark.parametrize(("line", "broken"), MUTANTS)
def test_the_tests_notice(line, broken):
    assert line in ORIGINAL
    try:
        Path("schedule.py").write_text(ORIGINAL.replace(line, broken), "utf-8")
        assert passes() == 1
    finally:
        Path("schedule.py").write_text(ORIGINAL, "utf-8")
