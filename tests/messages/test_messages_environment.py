import os
import subprocess
import sys
from pathlib import Path

import pytest

from nebula.messages import EnvState, UserEnvContext, UserMessage


def state(context: UserEnvContext) -> EnvState:
    assert context.env_state is not None
    return context.env_state


def test_system_and_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    expected = {"linux": "linux", "darwin": "macos", "win32": "windows"}[sys.platform]
    assert state(UserEnvContext.generate_new()) == EnvState(expected, str(tmp_path), ())
    assert UserMessage.new_prompt("x").env_context == UserEnvContext.generate_new()


def test_long_directory_is_cut_between_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("あ" * 80) / ("い" * 80)
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    shown = state(UserEnvContext.generate_new()).current_working_directory
    assert shown is not None
    assert str(deep).startswith(shown)
    assert 253 < len(shown.encode()) <= 256


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a directory go, or have any bytes as a name")
def test_directory_that_is_gone_or_no_utf8(tmp_path: Path) -> None:
    script = (
        "import os, sys, shutil\n"
        "from nebula.messages import UserEnvContext\n"
        "os.chdir(os.fsencode(sys.argv[1]) + b'/\\xff'); print(UserEnvContext.generate_new().to_json())\n"
        "os.rmdir(os.getcwd()); print(UserEnvContext.generate_new().to_json())\n"
    )
    os.mkdir(os.fsencode(tmp_path) + b"/\xff")
    source = str(Path(__file__).parents[2] / "src")
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": source, "PYTHONUTF8": "1"},
        check=True,
    )
    odd, gone = run.stdout.splitlines()
    assert "\ufffd" in odd
    assert "'current_working_directory': None" in gone
    assert "working directory unknown" in run.stderr


def test_importing_messages_is_light() -> None:
    heavy = ("typing", "logging", "asyncio", "pathlib", "urllib", "base64", "http", "email", "pydantic")
    script = f"import sys, nebula.messages; print([name for name in {heavy!r} if name in sys.modules])"
    source = str(Path(__file__).parents[2] / "src")
    run = subprocess.run(
        [sys.executable, "-S", "-c", script],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": source},
        check=True,
    )
    assert run.stdout.strip() == "[]"
