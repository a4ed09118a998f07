"""Files that an editor has open: what it shows is what is read, and nothing of the user's is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from nebula.files.digest import digest
from nebula.workspace import LocalWorkspace, open_workspace
from nebula.workspace.errors import SecretPath, Stale, TooLarge, Unsaved
from nebula.workspace.guard.judge import Policy
from nebula.workspace.wrapped.buffered import BufferedWorkspace, with_buffers


class Buffers:
    """An editor that saves what it is handed; `formats` is what it does to a text before."""

    def __init__(self, root: Path, *, writes: bool = True, saves: bool = True) -> None:
        self.root = root
        self.writes = writes
        self.saves = saves
        self.texts: dict[str, str] = {}
        self.asked: list[str] = []
        self.formats = str

    def read(self, path: str) -> str | None:
        self.asked.append(path)
        return self.texts.get(path)

    def write(self, path: str, content: str) -> None:
        if self.writes and self.saves:
            self.texts.pop(path, None)
            (self.root / path).write_bytes(self.formats(content).encode())


@pytest.fixture
def editor(tmp_path: Path) -> Buffers:
    (tmp_path / "a.txt").write_text("saved\n")
    return Buffers(tmp_path)


def files(editor: Buffers, policy: Policy | None = None) -> BufferedWorkspace:
    found = with_buffers(open_workspace(str(editor.root), policy), editor).for_turn("turn")
    assert isinstance(found, BufferedWorkspace)
    return found


def test_an_unsaved_text_is_what_is_read(editor: Buffers) -> None:
    editor.texts["a.txt"] = "unsaved\nsecond\n"
    for workspace in (files(editor), with_buffers(open_workspace(str(editor.root), read_only=True), editor)):
        file = workspace.read_file("a.txt")
        assert (file.content, file.sha256, file.size) == ("unsaved\nsecond\n", digest(b"unsaved\nsecond\n"), 15)
        lines = workspace.read_lines("a.txt", 2)
        assert (lines.content, lines.total_lines, lines.sha256) == ("second\n", 2, file.sha256)


def test_line_ends_and_a_mark_that_editors_keep_apart_are_no_change(editor: Buffers) -> None:
    (editor.root / "a.txt").write_bytes("\ufeffone\r\ntwo\r\n".encode())
    editor.texts["a.txt"] = "one\ntwo\n"
    workspace = files(editor)
    assert workspace.read_file("a.txt").content == "\ufeffone\r\ntwo\r\n"
    editor.texts["a.txt"] = "one\nnew\n"
    assert workspace.read_file("a.txt").content == "\ufeffone\r\nnew\r\n"


def test_a_text_that_no_file_can_hold_or_that_is_too_large_is_not_taken(editor: Buffers) -> None:
    editor.texts["a.txt"] = "\ud800"
    assert files(editor).read_file("a.txt").content == "saved\n"
    editor.texts["a.txt"] = "x" * 30
    with pytest.raises(TooLarge):
        files(editor, Policy(max_bytes=20)).read_file("a.txt")


def test_what_may_not_be_read_is_not_asked_for(editor: Buffers) -> None:
    (editor.root / ".env").write_text("KEY=1\n")
    with pytest.raises(SecretPath):
        files(editor).read_file(".env")
    assert editor.asked == []


def test_a_write_on_unsaved_changes_keeps_them_and_undo_leads_back(editor: Buffers) -> None:
    editor.texts["a.txt"] = "unsaved\n"
    workspace = files(editor)
    state = workspace.check_write("a.txt", "overwrite", "new\n")
    assert state.content == "unsaved\n"
    result = workspace.write_file("a.txt", "new\n", "overwrite", expected=state.expected)
    assert (editor.root / "a.txt").read_text() == "new\n" and not editor.texts
    assert result.before == digest(b"unsaved\n") and result.after == digest(b"new\n")
    assert workspace.roll_back() == ("a.txt",)
    assert (editor.root / "a.txt").read_text() == "unsaved\n"


def test_a_text_typed_since_is_not_overwritten(editor: Buffers) -> None:
    workspace = files(editor)
    expected = workspace.check_write("a.txt", "overwrite", "new\n").expected
    editor.texts["a.txt"] = "typed meanwhile\n"
    with pytest.raises(Stale):
        workspace.write_file("a.txt", "new\n", "overwrite", expected=expected)
    assert editor.texts["a.txt"] == "typed meanwhile\n" and (editor.root / "a.txt").read_text() == "saved\n"


@pytest.mark.parametrize(("writes", "saves"), [(False, True), (True, False)])
def test_unsaved_changes_that_the_editor_does_not_save_are_left_alone(
    editor: Buffers, writes: bool, saves: bool
) -> None:
    editor.texts["a.txt"] = "unsaved\n"
    editor.writes, editor.saves = writes, saves
    with pytest.raises(Unsaved):
        files(editor).write_file("a.txt", "new\n", "overwrite", expected=digest(b"unsaved\n"))
    if not writes:
        with pytest.raises(Unsaved):
            files(editor).check_write("a.txt", "overwrite", "new\n")
    assert editor.texts["a.txt"] == "unsaved\n" and (editor.root / "a.txt").read_text() == "saved\n"


def test_what_an_editor_formats_as_it_saves_can_be_taken_back(editor: Buffers) -> None:
    editor.formats = str.upper  # type: ignore[assignment]
    workspace = files(editor)
    result = workspace.write_file("a.txt", "new\n", "overwrite", expected=digest(b"saved\n"))
    assert (editor.root / "a.txt").read_text() == "NEW\n" and result.after == digest(b"NEW\n")
    assert workspace.roll_back() == ("a.txt",)
    assert (editor.root / "a.txt").read_text() == "saved\n"


def test_an_editor_that_shows_what_was_written_is_not_handed_it(editor: Buffers) -> None:
    """One that reads files from the disk would put our text over a buffer that it does not show us."""
    editor.formats = str.upper  # type: ignore[assignment]
    editor.read = lambda path: (editor.root / path).read_text()  # type: ignore[method-assign]
    result = files(editor).write_file("a.txt", "new\n", "overwrite", expected=digest(b"saved\n"))
    assert (editor.root / "a.txt").read_text() == "new\n" and result.after == digest(b"new\n")


def test_a_buffer_that_is_left_behind_is_handed_what_was_written(editor: Buffers) -> None:
    editor.texts["a.txt"] = "saved\n"
    files(editor).write_file("a.txt", "new\n", "overwrite", expected=digest(b"saved\n"))
    assert not editor.texts, "it was given the new text"


def test_a_new_file_and_an_addition_reach_the_editor(editor: Buffers) -> None:
    workspace = files(editor)
    workspace.write_file("new.txt", "new\n")
    workspace.write_file("a.txt", "more\n", "append")
    assert (editor.root / "new.txt").read_text() == "new\n"
    assert (editor.root / "a.txt").read_text() == "saved\nmore\n"


def test_allowed_files_and_files_elsewhere_keep_what_they_are(editor: Buffers) -> None:
    (editor.root / ".env").write_text("KEY=1\n")
    editor.texts[".env"] = "KEY=2\n"
    assert files(editor).allowing(".env").read_file(".env").content == "KEY=2\n"
    elsewhere = object()
    assert with_buffers(elsewhere, editor) is elsewhere  # type: ignore[arg-type,comparison-overlap]
    assert isinstance(files(editor), LocalWorkspace)
