"""A yes to one path by name holds for that path: not for what the same command put below it, nor for a path refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nebula.events import Approval
from nebula.testing import ScriptedCall, ScriptedReply, scripted_session
from nebula.tools.approval import Decision

NEW_FOLDER = "rm Jenkinsfile; mkdir Jenkinsfile; echo evil > Jenkinsfile/run.sh; echo evil > Jenkinsfile/.bashrc"
NEW_MODE = "chmod 700 .vscode; echo evil > .vscode/tasks.json; echo evil > .vscode/new.json"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "Jenkinsfile").write_text("build\n")
    (tmp_path / ".vscode").mkdir()
    (tmp_path / ".vscode/tasks.json").write_text("{}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "agreed", "asked"),
    [
        (NEW_FOLDER, "Jenkinsfile", [["Jenkinsfile"], ["Jenkinsfile/.bashrc"], ["Jenkinsfile", "Jenkinsfile/run.sh"]]),
        (NEW_MODE, ".vscode", [[".vscode"], [".vscode/new.json"], [".vscode/tasks.json"]]),
    ],
)
async def test_a_yes_to_a_folder_is_none_to_what_is_in_it(
    project: Path, line: str, agreed: str, asked: list[list[str]]
) -> None:
    questions: list[list[str]] = []

    async def answer(question: Approval) -> Decision:
        questions.append(sorted(each.path for each in question.changes))
        return Decision(questions[-1] == [agreed])

    reply = ScriptedReply("", [ScriptedCall("runCommand", {"command": line})])
    async with scripted_session([reply, "Done."], root=project) as scripted:
        scripted.session.project.approvals.approver = answer
        await scripted.turn()
    assert sorted(questions) == sorted(asked)
    assert texts_in(project) == {"Jenkinsfile": "build\n", ".vscode/tasks.json": "{}\n"}


def texts_in(project: Path) -> dict[str, str]:
    files = [path for path in project.rglob("*") if path.is_file()]
    names = {str(path.relative_to(project)): path for path in files}
    return {name: path.read_text() for name, path in names.items() if name.split("/")[0] not in (".git", ".nebula")}
