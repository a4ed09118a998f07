"""A name whose accents are letters of their own, asked for in the other spelling."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nebula.blame.project import ProjectBlame
from nebula.messages import Json
from nebula.testing import ScriptedCall, ScriptedReply, scripted_session
from nebula.workspace import Policy, open_workspace
from nebula.workspace.errors import AlreadyExists, PathNotFound, SecretPath
from nebula.workspace.guard.spelling import spelled_in

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="it takes both spellings for one file")
LETTER, ACCENT = "\u00e9", "e\u0301"
BOTH = [(LETTER, ACCENT), (ACCENT, LETTER)]


@pytest.mark.parametrize(("there", "asked"), BOTH)
def test_the_only_one_that_is_there_is_found_and_named(root: Path, there: str, asked: str) -> None:
    (root / f"d{there}").mkdir()
    (root / f"d{there}/{there}.txt").write_text("one\n")
    with open_workspace(str(root)) as files:
        path, found = f"d{asked}/{asked}.txt", f"d{there}/{there}.txt"
        assert (files.read_file(path).path, files.read_lines(path, 1).path) == (found, found)
        assert files.probe(path).path == files.resolve(path) == found
        assert found in str(files.list_files(f"d{asked}"))
        assert files.search(f"d{asked}", "one").files == (found,)
        with pytest.raises(AlreadyExists):
            files.check_write(path, "create", "two\n")
        assert files.write_file(path, "two\n", "overwrite").path == found
        assert files.write_file(f"d{asked}/{asked}{asked}.txt", "new\n").path == f"d{there}/{asked}{asked}.txt"
    assert os.listdir(root) == [f"d{there}"] or set(os.listdir(root)) == {f"d{there}", ".nebula"}


def test_where_both_are_there_each_is_its_own(root: Path) -> None:
    for name in (LETTER, ACCENT):
        (root / name).write_text(ascii(name))
    with open_workspace(str(root)) as files:
        assert [files.read_file(name).content for name in (LETTER, ACCENT)] == [ascii(LETTER), ascii(ACCENT)]


def test_of_two_others_none_is_guessed(root: Path) -> None:
    for name in ("o\u0302\u0323", "\u1ecd\u0302"):  # two ways of writing one letter with two marks
        (root / name).write_text("x")
    with open_workspace(str(root)) as files, pytest.raises(PathNotFound):
        files.read_file("\u1ed9")


def test_no_link_leads_out_by_that(root: Path, tmp_path: Path) -> None:
    (root / ACCENT).symlink_to(tmp_path)
    (tmp_path / "outside.txt").write_text("secret")
    with open_workspace(str(root)) as files, pytest.raises(Exception, match="leads out"):
        files.read_file(f"{LETTER}/outside.txt")


@pytest.mark.parametrize(("there", "asked"), BOTH)
def test_a_secret_file_is_one_in_either_spelling(root: Path, there: str, asked: str) -> None:
    (root / f"{there}.env").write_text("KEY=1\n")
    with open_workspace(str(root)) as files, pytest.raises(SecretPath):
        files.read_file(f"{asked}.env")
    with open_workspace(str(root), Policy(allowed=frozenset({f"{asked}.env"}))) as files:
        assert files.read_file(f"{asked}.env").content == files.read_file(f"{there}.env").content == "KEY=1\n"
    assert spelled_in(str(root), [f"{asked}.env", "/x/" + asked]) == (f"{there}.env", "/x/" + asked)


@pytest.mark.parametrize(("there", "asked"), BOTH)
def test_tools_prompts_and_blame_find_it(root: Path, there: str, asked: str) -> None:
    (root / f"{there}.txt").write_text("one\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    edit = {"path": f"{asked}.txt", "edits": [{"old_text": "one", "new_text": "two"}]}
    calls = [
        ("readFile", {"path": f"{asked}.txt"}),
        ("editFile", edit),
        ("writeFile", {"path": f"{asked}.txt", "content": ""}),
    ]

    async def play() -> list[object]:
        replies = [ScriptedReply("", [ScriptedCall(name, args)]) for name, args in calls]
        async with scripted_session([*replies, "Done."], root=root) as scripted:
            await scripted.turn(f"Look at @{asked}.txt")
            assert "one" in str(scripted.requests[0].messages[-1])
            results = [
                message.tool_use_results
                for message in scripted.requests[-1].messages
                if hasattr(message, "tool_use_results")
            ]
            return [
                block.value
                for found in results
                if found
                for each in found
                for block in each.content
                if isinstance(block, Json)
            ]

    read, edited, written = asyncio.run(play())
    assert read == {"path": f"{there}.txt", "content": "one\n"}
    assert edited == {"success": True} and "exists already" in json.dumps(written)
    assert sorted(os.listdir(root)) == sorted([".git", ".nebula", f"{there}.txt"])
    assert (root / f"{there}.txt").read_text() == "two\n"
    with ProjectBlame(str(root)) as blame:
        assert blame.read(f"{asked}.txt")[0] == f"{there}.txt"


@pytest.mark.slow
@pytest.mark.parametrize(("there", "asked"), BOTH)
def test_a_search_is_limited_to_the_folder_that_is_meant(root: Path, there: str, asked: str) -> None:
    for folder in (f"d{there}", "other"):
        (root / folder).mkdir()
        (root / folder / "light.py").write_text("def lighthouse():\n    return beacon()\n")
    call = ScriptedCall("searchCode", {"query": "lighthouse", "path_prefix": f"d{asked}/"})

    async def play() -> str:
        async with scripted_session([ScriptedReply("", [call]), "Done."], root=root) as scripted:
            await scripted.turn()
            return str(scripted.requests[-1].messages[-1])

    assert "light.py" in (found := asyncio.run(play())) and "other" not in found
