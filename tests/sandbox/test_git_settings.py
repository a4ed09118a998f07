"""What a command's git reads of the settings that a repository brought along, by the word of git itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.files.descriptors import closed_after
from nebula.sandbox.git_settings import cleaned_git_settings, cleaned_settings

PARTS = (
    *("[core]", "[a]", '[a "b"]', '[a "\\"]"]', "[a", "]", "fsmonitor = evil", "x = 1", "x =", "x", "=", " ", "\t"),
    *("\n", "\n\n", "\r\n", "\r", "\\", "\\\n", "\\\\", '"', "#", ";", "\ufeff", "-", "_", "ü"),
)


def program_in(folder: Path, text: bytes) -> str:
    place = folder / "config"
    place.write_bytes(text)
    found = subprocess.run(["git", "config", "--file", str(place), "core.fsmonitor"], capture_output=True, text=True)
    return found.stdout.strip()


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n fsmonitor = evil\n",
        "[core]fsmonitor=evil",
        "[CORE] FsMonitor = evil\n",
        "[core]\n x = a\\\n\n fsmonitor = evil\n",
        "[core]\n# c\\\n fsmonitor = evil\n",
        "[core]\n x = a ; c\\\n fsmonitor = evil\n",
        "[core]\n x = a\\\\\n fsmonitor = evil\n",
        "[core]\n x = a\\\r\n\n fsmonitor = evil\n",
        "[a][core] fsmonitor = evil\n",
        "[a][core]\n fsmonitor = evil\n",
        '[a "x]\\""][core]\n fsmonitor = evil\n',
        "\ufeff[core]\n fsmonitor = evil\n",
    ],
)
def test_no_way_of_writing_it_brings_a_program_along(tmp_path: Path, text: str) -> None:
    assert program_in(tmp_path, text.encode()) == "evil", "git itself would run it"
    assert program_in(tmp_path, cleaned_settings(text.encode())) == ""


@pytest.mark.slow
@given(parts=st.lists(st.sampled_from(PARTS), max_size=12))
def test_nor_does_any_mixture_of_its_parts(tmp_path: Path, parts: list[str]) -> None:
    assert program_in(tmp_path, cleaned_settings("".join(parts).encode())) == ""


@pytest.mark.parametrize(
    "setting",
    [
        '[gpg "ssh"]\n defaultKeyCommand',
        '[protocol "ext"]\n allow',
        "[protocol]\n allow",
        "[gc]\n recentObjectsHook",
        '[hook "x"]\n command',
        '[submodule "s"]\n update',
        "[sendemail]\n toCmd",
        "[init]\n templateDir",
    ],
)
def test_no_program_that_a_setting_names_is_left(setting: str) -> None:
    assert b"evil" not in cleaned_settings(f"{setting} = evil\n[a]\n x = 1\n".encode())


def test_what_names_no_program_stays_as_it_is() -> None:
    text = (
        b'\xef\xbb\xbf# of a project\r\n[core]\n\tbare = false ; really\n\tx\n[remote "o\\"r]"]\n\turl = "a;b#c\\\n  d" \\\n'
        b"\tmore\n[user] name = A\\\\\n[branch.main] merge = refs/heads/main"
    )
    assert cleaned_settings(text) == text
    assert cleaned_settings(text + b"\n[alias]\n\tst = !evil # x\n[a]\n") == text + b"\n[alias]\n\t\n[a]\n"


def test_passwords_are_left_out_whatever_they_are_called() -> None:
    text = b"[sendemail]\n\tsmtpServer = h\n\tsmtpPass = p\n[imap]\n\tpass = p\n[x]\n\tprivateToken = p\n\tsecret = p\n"
    assert cleaned_settings(text) == b"[sendemail]\n\t\n\t\n[imap]\n\t\n[x]\n\t\n\t\n"


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        ("[github]\n oauth-token = secret-1", "[github]\n "),
        ("[x]\n Access-Token = secret-1", "[x]\n "),
        ("[http]\n proxy = me:secret-1@host:8080", "[http]\n proxy = host:8080"),
        ('[http]\n proxy = "me:secret-1@host"', '[http]\n proxy = "host"'),
        ('[remote "o"]\n proxy=http://me:secret-1@host', '[remote "o"]\n proxy=http://host'),
        ('[url "https://secret-1@h/"]\n insteadOf = git@h:', '[url "https://h/"]\n insteadOf = git@h:'),
    ],
)
def test_passwords_are_left_out_wherever_they_stand(tmp_path: Path, setting: str, shown: str) -> None:
    (tmp_path / "config").write_text(setting)
    with closed_after(os.open(tmp_path, os.O_RDONLY)) as folder:
        assert cleaned_git_settings(folder, ["config"]) == {"config": shown.encode()}


@pytest.mark.parametrize(
    "text", [b"[" + b"a" * 1_000_000, b"a" * 1_000_000, b"\\\n" * 500_000, b"[a " + b'"\\' * 500_000]
)
def test_long_lines_cost_no_more_than_their_length(text: bytes) -> None:
    assert len(cleaned_settings(text)) <= len(text)
