"""The user's own tools, as the usual installers lay them out in a home, and what a hostile project gets of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nebula.sandbox.command import run
from nebula.sandbox.contract import Command
from nebula.sandbox.environment import TOOLS, certificates
from nebula.sandbox.home.toolchains import Toolchains, find_toolchains


def program(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def link(path: Path, to: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(to)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for each in (*TOOLS, *certificates(os.environ)):
        monkeypatch.delenv(each, raising=False)  # those of this machine
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    program(home / ".pyenv/versions/3.12/bin/python3.12", "#!/bin/sh\necho python of pyenv\n")
    uv = home / ".local/share/uv"
    link(home / ".local/bin/ruff", program(uv / "tools/ruff/bin/ruff"))
    program(home / ".nvm/versions/node/v20/bin/node")
    program(home / ".cargo/bin/rustup")
    program(home / "bin/own")
    program(home / "envs/work/bin/python").with_name("pip").touch()
    (home / "envs/work/pyvenv.cfg").touch()
    for secret in (".ssh/id_rsa", ".cargo/credentials.toml", ".aws/credentials", ".pyenv/.npmrc", ".nvm/.npmrc"):
        program(home / secret, "canary\n")
    for each in (".cargo/registry", ".rustup"):
        (home / each).mkdir()
    return home


def found(home: Path, *path: str) -> Toolchains:
    folders = os.pathsep.join([*(str(home / each) for each in path), "/usr/bin", "/bin"])
    return find_toolchains(str(home / "project"), {"HOME": str(home), "PATH": folders})


def short(home: Path, paths: tuple[str, ...]) -> list[str]:
    return [str(Path(path).relative_to(home)) for path in paths]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (".nvm/versions/node/v20/bin", [".nvm"]),
        (".cargo/bin", [".cargo/bin", ".cargo/registry", ".rustup"]),
        (".local/bin", [".local/bin", ".local/share/uv"]),
        ("bin", ["bin"]),
        ("envs/work/bin", ["envs/work"]),
        (".ssh", []),
        ("", []),
        ("no/such", []),
    ],
)
def test_what_a_folder_of_path_shows(home: Path, path: str, shown: list[str]) -> None:
    tools = found(home, path)
    assert short(home, tools.folders) == shown
    assert short(home, tools.hidden) == ([] if shown or not (home / path).is_dir() else [path or "."])


@pytest.mark.parametrize("environment", ["project/.venv", "envs/active"])
@pytest.mark.parametrize(
    ("interpreter", "hidden"),
    [
        ("own/python/bin/python3", ["own/python"]),
        ("own/python3", ["own"]),
        ("bin/python3", ["bin"]),
        (".pyenv/versions/3.12/bin/python3.12", []),
        ("project/tools/bin/python3", []),
    ],
)
def test_the_interpreter_of_an_environment_that_is_not_shown_is_named(
    home: Path, environment: str, interpreter: str, hidden: list[str]
) -> None:
    link(home / environment / "bin/python", program(home / interpreter))
    assert short(home, found(home, "envs/active/bin").hidden_interpreters) == hidden


def test_an_interpreter_that_is_gone_is_not_named(home: Path) -> None:
    link(home / "project/.venv/bin/python", home / "own/python/bin/python3")
    assert found(home).hidden_interpreters == ()


def test_an_installation_in_another_place_is_shown_whole(home: Path, tmp_path: Path) -> None:
    program(tmp_path / "elsewhere/.pyenv/shims/python")
    tools = found(home, str(tmp_path / "elsewhere/.pyenv/shims"))
    assert tools.folders == (str(tmp_path / "elsewhere/.pyenv"),)


def test_credentials_in_a_shown_folder_are_covered(home: Path) -> None:
    tools = found(home, ".nvm/versions/node/v20/bin", ".cargo/bin")
    assert short(home, tools.covered) == [".nvm/.npmrc"]


@pytest.mark.parametrize("target", [".ssh/id_rsa", ".aws/credentials", "own/secrets/python", ".", "../home/.ssh"])
def test_a_link_of_the_project_opens_nothing_but_well_known_tools(home: Path, target: str) -> None:
    link(home / "project/.venv/bin/python", home / target)
    assert found(home) == Toolchains()


def test_an_environment_made_by_a_python_of_the_home_works_and_keys_stay_unread(
    home: Path, monkeypatch: pytest.MonkeyPatch, disk: str | None
) -> None:
    link(home / "project/.venv/bin/python", home / ".pyenv/versions/3.12/bin/python3.12")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", os.pathsep.join([str(home / "project/.venv/bin"), "/usr/bin", "/bin"]))
    project = str(home / "project")
    tools = find_toolchains(project, os.environ)
    assert short(home, tools.folders) == [".pyenv"]
    line = "python -m pytest; cat ~/.pyenv/.npmrc ~/.ssh/id_rsa ~/.cargo/credentials.toml 2>/dev/null; touch ~/.pyenv/x"
    with run(Command(project, line, read_only=tools.folders, covered=tools.covered, disk=disk)) as done:
        assert done.output.startswith("python of pyenv\n")
        assert "canary" not in done.output and "Read-only file system" in done.output
    with run(Command(project, "python", disk=disk)) as done:
        assert done.exit_code == 127, "without it there is no such program"


@pytest.mark.parametrize(
    ("manifest", "shown"),
    [
        ("go.mod", ["go/pkg/mod"]),
        ("Cargo.toml", [".cargo/registry"]),
        ("pom.xml", [".m2/repository", ".m2/wrapper/dists"]),
        ("build.gradle.kts", [".gradle/caches/modules-2", ".gradle/wrapper/dists", ".m2/repository"]),
        ("package.json", [".cache/node/corepack", ".local/share/pnpm", ".yarn/berry/cache"]),
        ("pyproject.toml", [".cache/pypoetry/virtualenvs"]),
        ("Pipfile", [".local/share/virtualenvs"]),
        ("README.md", []),
    ],
)
def test_what_was_downloaded_for_a_project_is_shown_whatever_path_says(
    home: Path, manifest: str, shown: list[str]
) -> None:
    wrappers = (".m2/wrapper/dists", ".gradle/wrapper/dists")
    managers = (".cache/node/corepack", ".local/share/pnpm", ".yarn/berry/cache", ".npm")
    environments = (".cache/pypoetry/virtualenvs", ".local/share/virtualenvs")
    for each in ("go/pkg/mod", ".m2/repository", ".gradle/caches/modules-2", *wrappers, *managers, *environments):
        (home / each).mkdir(parents=True)
    program(home / ".m2/settings.xml", "canary")
    program(home / ".gradle/gradle.properties", "canary")
    (home / "project" / manifest).touch()
    assert short(home, found(home).folders) == shown


def test_a_build_takes_locks_and_unpacks_in_its_downloads_and_the_home_stays_as_it_was(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = home / ".gradle/caches/modules-2"
    program(modules / "files/junit.jar", "junit\n")
    program(modules / "modules-2.lock", "free")
    program(modules / "auth.json", "canary")
    program(home / "project/build.gradle", "")
    monkeypatch.setenv("HOME", str(home))
    project = str(home / "project")
    tools = find_toolchains(project, os.environ)
    line = (
        "cd ~/.gradle/caches/modules-2 && cat files/junit.jar auth.json && echo held > modules-2.lock && "
        "mkdir unpacked && rm -r files && ls && cat modules-2.lock; touch ../beside"
    )
    command = Command(project, line, read_only=tools.folders, caches=tools.caches, covered=tools.covered)
    with run(command) as done:
        assert done.output.split() == ["junit", "auth.json", "modules-2.lock", "unpacked", "held"]
        assert done.exit_code == 0
    assert (modules / "modules-2.lock").read_text() == "free"
    assert sorted(each.name for each in modules.iterdir()) == ["auth.json", "files", "modules-2.lock"]
    with run(command) as done:
        assert done.output.split()[0] == "junit", "nothing is left of the first one's"


def test_an_installation_that_a_variable_names_is_shown_without_its_credentials(home: Path, tmp_path: Path) -> None:
    moved = tmp_path / "data"
    for each in (
        "cargo/bin",
        "cargo/registry",
        "rustup",
        "go/pkg/mod",
        "go/src/private",
        "pyenv/shims",
        "pyenv/versions",
    ):
        (moved / each).mkdir(parents=True)
    program(moved / "cargo/credentials.toml", "canary")
    names = {"CARGO_HOME": "cargo", "RUSTUP_HOME": "rustup", "GOPATH": "go", "PYENV_ROOT": "pyenv"}
    environ = {"HOME": str(home), "PATH": "/usr/bin"} | {name: str(moved / at) for name, at in names.items()}
    shown = find_toolchains(str(home / "project"), environ).folders
    assert short(moved, shown) == ["cargo/bin", "cargo/registry", "go/pkg/mod", "pyenv", "rustup"]


def test_rust_is_found_where_only_cargo_has_another_place(home: Path, tmp_path: Path) -> None:
    moved = program(tmp_path / "cargo/bin/cargo").parent
    environ = {"HOME": str(home), "PATH": str(moved), "CARGO_HOME": str(moved.parent)}
    shown = find_toolchains(str(home / "project"), environ).folders
    assert shown == (str(moved), str(home / ".rustup"))


@pytest.mark.parametrize("named", [".", ".ssh", "own/.config", "no/such"])
def test_a_variable_opens_no_folder_that_keeps_credentials(home: Path, named: str) -> None:
    (home / "own/.config").mkdir(parents=True)
    environ = {"HOME": str(home), "PATH": "/usr/bin", "NVM_DIR": str(home / named)}
    assert find_toolchains(str(home / "project"), environ) == Toolchains()


def test_downloads_in_another_place_may_be_written_as_in_the_usual_one(home: Path, tmp_path: Path) -> None:
    (tmp_path / "modules").mkdir()
    (home / "go/pkg/mod").mkdir(parents=True)
    program(home / "project/go.mod")
    environ = {"HOME": str(home), "PATH": "/usr/bin", "GOPATH": f"{home}/go", "GOMODCACHE": str(tmp_path / "modules")}
    assert find_toolchains(str(home / "project"), environ).caches == (str(tmp_path / "modules"),)


def test_what_a_compiler_made_before_is_found_again_and_stays_as_it_was(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(home / ".cache/go-build/00/a", "made before\n")
    program(home / "project/go.mod")
    monkeypatch.setenv("HOME", str(home))
    project = str(home / "project")
    tools = find_toolchains(project, os.environ)
    assert short(home, tools.builds) == [".cache/go-build"] and not set(tools.builds) & set(tools.folders)
    line = "cat ~/.cache/go-build/00/a && echo new > ~/.cache/go-build/00/a && cat ~/.cache/go-build/00/a"
    with run(Command(project, line, read_only=tools.builds, caches=tools.builds)) as done:
        assert done.output.split("\n") == ["made before", "new", ""]
    assert (home / ".cache/go-build/00/a").read_text() == "made before\n"


def test_the_certificates_of_a_company_are_found(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "company.pem", "trusted\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(tmp_path / "company.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "gone.pem"))
    project = str(home / "project")
    tools = find_toolchains(project, os.environ)
    line = 'cat "$NODE_EXTRA_CA_CERTS"; echo "${SSL_CERT_FILE-none}"'
    with run(Command(project, line, read_only=tools.folders)) as done:
        assert done.output == "trusted\nnone\n"


def test_a_build_knows_of_a_mirror_and_of_no_password(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(
        home / ".cargo/config.toml",
        '[source.crates-io]\nreplace-with = "mirror"\n[source.mirror]\nregistry = "https://anna:canary@mirror.example"\n'
        '[registries.own]\ntoken = "canary"\n',
    )
    program(home / "project/Cargo.toml")
    monkeypatch.setenv("HOME", str(home))
    project = str(home / "project")
    tools = find_toolchains(project, os.environ)
    line = "cat ~/.cargo/config.toml && touch ~/.cargo/lock && ls ~/.cargo"
    with run(Command(project, line, read_only=tools.folders, settings=tools.settings)) as done:
        assert done.output == (
            '[source."crates-io"]\nreplace-with = "mirror"\n[source."mirror"]\nregistry = "https://mirror.example"\n'
            "config.toml\nlock\nregistry\n"
        )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root works in somebody else's project")
def test_tools_write_beside_what_is_shown_in_somebody_elses_project(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(home / "project/Cargo.toml")
    os.chown(home / "project", 12345, 12345)
    monkeypatch.setenv("HOME", str(home))
    project = str(home / "project")
    tools = find_toolchains(project, os.environ)
    with run(Command(project, "id -u && touch ~/.cargo/lock", read_only=tools.folders)) as done:
        assert (done.output, done.exit_code) == ("12345\n", 0)
