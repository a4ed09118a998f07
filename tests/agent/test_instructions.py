"""Which instructions a model gets, in which order, and what is said of those that it does not get."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from nebula.agent.assembly import open_session
from nebula.agent.instructions.standing import MAX_BYTES, gather_instructions
from nebula.config import Settings
from nebula.llm.choose import ChosenModel
from nebula.llm.replay import ReplayModel
from nebula.messages import UserMessage
from nebula.tools.approval import allow_all


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def told(root, home=""):
    return [(each.name, each.text) for each in gather_instructions(str(root), str(home)).told]


def test_home_then_root_then_down_to_where_the_session_stands(repository, tmp_path):
    home, inner = tmp_path / "home", repository / "packages/one"
    write(home / "AGENTS.md", "mine")
    write(repository / "AGENTS.md", "outer")
    write(inner / "CLAUDE.md", "inner")
    write(repository / "packages/two/AGENTS.md", "elsewhere")
    own = str(home / "AGENTS.md")
    assert told(inner, home) == [(own, "mine"), ("AGENTS.md", "outer"), ("packages/one/CLAUDE.md", "inner")]
    assert [each.is_users_own for each in gather_instructions(str(inner), str(home)).told] == [True, False, False]


def test_another_agents_file_counts_only_where_there_is_no_agents_md(repository):
    write(repository / "GEMINI.md", "third")
    assert told(repository) == [("GEMINI.md", "third")]
    write(repository / "CLAUDE.md", "second")
    assert told(repository) == [("CLAUDE.md", "second")]
    write(repository / "AGENTS.md", " \n")
    assert told(repository) == [("CLAUDE.md", "second")], "an empty one says nothing"
    write(repository / "AGENTS.md", "first")
    assert told(repository) == [("AGENTS.md", "first")]


def test_instructions_above_the_repository_are_not_read(repository):
    write(repository.parent / "AGENTS.md", "somebody else's")
    assert told(repository) == []
    outside = repository.parent / "plain"
    outside.mkdir()
    assert told(outside) == []


def test_the_users_own_may_be_a_link_to_anywhere(repository, tmp_path):
    write(tmp_path / "dotfiles/rules.md", "mine")
    (tmp_path / "home").mkdir()
    (tmp_path / "home/AGENTS.md").symlink_to("../dotfiles/rules.md")
    assert [text for _, text in told(repository, tmp_path / "home")] == ["mine"]


def test_a_link_to_what_is_told_already_is_not_told_again(repository):
    write(repository / "AGENTS.md", "the rules")
    inner = repository / "inner"
    inner.mkdir()
    (inner / "CLAUDE.md").symlink_to("../AGENTS.md")
    assert told(inner) == [("AGENTS.md", "the rules")]


def test_all_together_have_one_limit_and_home_and_root_come_first(repository, tmp_path):
    home, inner = tmp_path / "home", repository / "a/b"
    write(home / "AGENTS.md", "m" * 10_000)
    write(repository / "AGENTS.md", "r" * 10_000)
    write(repository / "a/AGENTS.md", "長" * 10_000)
    write(inner / "AGENTS.md", "inner")
    found = gather_instructions(str(inner), str(home))
    assert [len(each.text) for each in found.told[:2]] == [10_000, 10_000]
    assert found.told[2].text.startswith("長長") and "[cut: " in found.told[2].text
    assert sum(len(each.text.encode()) for each in found.told) < MAX_BYTES + 100
    assert found.left_out == ["a/AGENTS.md", "a/b/AGENTS.md"]
    (remark,) = found.remarks()
    assert str(remark) == "Instructions may have 32,768 bytes together; left out or cut: a/AGENTS.md, a/b/AGENTS.md"


def test_hidden_characters_are_gone(repository):
    write(repository / "AGENTS.md", "be kind\U000e0041")
    assert told(repository) == [("AGENTS.md", "be kind")]


def _folder(path):
    path.mkdir()


def _link_out(path):
    write(path.parent.parent / "outside.md", "outside")
    path.symlink_to("../outside.md")


def _link_to_secret(path):
    write(path.parent / ".env", "KEY=1")
    path.symlink_to(".env")


def _huge(path):
    with path.open("wb") as file:
        file.truncate(1 << 32)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("make", [_folder, os.mkfifo, _link_out, _link_to_secret, _huge])
def test_instructions_that_cannot_be_used_cost_a_remark(repository, make):
    make(repository / "AGENTS.md")
    write(repository / "CLAUDE.md", "the next best")
    found = gather_instructions(str(repository))
    assert [each.text for each in found.told] == ["the next best"]
    assert [problem.path for problem in found.unreadable] == ["AGENTS.md"]


# Folders inside the project


def read(*paths):
    return {"tool_calls": [{"name": "readFile", "args": {"path": path}} for path in paths]}


def play(tmp_path, repository, *replies, prompts=("go",)):
    """The tool results that the model got, call by call, and what people were told."""
    model, events, requests = ReplayModel(list(replies)), [], []

    class Heard:
        provider = "replay"

        async def stream(self, request):
            requests.append(request)
            async for item in model.stream(request):
                yield item

        async def aclose(self):
            return None

    async def scenario():
        settings = Settings(home=str(tmp_path / "home"), root=str(repository), openai_api_key="sk-test-0123456789")
        chosen = ChosenModel(Heard(), "m", settings.context_tokens)
        session = await open_session(settings, approver=allow_all, chosen=chosen)
        try:
            for prompt in prompts:
                await session.turn(prompt, [lambda stamped: events.append(stamped.event)])
        finally:
            await session.close()

    asyncio.run(scenario())
    results = [
        result.as_text()
        for message in requests[-1].messages
        if isinstance(message, UserMessage)
        for result in message.tool_use_results or ()
    ]
    return results, [str(event.sentence) for event in events if event.type == "notice"]


def test_the_nearest_instructions_come_with_the_first_touch_of_a_folder(tmp_path, repository, monkeypatch):
    monkeypatch.setenv("NEBULA_HOME", str(tmp_path / "home"))
    write(repository / "AGENTS.md", "root rules")
    write(repository / "api/AGENTS.md", "api rules")
    for name in ("api/v1/a.py", "api/v1/b.py", "api/c.py", "web/d.py"):
        write(repository / name, "x = 1\n")
    calls = [read("api/v1/a.py"), read("api/v1/b.py"), {"text": "One."}, read("api/c.py", "web/d.py"), {"text": "Two."}]
    results, _ = play(tmp_path, repository, *calls, prompts=("go", "on"))
    assert ["api rules" in each for each in results] == [True, False, False, False]
    assert "(api/AGENTS.md)" in results[0] and "root rules" not in "".join(results)


def test_a_folder_whose_instructions_do_not_fit_is_named(tmp_path, repository, monkeypatch):
    monkeypatch.setenv("NEBULA_HOME", str(tmp_path / "home"))
    write(repository / "AGENTS.md", "r" * MAX_BYTES)
    write(repository / "api/AGENTS.md", "api rules")
    write(repository / "api/a.py", "x = 1\n")
    results, notices = play(tmp_path, repository, read("api/a.py"), {"text": "One."})
    assert "api rules" not in results[0]
    assert notices == ["Instructions may have 32,768 bytes together; left out or cut: api/AGENTS.md"]


def test_a_refused_path_tells_nothing(tmp_path, repository, monkeypatch):
    monkeypatch.setenv("NEBULA_HOME", str(tmp_path / "home"))
    write(Path(tmp_path, "other/AGENTS.md"), "foreign rules")
    write(Path(tmp_path, "other/a.py"), "x = 1\n")
    results, _ = play(tmp_path, repository, read("../other/a.py", "missing/a.py"), {"text": "One."})
    assert "foreign rules" not in "".join(results)
