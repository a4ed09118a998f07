"""What a model is told of files that changed between its turns, from settings to request."""

import asyncio
from pathlib import Path

import pytest

from known_machine import know_the_machine
from nebula.agent.assembly import open_session
from nebula.agent.undo import carry_out, redo_plan, restore_plan, undo_plan
from nebula.config import Settings
from nebula.llm.choose import ChosenModel
from nebula.llm.replay import ReplayModel
from nebula.messages import UserMessage
from nebula.tools.approval import allow_all
from nebula.workspace import Policy, open_workspace

UNDONE = "the user took this change back (undo)"


class Project:
    """A project whose sessions are opened, used and closed, and the requests that its model got."""

    def __init__(self, folder, monkeypatch):
        know_the_machine(folder / "home")
        monkeypatch.setenv("NEBULA_HOME", str(folder / "home"))
        self.root = folder / "project"
        self.root.mkdir()
        self.settings = Settings(home=str(folder / "home"), root=str(self.root), openai_api_key="sk-test-0123456789")
        self.requests = []

    def play(self, *turns, resume=None, between=lambda session: None):
        """One sitting: each turn is the replies of the model; `between` runs before every turn but the first."""

        async def scenario():
            model = ReplayModel([reply for turn in turns for reply in turn])
            script = _Heard(model, self.requests)
            chosen = ChosenModel(script, "m", self.settings.context_tokens)
            session = await open_session(self.settings, approver=allow_all, chosen=chosen, resume=resume)
            try:
                for place, _ in enumerate(turns):
                    if place:
                        between(session)
                    await session.turn(f"prompt {place}")
            finally:
                await session.close()

        asyncio.run(scenario())

    @property
    def told(self):
        """What the newest request says beside its last prompt."""
        return next(
            each for each in reversed(self.requests[-1].messages) if isinstance(each, UserMessage) and each.prompt
        ).additional_context

    def write(self, path, text):
        Path(self.root, path).write_text(text, encoding="utf-8")


class _Heard:
    provider = "replay"

    def __init__(self, model, requests):
        self._model, self._requests = model, requests

    async def stream(self, request):
        self._requests.append(request)
        async for item in self._model.stream(request):
            yield item

    async def aclose(self):
        return None


@pytest.fixture
def project(tmp_path, monkeypatch):
    return Project(tmp_path, monkeypatch)


def say(text="Done."):
    return {"text": text}


def create(path, content="x = 1\n"):
    return {"tool_calls": [{"name": "writeFile", "args": {"path": path, "content": content}}]}


def undo(session):
    workspace = session.project.workspace
    carry_out(workspace, undo_plan(workspace), session.id)


def redo(session):
    workspace = session.project.workspace
    carry_out(workspace, redo_plan(workspace), session.id)


def test_an_undo_is_told_once_with_the_next_prompt(project):
    steps = iter([undo, lambda session: None])
    project.play([create("a.py"), say()], [say()], [say()], between=lambda session: next(steps)(session))
    assert project.told == ""
    whole = [
        each.additional_context
        for each in project.requests[-1].messages
        if isinstance(each, UserMessage) and each.prompt
    ]
    assert [f"- a.py: {UNDONE}; the file does not exist now" in each for each in whole] == [False, True, False]


def test_an_undo_is_told_after_a_resume(project):
    project.play([create("a.py"), say()])
    with open_workspace(str(project.root), Policy()) as workspace:
        carry_out(workspace, undo_plan(workspace))
    project.play([say()], resume="")
    assert UNDONE in project.told
    project.play([say()], resume="")
    assert project.told == ""
    remembered = [each.additional_context for each in project.requests[-1].messages if isinstance(each, UserMessage)]
    assert any(UNDONE in each for each in remembered), "the model still knows after another resume"


def test_a_change_taken_back_and_done_again_is_no_news(project):
    project.play([create("a.py"), say()], [say()], between=lambda session: (undo(session), redo(session)))
    assert project.told == ""


def test_a_redo_and_a_restore_are_told_by_name(project):
    def go_back(session):
        node = session.archive.find(session.archive.session_nodes(session.id)[0].node_id)
        carry_out(session.project.workspace, restore_plan(session.project.workspace, node))

    project.play([create("a.py"), say()], [create("b.py"), say()], [say()])
    project.play([say()], [say()], resume="", between=go_back)
    assert "- b.py: the user put it back as an earlier turn had left it (restore)" in project.told
    assert "a.py" not in project.told
    project.play([say()], [say()], resume="", between=undo)
    project.play([say()], [say()], resume="", between=redo)
    assert "- b.py: the user did this change again (redo)" in project.told


def test_an_edit_by_hand_of_the_last_turns_files_is_told(project):
    project.write("other.py", "y = 1\n")

    def edit(session):
        project.write("a.py", "x = 2\n")
        project.write("other.py", "y = 2\n")

    project.play([create("a.py"), say()], [say()], between=edit)
    assert "- a.py: edited by the user or another program" in project.told
    assert "other.py" not in project.told


def test_what_another_session_wrote_counts_only_for_the_last_turns_files(project):
    def another(session):
        with open_workspace(str(project.root), Policy()) as workspace:
            turn = workspace.for_turn("another-turn")
            turn.write_file("a.py", "x = 3\n", "overwrite")
            turn.write_file("unrelated.py", "z = 1\n", "create")

    project.play([create("a.py"), say()], [say()], between=another)
    assert "- a.py: changed by another turn" in project.told
    assert "unrelated.py" not in project.told


def test_only_the_end_of_a_long_journal_is_read(project):
    with open_workspace(str(project.root), Policy()) as workspace:
        early = workspace.for_turn("early")
        early.write_file("many.py", "0", "create")
        journal = project.root / ".nebula/journal/changes.jsonl"
        line = journal.read_text("utf-8").splitlines()[-1]
        with journal.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n" * 2000)
        early.write_file("a.py", "x", "create")
        workspace.for_turn("late").write_file("b.py", "x", "create")
        history = workspace.history
        looked_at = []
        later = history.changes_after(lambda change: bool(looked_at.append(change)) or change.path == "a.py")
        assert [change.path for change in later] == ["b.py"]
        assert len(history.changes_after(lambda change: False)) == len(history.changes())
        assert len(looked_at) < 10
