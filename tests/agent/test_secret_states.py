"""What a node says of the secret files that its turn changed: nothing that their content can be guessed from."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from nebula.agent.recording.file_states import find_sealed, seal_files
from nebula.agent.undo import restore_plan, undo_plan
from nebula.files.digest import digest
from nebula.graph.graph import Graph
from nebula.graph.values import FileState, Node
from nebula.testing import ScriptedCall, ScriptedReply, scripted_session
from nebula.workspace import open_workspace
from nebula.workspace.local import LocalWorkspace

OLD, NEW = "PIN=1234\n", "PIN=4321\n"


def write(path: str, content: str) -> ScriptedReply:
    return ScriptedReply("", [ScriptedCall("writeFile", {"path": path, "content": content})])


def turns(root: Path, *replies: Sequence[ScriptedReply | str], between: str | None = None) -> tuple[list[Node], str]:
    """Return the nodes of turns in a project where `.env` is allowed, and what the last was told beside its prompt."""

    async def play() -> tuple[list[str], str]:
        told, ids = "", []
        async with scripted_session(
            [each for turn in replies for each in turn], root=root, allow=(".env",)
        ) as scripted:
            for number, _ in enumerate(replies):
                if number and between is not None:
                    (root / ".env").write_text(between)
                ids.append((await scripted.turn(f"prompt {number}")).node_id)
                told = str(scripted.requests[-1].messages)
        return ids, told

    ids, told = asyncio.run(play())
    with Graph(str(root / ".nebula/graph")) as graph:
        return [graph.get_node(each) for each in ids], told


def workspace(root: Path) -> LocalWorkspace:
    opened = open_workspace(str(root))
    assert isinstance(opened, LocalWorkspace)
    return opened


def graph_text(root: Path) -> str:
    return "".join(path.read_text() for path in (root / ".nebula/graph").rglob("*.xml"))


def test_a_node_has_no_hash_of_a_secret_file(tmp_path: Path) -> None:
    (node,), _ = turns(tmp_path, [write(".env", OLD), write("a.txt", OLD), "Done."])
    states = {each.path: each for each in node.files}
    assert (states[".env"].before, states["a.txt"].after) == ("", digest(OLD.encode()))
    assert len(states[".env"].after) == 64 and states[".env"].after != states["a.txt"].after


def test_whoever_has_the_journal_finds_the_content_again(tmp_path: Path) -> None:
    (first, second), _ = turns(
        tmp_path,
        [write(".env", OLD), "Done."],
        [
            ScriptedReply("", [ScriptedCall("editFile", {"path": ".env", "new_content": NEW})]),
            "Done.",
        ],
    )
    assert all(digest(each.encode()) not in graph_text(tmp_path) for each in (OLD, NEW))
    assert first.files[0].after == second.files[0].before
    with workspace(tmp_path) as files:
        (state,) = find_sealed(second.files, files.history)
        assert (state.before, state.after) == (digest(OLD.encode()), digest(NEW.encode()))
        files.history.apply(restore_plan(files, first))
        assert (tmp_path / ".env").read_text() == OLD
        files.history.apply(undo_plan(files))
        assert (tmp_path / ".env").read_text() == NEW


@pytest.mark.parametrize(("now", "is_told"), [(OLD, False), (NEW, True)])
def test_what_became_of_it_since_is_told_as_of_any_file(tmp_path: Path, now: str, is_told: bool) -> None:
    _, told = turns(tmp_path, [write(".env", OLD), "Done."], ["Again."], between=now)
    assert (".env: edited by the user" in told) is is_told


def test_another_journal_gives_other_names(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with workspace(tmp_path / name) as files:
            found += [seal_files([FileState("x.pem", "", f"{digest(b'x')}:600")], files)[0] for _ in range(2)]
    assert found[0] == found[1] and found[2] == found[3] and found[0] != found[2]
    assert found[0].after.endswith(":600")


def test_nobody_finds_what_no_journal_knows(tmp_path: Path) -> None:
    with workspace(tmp_path) as files:
        kept = [FileState(".env", "", digest(b"x")), FileState(".ssh/link", f"link:{digest(b'y')}", "folder:755")]
        sealed = seal_files(kept, None)
        assert [each.path for each in sealed] == [".env", ".ssh/link"]
        assert sealed[0].after != seal_files(kept, None)[0].after != digest(b"x")
        assert sealed[1].before.startswith("link:") and sealed[1].after == "folder:755"
        assert find_sealed(sealed, files.history) == sealed
        assert find_sealed(kept, files.history) == kept, "of a node from before there were such names"


def test_a_damaged_key_costs_no_turn(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    with workspace(tmp_path / "project") as files:
        seal_files([FileState(".env", "", digest(b"x"))], files)
    (tmp_path / "project/.nebula/journal/objects/key").write_bytes(b"short")
    (node,), _ = turns(tmp_path / "project", [write(".env", OLD), "Done."])
    assert node.files[0].after != digest(OLD.encode())
