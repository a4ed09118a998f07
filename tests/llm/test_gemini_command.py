"""The `gemini` command, played by a small program of the same name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from marked_processes import a_mark, wait_until_none_is_left
from nebula.llm.contract import ModelReply, ModelRequest, Retrying, Usage
from nebula.llm.errors import BadReplyError, NotFoundError, UnavailableError
from nebula.llm.gemini_command import GeminiCommand
from nebula.messages import UserMessage

ANSWER = '{"response": "the plan", "stats": {"models": {"m": {"tokens": {"prompt": 7, "candidates": 3, "thoughts": 4, "cached": 5}}}}}'


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Puts a `gemini` on the PATH that runs these lines of Python."""

    def make(script: str) -> Path:
        program = tmp_path / "gemini"
        program.write_text(f"#!{sys.executable}\nimport sys, os, pathlib\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        return tmp_path

    return make


async def ask(model: GeminiCommand, name: str = "gemini-cli"):
    request = ModelRequest(name, "You plan.", [UserMessage.new_prompt("the task")])
    return [item async for item in model.stream(request)]


async def test_prompt_and_model_go_in_and_the_answer_comes_out(command):
    folder = command(
        "here = pathlib.Path(__file__).parent\n"
        "here.joinpath('argv').write_text(' '.join(sys.argv[1:]))\n"
        "here.joinpath('stdin').write_text(sys.stdin.read())\n"
        "here.joinpath('cwd').write_text(' '.join([os.getcwd(), *os.listdir()]))\n"
        f"print('a remark'); print('''{ANSWER}''')"
    )
    [reply] = await ask(GeminiCommand(), "gemini-2.5-pro")
    assert isinstance(reply, ModelReply) and reply.message.content == "the plan"
    assert reply.usage == Usage(7, 7, 5)
    assert (folder / "argv").read_text().startswith("--model gemini-2.5-pro --output-format json --prompt ")
    assert (folder / "stdin").read_text() == "You plan.\n\n# The request\n\nthe task"
    empty = (folder / "cwd").read_text()
    assert " " not in empty and "nebula-gemini-" in empty


async def test_a_failure_is_tried_once_more(command):
    command(
        "tried = pathlib.Path(__file__).with_name('tried')\n"
        f"print('''{ANSWER}''') if tried.exists() else (tried.touch(), sys.exit('quota'))"
    )
    retry, reply = await ask(GeminiCommand())
    assert isinstance(retry, Retrying) and "quota" in str(retry.reason)
    assert isinstance(reply, ModelReply)


async def test_what_it_says_in_json_is_the_reason(command):
    command("sys.stderr.write('''{\"error\": {\"message\": \"not logged in\"}}'''); sys.exit(41)")
    with pytest.raises(BadReplyError, match=r"exit code 41\): not logged in"):
        await ask(GeminiCommand())


@pytest.mark.slow
async def test_one_that_never_answers_is_ended_with_all_that_it_started(command):
    mark = a_mark()
    command(
        "import subprocess, time\n"
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', '{mark}']); time.sleep(600)"
    )
    with pytest.raises(UnavailableError, match="no answer"):
        await ask(GeminiCommand(timeout_s=1.0))
    wait_until_none_is_left(mark)


async def test_without_the_command_a_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NotFoundError, match="not installed"):
        await ask(GeminiCommand())
