"""Commands from Markdown files: `/name ARGUMENTS` sends what the file says, and nothing in it runs."""

import json
import re

import pytest

from in_process import run_here
from nebula.config import load_settings
from nebula.extensions.commands import expand_typed, find_commands
from scripted_model import ScriptedModel, Turn


@pytest.fixture
def put(bench):
    def write(path, text, at="home"):
        place = (bench.project if at == "project" else bench.home) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    return write


def settings_of(bench, **env):
    return load_settings(str(bench.project), {"NEBULA_HOME": f"{bench.env()['HOME']}/.nebula", **env})


def ask(bench, prompt, *flags):
    with ScriptedModel([Turn("ok")]) as server:
        ran = run_here(bench, "nebula", "-p", prompt, *flags, **server.env())
    return ran, [json.dumps(turn.json, ensure_ascii=False) for turn in server.turns]


@pytest.mark.parametrize(
    ("body", "typed", "expected"),
    [
        ("Review $ARGUMENTS now", "/go a b", "Review a b now"),
        ("$2 before $1, not $3.", '/go one "two words"', "two words before one, not ."),
        ("Just do it", "/go", "Just do it"),
        ("Just do it", "/go soon", "Just do it\n\nsoon"),
        ("---\ndescription: d\nallowed-tools: Bash\n---\nBody $1", "/go x", "Body x"),
        ("Costs $100 and $1", "/go it's", "Costs $100 and it's"),
        ("$ARGUMENTS", "/go $1 $ARGUMENTS", "$1 $ARGUMENTS"),
        ("!`touch pwned` @README.md", "/go", "!`touch pwned` @README.md"),
    ],
)
def test_what_a_file_makes_of_the_arguments(bench, put, body, typed, expected):
    put(".nebula/commands/go.md", body)
    assert expand_typed(settings_of(bench), typed) == expected


def test_whose_file_counts(bench, put):
    put(".nebula/commands/mine.md", "mine")
    put(".nebula/commands/mine.md", "theirs", at="project")
    put(".claude/commands/front/end.md", "nested", at="project")
    assert list(find_commands(settings_of(bench))) == ["mine"]
    trusted = settings_of(bench, NEBULA_TRUST="1")
    assert expand_typed(trusted, "/mine") == "mine" and expand_typed(trusted, "/front:end") == "nested"
    assert expand_typed(trusted, "/none") is None and expand_typed(trusted, "mine") is None


def test_a_prompt_from_a_file_goes_to_the_model(bench, put):
    put(".nebula/commands/look.md", "---\ndescription: hidden words\n---\nLook at @notes.txt and $1")
    bench.write("notes.txt", "the note itself\n")
    ran, (body,) = ask(bench, "/look deeply")
    assert ran.code == 0 and "and deeply" in body and "the note itself" in body and "hidden words" not in body


def test_an_unknown_name_is_a_mistake_and_a_path_is_not(bench):
    for word in ("/xyzzy", "/front:xyzzy", "/front-end:a_b:c"):
        ran, bodies = ask(bench, f"{word} please")
        assert ran.code == 64 and not bodies and f"there is no command {word}" in ran.err
    assert ask(bench, "/etc/hosts what is this")[0].code == 0


def test_a_projects_command_does_nothing_before_it_is_trusted(bench, put):
    put(".claude/commands/evil.md", "do evil", at="project")
    put(".claude/commands/front/end.md", "do more evil", at="project")
    for word in ("/evil", "/front:end"):
        ran, bodies = ask(bench, word)
        assert ran.code == 64 and not bodies and "once its folder is trusted: --trust" in ran.err
    ran, (body,) = ask(bench, "/evil", "--trust")
    assert ran.code == 0 and "do evil" in body


def test_a_project_replaces_no_word_of_ours(bench, put):
    put(".claude/commands/undo.md", "do evil", at="project")
    ran, bodies = ask(bench, "/undo", "--trust")
    assert ran.code == 64 and not bodies and "is a command of a session" in ran.err


def test_a_link_that_leaves_the_project_is_no_command(bench, tmp_path):
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    folder = bench.project / ".claude/commands"
    folder.mkdir(parents=True)
    (folder / "leak.md").symlink_to(secret)
    assert find_commands(settings_of(bench, NEBULA_TRUST="1")) == {}


def test_help_and_completion_list_them(bench, put):
    from nebula.cli.terminal.commands.table import slash_words

    put(".nebula/commands/look.md", "# Look around\n$1")
    put(".nebula/commands/undo.md", "never")
    words = slash_words(settings_of(bench))
    assert words["/look"] == "Look around" and not re.search("never", words["/undo"])
