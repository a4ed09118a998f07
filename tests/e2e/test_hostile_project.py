"""A project from a stranger: looking at it, and working in it, touches nothing outside it and hangs on nothing."""

import os

import pytest

from scripted_model import Call, ScriptedModel, Turn

SCRIPT = [Turn("On it.", [Call("writeFile", {"path": "x.txt", "content": "1\n"})]), Turn("Done.")]


def run(bench):
    with ScriptedModel(SCRIPT) as server:
        return bench.run("nebula", "-p", "go", "--yes", timeout=20, **server.env())


@pytest.mark.parametrize("name", ["graph", "graph/nodes", "graph/flows", "journal", "journal/staging"])
def test_a_planted_folder_link_is_not_written_through(bench, tmp_path, name):
    victim = tmp_path / "victim"
    victim.mkdir()
    link = bench.project / ".nebula" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    ran = run(bench)
    assert os.listdir(victim) == []
    assert ran.err.startswith("nebula: ")
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", ["log.txt", "trace.jsonl", "audit.jsonl", ".gitignore"])
def test_a_planted_file_link_is_not_written_through(bench, tmp_path, name):
    victim = tmp_path / "victim"
    victim.write_text("precious\n", encoding="utf-8")
    (bench.project / ".nebula").mkdir()
    (bench.project / ".nebula" / name).symlink_to(victim)
    ran = run(bench)
    assert victim.read_text(encoding="utf-8") == "precious\n"
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", ["log.txt", "trace.jsonl", "audit.jsonl"])
def test_a_planted_pipe_hangs_nobody(bench, name):
    (bench.project / ".nebula").mkdir()
    os.mkfifo(bench.project / ".nebula" / name)
    ran = run(bench)
    assert ran.code == 0
    assert f".nebula/{name} was not what it should be (a link, a pipe); it was set aside." in ran.err
    assert "Done." in ran.out
    assert (bench.project / ".nebula" / name).is_file()


@pytest.mark.parametrize(
    "name", ["log.txt", "trace.jsonl", "audit.jsonl", "journal", "journal/objects", "journal/changes.jsonl"]
)
def test_a_planted_link_in_the_place_of_a_record_costs_no_turn(bench, tmp_path, name):
    link = bench.project / ".nebula" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path)
    ran = run(bench)
    assert ran.code == 0
    assert (bench.project / "x.txt").read_text(encoding="utf-8") == "1\n"
    assert not link.is_symlink()
