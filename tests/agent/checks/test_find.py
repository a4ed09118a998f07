"""The checks a project seems to have."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nebula.agent.checks.find import find_checks


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, []),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n[tool.ruff]\n"}, ["python -m pytest -q", "ruff check ."]),
        ({"tests/test_a.py": ""}, ["python -m pytest -q"]),
        ({"tests/README.md": ""}, []),
        ({"pytest.ini": "", "ruff.toml": ""}, ["python -m pytest -q", "ruff check ."]),
        ({"setup.cfg": "[tool:pytest]\n"}, ["python -m pytest -q"]),
        ({"package.json": '{"scripts": {"test": "a", "lint": "b"}}', "pnpm-lock.yaml": ""}, ["pnpm test", "pnpm run lint"]),
        ({"package.json": '{"scripts": {"test": "a"}, "packageManager": "yarn@4.1.0"}'}, ["yarn test"]),
        ({"package.json": '{"scripts": {"test": "a"}}', "bun.lock": ""}, ["bun run test"]),
        ({"package.json": '{"scripts": {"test": "a"}, "packageManager": 7}'}, ["npm test --silent"]),
        ({"build.gradle.kts": ""}, ["gradle test --offline"]),
        ({"settings.gradle": "", "gradlew": ""}, ["./gradlew test --offline"]),
        ({"pom.xml": ""}, ["mvn -o -q test"]),
        ({"package.json": '{"scripts": {"test": "vitest run", "lint": "eslint ."}}'}, ["npm test --silent", "npm run --silent lint"]),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, []),
        ({"package.json": "[1]"}, []),
        ({"package.json": "{"}, []),
        ({"package.json": '{"scripts": ["test"]}'}, []),
        ({"pyproject.toml": "tool = 3"}, []),
        ({"pyproject.toml": "= broken"}, []),
        ({"go.mod": "module x"}, ["go test ./..."]),
        ({"Cargo.toml": ""}, ["cargo test --quiet"]),
        ({"Makefile": "build:\n\ttrue\ntest: build\n\ttrue\nlint:\n\ttrue\n"}, ["make test", "make lint"]),
        ({"Makefile": "test := 3\n"}, []),
        ({"Makefile": "test:\n", "go.mod": ""}, ["go test ./..."]),
    ],
)  # fmt: skip
def test_checks_are_found_by_the_files_that_say_so(tmp_path: Path, files: dict[str, str], expected: list[str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert find_checks(str(tmp_path)) == expected


def test_odd_files_say_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "package.json")
    (tmp_path / "pyproject.toml").symlink_to("/dev/zero")
    (tmp_path / "Makefile").mkdir()
    assert find_checks(str(tmp_path)) == []
