"""A session taken up again: what memory says of it follows what really happens."""

import sqlite3

from scripted_model import ScriptedModel, Turn


def sessions(bench):
    memory = sqlite3.connect(bench.home / ".nebula" / "memory.db")
    try:
        return memory.execute("SELECT id, model_used, ended_at IS NULL FROM sessions").fetchall()
    finally:
        memory.close()


def test_the_model_that_answers_is_the_one_recorded(bench):
    with ScriptedModel([Turn("one"), Turn("two")]) as server:
        assert bench.run("nebula", "-p", "go", **server.env()).code == 0
        ((session, model, active),) = sessions(bench)
        assert (model, active) == ("gpt-4.1-nano", 0)
        assert bench.run("nebula", "-p", "go on", "--resume", "--model", "gpt-4.1-mini", **server.env()).code == 0
    assert server.turns[1].json["model"] == "gpt-4.1-mini"
    assert sessions(bench) == [(session, "gpt-4.1-mini", 0)]
