"""Random paths, and random sequences of operations beside a dictionary that does the same."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from file_history_rig import redo, undo
from nebula.files.digest import digest
from nebula.workspace import LocalWorkspace, Policy, WorkspaceError, open_workspace
from nebula.workspace.errors import AlreadyExists, PathNotFound, PathRefused, Stale, TooLarge
from nebula.workspace.guard.paths import normal_path

LIMIT = 40

odd_names = st.one_of(
    st.sampled_from(
        ["..", ".", "", "a", "b.txt", ".git", ".GIT", "link", "out", "~", "C:", "．．", "\u202e", "a" * 300]
    ),
    st.text(max_size=8),
)
odd_paths = st.one_of(
    st.lists(odd_names, max_size=6).map("/".join),
    st.lists(odd_names, max_size=6).map("\\".join),
    st.text(max_size=30),
    st.binary(max_size=20).map(os.fsdecode),
)


@given(odd_paths)
@example("./C:")
@example("./／etc")
def test_every_path_is_refused_or_normal(path: str) -> None:
    try:
        place = normal_path(path)
    except WorkspaceError as error:
        assert error.status in {400, 422}
        return
    assert not place.text.startswith("/")
    assert ".." not in place.parts
    assert "" not in place.parts
    assert place.text.encode().count(b"\0") == 0
    assert normal_path(place.text).parts == place.parts


@given(path=odd_paths, content=st.text(max_size=50), mode=st.sampled_from(["create", "overwrite", "append"]))
def test_nothing_outside_is_ever_touched(path: str, content: str, mode: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        root.mkdir()
        (Path(folder) / "b.txt").write_text("outside")
        (root / "link").symlink_to("..")
        (root / "out").symlink_to("../b.txt")
        with open_workspace(str(root)) as workspace:
            for call in (
                lambda: workspace.read_file(path),
                lambda: workspace.write_file(path, content, mode),  # type: ignore[arg-type]
                lambda: workspace.list_files(path),
                lambda: workspace.probe(path),
            ):
                try:
                    call()
                except WorkspaceError as error:
                    assert error.status < 500
        assert sorted(os.listdir(folder)) == ["b.txt", "root"]
        assert (Path(folder) / "b.txt").read_text() == "outside"


names = st.sampled_from(["a.txt", "b.txt", "d/a.txt", "d/e/a.txt", "x.txt/y.txt", "x.txt"])
contents = st.text(max_size=15)
turns = st.sampled_from(["t1", "t2", "t3"])


class Model(RuleBasedStateMachine):
    """The files as a dictionary, and each turn's way back."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.workspace: LocalWorkspace = open_workspace(self.folder, Policy(max_bytes=LIMIT))
        self.files: dict[str, bytes] = {}
        self.past: list[tuple[str, dict[str, bytes]]] = []
        self.future: list[tuple[str, dict[str, bytes]]] = []
        self.turn = 0

    def teardown(self) -> None:
        self.workspace.close()
        shutil.rmtree(self.folder)

    def _blocked(self, path: str) -> bool:
        """A file where a folder is needed, or a folder where a file is."""
        above = any(path.startswith(f"{other}/") for other in self.files)
        return above or (Path(self.folder) / path).is_dir()

    @rule(path=names, content=contents, mode=st.sampled_from(["create", "overwrite", "append"]))
    def write(self, path: str, content: str, mode: str) -> None:
        self.turn += 1
        turn = f"turn-{self.turn}"
        before = dict(self.files)
        old = self.files.get(path)
        new = (old or b"") + content.encode() if mode == "append" else content.encode()
        try:
            result = self.workspace.for_turn(turn).write_file(path, content, mode)  # type: ignore[arg-type]
        except AlreadyExists:
            assert (mode == "create" and old is not None) or self._blocked(path)
        except TooLarge:
            assert len(new) > LIMIT
        else:
            assert not self._blocked(path)
            assert result.before == (None if old is None else digest(old))
            assert result.after == digest(new)
            self.files[path] = new
            self.past.append((turn, before))
            self.future.clear()

    @rule(path=names)
    def read(self, path: str) -> None:
        try:
            text = self.workspace.read_file(path)
        except (PathNotFound, PathRefused):
            assert path not in self.files
        else:
            assert text.content.encode() == self.files[path]

    @rule(path=names, content=contents, seen=contents)
    def write_bound_to_a_content(self, path: str, content: str, seen: str) -> None:
        if path not in self.files:
            return
        try:
            self.workspace.for_turn("bound").check_write(path, "overwrite", content)
            self.turn += 1
            turn = f"turn-{self.turn}"
            before = dict(self.files)
            self.workspace.for_turn(turn).write_file(path, content, "overwrite", expected=digest(seen.encode()))
        except Stale:
            assert self.files[path] != seen.encode()
        else:
            assert before[path] == seen.encode()
            self.files[path] = content.encode()
            self.past.append((turn, before))
            self.future.clear()

    @precondition(lambda self: self.past)
    @rule()
    def undo(self) -> None:
        turn, before = self.past.pop()
        undo(self.workspace.history)
        self.future.append((turn, self.files))
        self.files = dict(before)

    @precondition(lambda self: self.future)
    @rule()
    def redo(self) -> None:
        turn, after = self.future.pop()
        redo(self.workspace.history)
        self.past.append((turn, self.files))
        self.files = dict(after)

    @rule()
    def reopen(self) -> None:
        self.workspace.close()
        self.workspace = open_workspace(self.folder, Policy(max_bytes=LIMIT))

    @invariant()
    def disk_is_as_the_model(self) -> None:
        root = Path(self.folder)
        on_disk = {
            path.relative_to(root).as_posix(): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file() and ".nebula" not in path.parts
        }
        assert on_disk == self.files


TestModel = Model.TestCase
TestModel.settings = settings(settings.default, stateful_step_count=20)
