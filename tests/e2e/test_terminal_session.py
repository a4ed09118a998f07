"""The interactive program in a pseudo-terminal: what a person types and sees."""

import json
import re
import signal
import sqlite3
import threading

import pytest

from scripted_model import Call, Fault, ScriptedModel, Turn
from terminal_driver import (
    ALT_ENTER,
    BEGINNING,
    CTRL_C,
    CTRL_D,
    CTRL_G,
    CTRL_J,
    CTRL_O,
    ENTER,
    ESCAPE,
    SHIFT_TAB,
    TAB,
    UP,
)

CREATE = Call("writeFile", {"path": "notes.txt", "content": "one\ntwo\n"})
ASK = "Go ahead? (y/N):"


def prompts_sent(server):
    return [_last_prompt(request) for request in server.turns]


def _last_prompt(request):
    users = [message["content"] for message in request.json["messages"] if message["role"] == "user"]
    found = re.search("--- USER MESSAGE BEGIN ---\n(.*)--- USER MESSAGE END ---", users[-1], re.DOTALL)
    return found[1] if found else users[-1]


def test_a_question_and_its_answer(bench, terminal):
    with ScriptedModel([Turn("It is **bold** and 日本語.\n\n- one\n- two")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("これは何ですか")
        screen.prompt(times=2)
        screen.send(CTRL_D)
        assert screen.ended() == 0
    assert prompts_sent(server) == ["これは何ですか"]
    assert "[AGENT] You: これは何ですか" in screen.lines
    assert "It is bold and 日本語." in screen.lines
    assert " • one" in screen.lines
    assert "100 tokens in, 20 out" in screen.text
    assert re.search(r"nebula --resume session_\d{8}_\d{6}_\w+", screen.text)
    assert "\x1b[1mbold\x1b[0m" in screen.raw


def test_yes_writes_the_file(bench, terminal):
    with ScriptedModel([Turn("I'll write it.", [CREATE]), Turn("Written.")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("write notes")
        screen.wait(ASK)
        assert "I'll write it." in screen.lines
        assert "Create a new file: notes.txt (+2 −0)" in screen.lines
        assert not (bench.project / "notes.txt").exists()
        screen.line("y")
        screen.prompt(times=2)
    assert bench.read("notes.txt") == "one\ntwo\n"
    assert "Written." in screen.lines
    assert "1 file changed: notes.txt +2 −0 · unverified" in screen.text
    assert "writeFile" not in screen.text


@pytest.mark.parametrize("answer", ["n", ""])
def test_no_is_the_default_and_the_model_is_told(bench, terminal, answer):
    with ScriptedModel([Turn("", [CREATE]), Turn("As you wish.")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("write notes")
        screen.wait(ASK)
        screen.line(answer)
        screen.prompt(times=2)
    assert not (bench.project / "notes.txt").exists()
    assert "As you wish." in screen.lines
    assert "did not allow this write" in json.dumps(server.turns[1].json)


def test_a_sentence_refuses_and_reaches_the_model(bench, terminal):
    with ScriptedModel([Turn("", [CREATE]), Turn("I see.")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("write notes")
        screen.wait(ASK)
        screen.line("use notes.md 形式で")
        screen.prompt(times=2)
    assert not (bench.project / "notes.txt").exists()
    assert "use notes.md 形式で" in json.dumps(server.turns[1].json, ensure_ascii=False)


def test_the_difference_is_shown_and_asked_again(bench, terminal):
    bench.write("notes.txt", "one\nold\n")
    script = [
        Turn("", [Call("readFile", {"path": "notes.txt"})]),
        Turn("", [Call("editFile", {"path": "notes.txt", "new_content": "one\nnew\n"})]),
        Turn("Edited."),
    ]
    with ScriptedModel(script) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("change notes")
        screen.wait(ASK)
        assert "Edit an existing file: notes.txt (+1 −1)" in screen.lines
        screen.line("d")
        screen.wait(ASK, times=2)
        assert {"2 -old", "2 +new", "1  one"} <= set(screen.lines)
        assert bench.read("notes.txt") == "one\nold\n"
        screen.line("y")
        screen.prompt(times=2)
    assert bench.read("notes.txt") == "one\nnew\n"


def test_all_is_for_the_session_and_says_so(bench, terminal):
    script = [
        Turn("", [Call("writeFile", {"path": "a.txt", "content": "a"})]),
        Turn("", [Call("writeFile", {"path": "b.txt", "content": "b"})]),
        Turn("First."),
        Turn("", [Call("writeFile", {"path": "c.txt", "content": "c"})]),
        Turn("Second."),
    ]
    with ScriptedModel(script) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("write")
        screen.wait(ASK)
        screen.line("a")
        screen.wait("From now on every write of this session is allowed without asking.")
        screen.prompt(times=2)
        screen.line("more")
        screen.prompt(times=3)
    assert screen.text.count(ASK) == 1
    assert [bench.read(name) for name in ("a.txt", "b.txt", "c.txt")] == ["a", "b", "c"]


def test_several_writes_of_one_message_are_seen_together(bench, terminal):
    files = [Call("writeFile", {"path": f"{name}.py", "content": "x = 1\n"}) for name in "abc"]
    with ScriptedModel([Turn("", files), Turn("Done.")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("write")
        screen.wait(ASK)
        assert "This message writes 3 files:" in screen.lines
        assert "  b.py (+1 −0)" in screen.lines
        screen.line("m")
        screen.prompt(times=2)
    assert screen.text.count(ASK) == 1
    assert bench.read("c.py") == "x = 1\n"


def test_a_pattern_allows_its_kind_only(bench, terminal):
    files = [Call("writeFile", {"path": name, "content": "x"}) for name in ("a.py", "b/c.py", "d.md")]
    script = [*(Turn("", [each]) for each in files), Turn("Done.")]
    with ScriptedModel(script) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("write")
        screen.wait(ASK)
        screen.line("p")
        screen.wait("Create a new file: d.md")
        screen.wait(ASK, times=2)
        screen.line("n")
        screen.prompt(times=2)
    assert (bench.project / "b/c.py").exists()
    assert not (bench.project / "d.md").exists()


def test_hidden_characters_are_seen_before_they_are_approved(bench, terminal):
    call = Call("writeFile", {"path": "safe.txt", "content": "admin\u202e = \u200bTrue\n"})
    with ScriptedModel([Turn("", [call]), Turn("Done.")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("write")
        screen.wait(ASK)
        screen.line("d")
        screen.wait(ASK, times=2)
        assert "1 +admin<U+202E> = <U+200B>True" in screen.lines
        screen.line("n")
        screen.prompt(times=2)
    assert "\u202e" not in screen.raw
    assert "\u200b" not in screen.raw


def test_escape_sequences_of_the_model_are_not_obeyed(bench, terminal):
    with ScriptedModel([Turn("red \x1b[31mtext\x1b]0;owned\x07 and \x9b1m")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("hi")
        screen.prompt(times=2)
    assert "\x1b]0;owned" not in screen.raw
    assert "\x9b" not in screen.raw
    assert "␛]0;owned␇" in screen.text


def test_switching_modes_by_word_and_by_key(bench, terminal):
    with ScriptedModel([Turn("A plan."), Turn("Carried out.")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("plan")
        screen.prompt("[PLAN] You:")
        screen.line("what would you do")
        screen.prompt("[PLAN] You:", times=2)
        assert "Type accept to carry this plan out" in screen.text
        screen.send(SHIFT_TAB)
        screen.prompt("[AGENT] You:", times=2)
        screen.send(SHIFT_TAB)
        screen.prompt("[PLAN] You:", times=2)
        tools = {tool["function"]["name"] for tool in server.turns[0].json["tools"]}
        assert not tools & {"writeFile", "editFile", "runCheck"}
        screen.line("agent")
        screen.prompt("[AGENT] You:", times=2)
        screen.line("/exit")
        assert screen.ended() == 0


def test_a_plan_is_accepted_and_carried_out(bench, terminal):
    with ScriptedModel([Turn("1. write notes"), Turn("", [CREATE]), Turn("Done.")]) as server:
        screen = terminal(server, "--mode", "plan")
        screen.prompt("[PLAN] You:")
        screen.line("plan the notes")
        screen.wait("Type accept")
        screen.prompt("[PLAN] You:", times=2)
        screen.line("accept")
        screen.wait(ASK)
        screen.line("y")
        screen.prompt("[AGENT] You:")
    assert bench.read("notes.txt") == "one\ntwo\n"
    assert "1. write notes" in server.turns[1].json["messages"][0]["content"]


def test_choosing_a_model_by_number_and_by_name(bench, terminal):
    with ScriptedModel([Turn("one"), Turn("two")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("model")
        screen.wait("Number or name of the model")
        assert "*  1  gpt-4.1-nano (openai)" in screen.lines
        screen.line("2")
        screen.wait("Model: gpt-4.1-mini")
        screen.prompt(times=2)
        config = bench.home / ".nebula" / "config.json"
        assert json.loads(config.read_text(encoding="utf-8"))["model"] == "gpt-4.1-mini"
        screen.line("hi")
        screen.prompt(times=3)
        screen.line("model gpt-4.1-nano")
        screen.wait("Model: gpt-4.1-nano")
        screen.prompt(times=4)
        screen.line("hi again")
        screen.prompt(times=5)
        screen.line("model no-such")
        screen.wait("no-such", times=2)
    assert [request.json["model"] for request in server.turns] == ["gpt-4.1-mini", "gpt-4.1-nano"]
    assert json.loads(config.read_text(encoding="utf-8"))["model"] == "gpt-4.1-nano"
    rows = sqlite3.connect(bench.home / ".nebula" / "memory.db").execute("SELECT model_used FROM sessions").fetchall()
    assert rows == [("gpt-4.1-nano",)]


@pytest.mark.parametrize("key", [CTRL_C, ESCAPE])
def test_interrupting_a_turn(bench, terminal, key):
    with ScriptedModel([Turn("late", fault=Fault.slow(30)), Turn("Here again.")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("think long")
        screen.wait("waiting for the model · ")
        server.wait_until(lambda: len(server.turns) == 1)
        screen.send(key)
        screen.wait("Interrupted")
        screen.prompt(times=2)
        assert "waiting for" not in screen.text, "the live line is gone"
        screen.wait("[AGENT] You: think long", times=2)  # it goes back to where it was typed
        screen.send(CTRL_C)
        screen.line("still there?")
        screen.wait("Here again.")
        screen.prompt(times=3)
    assert prompts_sent(server)[-1] == "still there?"


def test_interrupting_at_an_approval(bench, terminal):
    with ScriptedModel([Turn("Act one.", [CREATE]), Turn("Again.")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("write")
        screen.wait(ASK)
        screen.send(CTRL_C)
        screen.wait("Interrupted")
        screen.prompt(times=2)
        screen.line("go on")
        screen.wait("Again.")
    assert not (bench.project / "notes.txt").exists()


def test_control_c_clears_the_line_and_twice_leaves(bench, terminal):
    with ScriptedModel([]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.send("half a thought")
        screen.wait("half a thought")
        screen.send(CTRL_C)
        screen.send(CTRL_C)
        screen.wait("Press Ctrl-C again to leave.")
        screen.prompt(times=2)
        screen.send(CTRL_C)
        assert screen.ended() == 0
    assert server.turns == []


@pytest.mark.parametrize("word", ["/nosuch", "/nosuch do it", "/helpp", "/review"])
def test_an_unknown_slash_word_is_not_sent(bench, terminal, word):
    with ScriptedModel([]) as server:
        screen = terminal(server, columns=200)
        screen.prompt()
        screen.line(word)
        screen.wait("not sent to the model")
        screen.prompt(times=2)
        screen.line("exit")
        assert screen.ended() == 0
    assert server.turns == []


def test_several_lines(bench, terminal):
    with ScriptedModel([Turn("ok")]) as server:
        screen = terminal(server)
        screen.prompt()
        for text, key in (("一行目", ALT_ENTER), ("two", CTRL_J), ("three\\", ENTER)):
            screen.send(text)
            screen.wait(text)
            screen.send(key)
        screen.line("four")
        screen.prompt(times=2)
    assert prompts_sent(server) == ["一行目\ntwo\nthree\nfour"]


def test_a_line_that_a_program_types_ends_with_a_line_feed(bench, terminal):
    with ScriptedModel([Turn("", [CREATE]), Turn("ok")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.child.sendline("write it")
        screen.wait(ASK)
        screen.child.sendline("y")
        screen.prompt(times=2)
        screen.child.sendline("exit")
        assert screen.ended() == 0
    assert bench.read("notes.txt") == "one\ntwo\n"


def test_a_long_paste_is_folded_and_sent_whole(bench, terminal):
    text = "\n".join(f"行 {number}" for number in range(30))
    with ScriptedModel([Turn("ok"), Turn("ok")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.send("look: ")
        screen.paste(text)
        screen.wait("look: [pasted 30 lines]")
        screen.send(ENTER)
        screen.prompt(times=2)
        screen.send(UP)
        screen.wait("look: [pasted 30 lines]", times=2)
        screen.send(ENTER)
        screen.prompt(times=3)
    assert prompts_sent(server) == [f"look: {text}"] * 2
    assert "行 29" not in screen.text


def test_a_long_prompt_of_an_earlier_session_comes_back_folded(bench, terminal):
    (bench.home / ".nebula").mkdir()
    lines = "\n".join(f"+line {number}" for number in range(40))
    (bench.home / ".nebula" / "history").write_text(f"\n# 2026-01-01 10:00:00\n{lines}\n", encoding="utf-8")
    with ScriptedModel([Turn("Answered.")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.send(UP)
        screen.wait("[pasted 39 lines]")
        screen.send(ENTER)
        screen.wait("Answered.")
    assert prompts_sent(server) == ["\n".join(f"line {number}" for number in range(40))]


def test_a_key_that_was_typed_is_not_in_the_history_file(bench, terminal):
    with ScriptedModel([Turn("ok")]) as server:
        screen = terminal(server, OPENAI_API_KEY="sk-very-secret-key")
        screen.prompt()
        screen.line("is sk-very-secret-key valid?")
        screen.prompt(times=2)
        screen.send(CTRL_D)
        screen.ended()
    history = (bench.home / ".nebula" / "history").read_text(encoding="utf-8")
    assert "is [redacted] valid?" in history and "sk-very-secret-key" not in history


def test_a_line_that_waits_is_in_the_history_should_we_be_killed(bench, terminal):
    never = threading.Event()
    with ScriptedModel([Turn("", until=never), Turn("ok")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("work")
        server.wait_until(lambda: len(server.turns) == 1)
        screen.line("then 星雲")
        screen.wait("› then 星雲 ⏎")
        screen.child.kill(signal.SIGKILL)
        never.set()
        screen = terminal(server, "-c")
        screen.prompt()
        screen.send(UP)
        screen.wait("[AGENT] You: then 星雲")


def test_lines_that_waited_and_come_back_together_are_no_single_command(bench, terminal):
    never = threading.Event()
    with ScriptedModel([Turn("", until=never)]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("work")
        server.wait_until(lambda: len(server.turns) == 1)
        screen.line("/model")
        screen.line("then this")
        screen.wait("› /model ⏎ then this ⏎")
        screen.send(CTRL_C)
        screen.wait("… then this")
        never.set()
        screen.send(BEGINNING + CTRL_D * len("work\n"))  # the turn came to nothing: its prompt stands before them
        screen.wait("[AGENT] You: /model")
        screen.send(ENTER)
        screen.wait("/model takes one line; nothing was done.")


def test_what_is_typed_during_a_turn_is_sent_after_it_and_never_answers_a_question(bench, terminal):
    answer = threading.Event()
    script = [Turn("", [CREATE], until=answer), Turn("First done."), Turn("Second done.")]
    with ScriptedModel(script) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("write")
        server.wait_until(lambda: len(server.turns) == 1)
        screen.line("y")
        screen.wait("› y ⏎")
        answer.set()
        screen.wait(ASK)
        assert not (bench.project / "notes.txt").exists()
        screen.line("n")
        screen.wait("Second done.")
        screen.prompt(times=3)
    assert prompts_sent(server)[-1] == "y"
    assert not (bench.project / "notes.txt").exists()


def test_completion_of_commands_and_files(bench, terminal):
    bench.write("src/domain/entity.py", "")
    bench.write("src/main.py", "")
    with ScriptedModel([Turn("ok")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.send("/con")
        screen.wait("what is sent with the next prompt")
        screen.send(TAB)
        screen.wait("You: /context")
        screen.send(CTRL_C)
        screen.send("explain @enti")
        screen.wait("src/domain/entity.py")
        screen.send(TAB)
        screen.wait("explain @src/domain/entity.py")
        screen.send(ENTER)
        screen.line("please")
        screen.prompt(times=2)
    assert prompts_sent(server) == ["explain @src/domain/entity.py please"]


def test_backstage_shows_the_tools(bench, terminal):
    bench.write("a.txt", "alpha\n")
    script = [Turn("", [Call("readFile", {"path": "a.txt"})]), Turn("Read.")]
    with ScriptedModel(script * 2) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("look")
        screen.prompt(times=2)
        assert "readFile" not in screen.text
        screen.send(CTRL_O)
        screen.wait("backstage")
        screen.line("look again")
        screen.prompt(times=3)
    assert '· readFile\n  {"path": "a.txt"}' in screen.text
    assert "alpha" in screen.text


def test_the_status_line(bench, terminal):
    with ScriptedModel([Turn("ok")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.wait("agent · gpt-4.1-nano · context 0 % · 0 tokens")
        screen.line("hi")
        screen.wait("120 tokens")


def test_japanese_words(bench, terminal):
    with ScriptedModel([Turn("書きます。", [CREATE]), Turn("完了。")]) as server:
        screen = terminal(server, NEBULA_LANG="ja")
        screen.prompt()
        screen.line("書いて")
        screen.wait("実行してもよろしいですか？ (y/N):")
        assert "新しいファイルを作成します: notes.txt (+2 −0)" in screen.lines
        screen.line("ｙ")
        screen.wait("完了。")
        screen.prompt(times=2)
    assert bench.read("notes.txt") == "one\ntwo\n"


def test_a_prompt_written_in_the_editor(bench, terminal):
    editor = bench.write("editor", "#!/bin/sh\nprintf '%s in the editor' \"$(cat $1)\" > $1\n")
    editor.chmod(0o755)
    with ScriptedModel([Turn("ok")]) as server:
        screen = terminal(server, EDITOR=str(editor))
        screen.prompt()
        screen.send("begun")
        screen.wait("begun")
        screen.send(CTRL_G)
        screen.wait("begun in the editor")
        screen.send(ENTER)
        screen.prompt(times=2)
    assert prompts_sent(server) == ["begun in the editor"]


def test_the_file_at_work_is_named_where_somebody_wants_it(bench, terminal):
    bench.write("src/slow.py", "x\n")
    seen = threading.Event()
    script = [Turn("", [Call("readFile", {"path": "src/slow.py"})]), Turn("late", until=seen)]
    with ScriptedModel(script) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("/curtain paths")
        screen.prompt(times=2)
        screen.line("look")
        screen.wait("· src/slow.py")
        seen.set()
        screen.prompt(times=3)
        assert "src/slow.py" not in screen.text
    config = json.loads((bench.home / ".nebula" / "config.json").read_text(encoding="utf-8"))
    assert config["curtain"] == "paths"


def test_what_has_been_printed_is_not_drawn_again(bench, terminal):
    with ScriptedModel([Turn("A unique sentence.", [CREATE]), Turn("The end.", fault=Fault.slow(1))]) as server:
        screen = terminal(server, "--yes")
        screen.prompt()
        screen.line("go")
        screen.prompt(times=2)
    assert screen.raw.count("A unique sentence.") == 1
    assert not re.search(r"\x1b\[2J|\x1b\[\?1049h", screen.raw), "neither cleared nor another screen"
    interlude = screen.raw.split("A unique sentence.")[1].split("The end.")[0]
    assert not re.search(r"\x1b\[\d*[ABHJ]", interlude), "the live line moves on its own line only"


def test_the_prompt_is_written_as_it_is_called(bench, terminal):
    with ScriptedModel([Turn("", [CREATE]), Turn("ok")]) as server:
        screen = terminal(server)
        screen.prompt()
        assert "[AGENT] You: " in screen.raw
        screen.line("write")
        screen.wait(ASK)
        screen.line("y")
        screen.prompt(times=2)
    assert "Go ahead? (y/N): " in screen.raw
