"""What a check lacks is said before it is offered."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nebula.agent.checks.lacking import find_lacking
from nebula.config import Settings
from nebula.tools.commands.layers import CommandLayers


def program(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in a home whose PATH names one folder that commands see, and one beside credentials."""
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    program(home / ".pyenv/versions/3.12/bin/seen")
    program(home / ".config/tools/unseen")
    folders = [home / ".pyenv/versions/3.12/bin", home / ".config/tools", Path("/usr/bin"), Path("/bin")]
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, folders)))
    return home / "project"


def lacking(root: Path, command: str, *readable: Path) -> str:
    layers = CommandLayers(
        Settings(home=str(root.parent / ".nebula"), root=str(root), sandbox_read=tuple(map(str, readable)))
    )
    return str(find_lacking(command, layers) or "")


@pytest.mark.parametrize(
    "command",
    ["sh -c 'nothing-such'", "seen --all", "A=1 seen", "cd . && sh x", "./own.sh", "echo 'open", "", "sh x | seen"],
)
def test_a_check_that_can_start_lacks_nothing(root: Path, command: str) -> None:
    assert lacking(root, command) == ""


@pytest.mark.parametrize(
    "command", ["no-such-tool -q", "cd web && no-such-tool", "A=1 no-such-tool", "seen;no-such-tool"]
)
def test_a_program_that_is_nowhere_is_named(root: Path, command: str) -> None:
    assert lacking(root, command) == "no-such-tool is not installed: no folder of PATH has it."


def test_a_program_that_commands_do_not_see_is_named_with_its_folder(root: Path) -> None:
    folder = root.parent / ".config/tools"
    said = f"unseen is in {folder}, which commands cannot see; add that folder to `sandbox_read`."
    assert lacking(root, "unseen -q") == said
    assert lacking(root, "unseen -q", folder) == ""


def test_the_projects_own_environment_counts(root: Path) -> None:
    program(root / ".venv/bin/no-such-tool")
    assert lacking(root, "no-such-tool -q") == ""


def test_a_wrapper_that_downloads_its_program_is_told_before_it_is_offered(root: Path) -> None:
    assert lacking(root, "./gradlew test --offline").startswith("./gradlew has not downloaded its program yet")
    assert "an installed mvn" in lacking(root, "./mvnw -o test")


@pytest.mark.parametrize(
    ("command", "properties", "place"),
    [
        (
            "./gradlew test",
            "gradle/wrapper/gradle-wrapper.properties",
            ".gradle/wrapper/dists/tool-8.5-bin/a1/tool-8.5",
        ),
        ("./mvnw -o test", ".mvn/wrapper/maven-wrapper.properties", ".m2/wrapper/dists/tool-8.5-bin/a1/tool-8.5"),
        ("./mvnw -o test", ".mvn/wrapper/maven-wrapper.properties", ".m2/wrapper/dists/tool-8.5/a1"),
    ],
)
def test_a_wrapper_whose_program_is_there_lacks_nothing(root: Path, command: str, properties: str, place: str) -> None:
    (root / properties).parent.mkdir(parents=True)
    (root / properties).write_text("a=b\ndistributionUrl=https\\://example.org/x/tool-8.5-bin.zip\n", encoding="utf-8")
    assert "has not downloaded" in lacking(root, command)
    program(root.parent / place / "bin/tool")
    assert lacking(root, command) == ""
    (root / properties).write_text("distributionUrl=https\\://example.org/x/tool-9.0-bin.zip\n", encoding="utf-8")
    assert "has not downloaded" in lacking(root, command)
