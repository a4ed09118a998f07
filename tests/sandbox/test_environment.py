"""The variables of a command: a project's virtual environment counts as active, unless the user activated another."""

from __future__ import annotations

from pathlib import Path

import pytest

from nebula.sandbox.environment import activated, reduced_environment


def make_environment(folder: Path) -> str:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").touch(0o755)
    (folder / "pyvenv.cfg").touch()
    return str(folder)


@pytest.mark.parametrize("name", [".venv", "venv", "env"])
def test_the_environment_of_the_project_goes_first(tmp_path: Path, name: str) -> None:
    folder = make_environment(tmp_path / name)
    assert activated({"PATH": "/usr/bin", "LANG": "C"}, str(tmp_path), {}) == {
        "PATH": f"{folder}/bin:/usr/bin",
        "LANG": "C",
        "VIRTUAL_ENV": folder,
    }


@pytest.mark.parametrize(
    ("ours", "is_active"),
    [
        ({"VIRTUAL_ENV": "/other"}, False),
        ({"CONDA_PREFIX": "/conda/envs/work", "CONDA_DEFAULT_ENV": "work"}, False),
        ({"CONDA_PREFIX": "/conda", "CONDA_DEFAULT_ENV": "base"}, True),
        ({"VIRTUAL_ENV": "", "CONDA_PREFIX": ""}, True),
    ],
)
def test_one_that_the_user_activated_stays(tmp_path: Path, ours: dict[str, str], is_active: bool) -> None:
    make_environment(tmp_path / ".venv")
    assert ("VIRTUAL_ENV" in activated({}, str(tmp_path), ours)) is is_active


def test_a_folder_that_is_no_environment_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/python").touch()
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/pyvenv.cfg").touch()
    assert activated({"PATH": "/bin"}, str(tmp_path), {}) == {"PATH": "/bin"}


@pytest.mark.parametrize(("chosen", "is_kept"), [("3.12.1", True), ("stable:3.11", True), ("a b", False), ("", False)])
def test_the_version_that_the_users_shell_has_chosen_is_kept(chosen: str, is_kept: bool) -> None:
    env = reduced_environment({"HOME": "/home/anna", "PYENV_VERSION": chosen, "SECRET": "x"}, network=False)
    assert env.get("PYENV_VERSION") == (chosen if is_kept else None)
    assert "SECRET" not in env


def test_rustup_is_not_to_install_anything() -> None:
    """It fails where it cannot make the folder for it, though the toolchain that it is to run is there."""
    assert reduced_environment({"RUSTUP_AUTO_INSTALL": "1"}, network=True)["RUSTUP_AUTO_INSTALL"] == "0"
