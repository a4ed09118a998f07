"""Which checks a project seems to have: offered to the user, who accepts them once. Nothing here runs anything."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from nebula.config import Settings
from nebula.config.user_file import trusted_commands
from nebula.files.reading import UnreadableFile, read_below
from nebula.files.untrusted_json import parse_json
from nebula.value import replace

_MOST_BYTES = 1 << 20
_NO_NPM_TEST = "no test specified"
"""What `npm init` writes where a project has no tests."""
_LOCKS = {
    "pnpm": ("pnpm-lock.yaml", "pnpm-workspace.yaml"),
    "yarn": ("yarn.lock",),
    "bun": ("bun.lock", "bun.lockb"),
    "npm": ("package-lock.json",),
}
_TESTED_BY = {"npm": "npm test --silent", "bun": "bun run test"}
_GRADLE = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")


def find_checks(root: str) -> list[str]:
    """Return commands that check the project, the likeliest first of each kind; `make test` only for want of better."""
    found = [*_python(root), *_node(root), *_compiled(root)]
    return found or list(_make(root))


_KINDS = (
    ("format", r"\b(?:format|fmt|prettier|black|gofmt|rustfmt)\b"),
    ("http", r"\b(?:curl|wget|httpie?|https)\b"),
    ("lint", r"\b(?:lint|ruff|flake8|pylint|mypy|pyright|eslint|tsc|clippy|vet|check-types)\b"),
    ("test", r"\b(?:test|tests|pytest|unittest|jest|vitest|tox|nox|ctest|check)\b"),
)


def kind_of(command: str) -> str:
    """lint, test, format or http, by the words of a command; empty where none of them says."""
    return next((kind for kind, words in _KINDS if re.search(words, command)), "")


def with_found_checks(settings: Settings) -> Settings:
    """Add the checks that a project seems to have, where none is configured; they are trusted like its commands."""
    if settings.checks or not (found := find_checks(settings.root)):
        return settings
    origins = {**settings.origins, "checks": settings.project_config_path}
    proposed = replace(settings, checks=tuple(found), origins=origins)
    return replace(proposed, trusted=settings.trusted | trusted_commands(proposed))


def _python(root: str) -> Iterator[str]:
    tools = _toml(root).get("tool")
    tools = tools if isinstance(tools, dict) else {}
    if (
        "pytest" in tools
        or _there(root, "pytest.ini")
        or _there(root, "conftest.py")
        or "[pytest]" in _text(root, "tox.ini")
        or "[tool:pytest]" in _text(root, "setup.cfg")
        or _has_python_tests(root)
    ):
        yield "python -m pytest -q"
    if "ruff" in tools or _there(root, "ruff.toml") or _there(root, ".ruff.toml"):
        yield "ruff check ."


def _node(root: str) -> Iterator[str]:
    package = _json(root, "package.json")
    scripts = package.get("scripts")
    if not isinstance(scripts, dict):
        return
    test = scripts.get("test")
    manager = _package_manager(root, package)
    if isinstance(test, str) and test.strip() and _NO_NPM_TEST not in test:
        yield _TESTED_BY.get(manager, f"{manager} test")
    if isinstance(scripts.get("lint"), str):
        yield "npm run --silent lint" if manager == "npm" else f"{manager} run lint"


def _package_manager(root: str, package: dict[str, Any]) -> str:
    """Return the program that this project's scripts are run by: the one it names, else the one whose lock it has."""
    named = str(package.get("packageManager", "")).partition("@")[0]
    if named in _LOCKS:
        return named
    return next((each for each, locks in _LOCKS.items() if any(_there(root, lock) for lock in locks)), "npm")


def _compiled(root: str) -> Iterator[str]:
    if _there(root, "go.mod"):
        yield "go test ./..."
    if _there(root, "Cargo.toml"):
        yield "cargo test --quiet"
    if any(_there(root, name) for name in _GRADLE):
        yield "./gradlew test --offline" if _there(root, "gradlew") else "gradle test --offline"
    elif _there(root, "pom.xml"):
        yield "./mvnw -o -q test" if _there(root, "mvnw") else "mvn -o -q test"


def _make(root: str) -> Iterator[str]:
    for name in ("GNUmakefile", "makefile", "Makefile"):
        targets = set(re.findall(r"^(test|check|lint)\s*:(?!=)", _text(root, name), re.MULTILINE))
        for target in ("test", "check", "lint"):
            if target in targets:
                yield f"make {target}"
        if targets:
            return


def _has_python_tests(root: str) -> bool:
    try:
        with os.scandir(os.path.join(root, "tests")) as entries:
            return any(entry.name.startswith("test_") and entry.name.endswith(".py") for entry in entries)
    except OSError:
        return False


def _there(root: str, name: str) -> bool:
    return os.path.isfile(os.path.join(root, name))


def _text(root: str, name: str) -> str:
    try:
        return (read_below(root, name, _MOST_BYTES) or b"").decode("utf-8", "replace")
    except UnreadableFile:
        return ""  # a project's odd file only means that it says nothing


def _json(root: str, name: str) -> dict[str, Any]:
    try:
        found = parse_json(_text(root, name) or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _toml(root: str) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(root, "pyproject.toml"))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
