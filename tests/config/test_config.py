"""Settings: which layer wins, what a project may not say, and what is told about a broken file."""

import json
import os

import pytest

from nebula.config import ConfigError, load_settings, remember_trust, save_choice


@pytest.fixture
def places(tmp_path):
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    (project / ".nebula").mkdir(parents=True)
    return home, project


def load(places, env=None, **overrides):
    home, project = places
    return load_settings(str(project), {"NEBULA_HOME": str(home), **(env or {})}, overrides)


def write(folder, **keys):
    path = folder / "config.json"
    path.write_text(json.dumps(keys), encoding="utf-8")
    return path


def test_defaults(places):
    settings = load(places)
    assert settings.model == "gpt-4.1-nano"
    assert settings.max_bytes == 524288
    assert settings.max_rounds == 100
    assert settings.allow_ext == (".py", ".md", ".txt", ".json", ".yaml", ".yml")
    assert settings.check_timeout_s == 120
    assert settings.repair_rounds == 2
    assert settings.auto_summary is False
    assert settings.memory_path == os.path.join(settings.home, "memory.db")


def test_precedence_is_command_line_environment_project_user_default(places):
    home, project = places
    write(home, model="from-user")
    assert load(places).model == "from-user"
    write(project / ".nebula", model="from-project")
    assert load(places).model == "from-project"
    env = {"NEBULA_MODEL": "from-environment"}
    assert load(places, env).model == "from-environment"
    settings = load(places, env, model="from-command-line")
    assert settings.model == "from-command-line"
    assert settings.origins["model"] == "command line"


def test_a_value_not_given_on_the_command_line_does_not_count(places):
    assert load(places, {"NEBULA_MODEL": "m"}, model=None).model == "m"


@pytest.mark.parametrize(
    "key, value",
    [
        ("openai_base_url", "http://evil.example/v1"),
        ("gemini_base_url", "http://evil.example"),
        ("ollama_host", "http://evil.example"),
        ("provider", "ollama"),
        ("trusted_folders", ["/"]),
        ("database_path", "/tmp/x"),
        ("allow_ext", [".sh"]),
        ("index_url", "postgres://evil.example"),
    ],
)
def test_a_project_may_not_set_endpoint_root_or_approval(places, key, value):
    _, project = places
    before = load(places)
    write(project / ".nebula", **{key: value})
    settings = load(places)
    assert getattr(settings, key) == getattr(before, key)
    assert any(f"'{key}'" in remark for remark in settings.remarks)


def test_a_dotenv_of_the_project_is_not_read(places):
    _, project = places
    (project / ".env").write_text("OPENAI_API_KEY=stolen\nOPENAI_BASE_URL=http://evil.example\n", encoding="utf-8")
    settings = load(places)
    assert settings.openai_api_key == ""
    assert "evil" not in settings.openai_base_url


def test_unknown_key_names_the_nearest_known_one(places):
    home, _ = places
    write(home, modle="x", curtian="quiet")
    remarks = load(places).remarks
    assert any("'modle'" in r and "did you mean 'model'?" in r for r in remarks)
    assert any("did you mean 'curtain'?" in r for r in remarks)


def test_a_key_in_a_file_is_refused_with_the_place_it_belongs(places):
    home, _ = places
    write(home, openai_api_key="sk-1")
    settings = load(places)
    assert settings.openai_api_key == ""
    assert any("environment" in remark and "sk-1" not in remark for remark in settings.remarks)


def test_a_broken_file_is_named_with_its_line_and_left_alone(places):
    home, _ = places
    path = home / "config.json"
    path.write_text('{\n  "model": "a",\n  oops\n}', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"config\.json, line 3"):
        load(places)
    text = path.read_text(encoding="utf-8")
    settings = load_settings(str(places[1]), {"NEBULA_HOME": str(home / "other")})
    with pytest.raises(ConfigError, match="line 3"):
        save_choice(type(settings)(home=str(home)), model="b")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("text", ["[]", "3", '"x"', "[" * 100_000])
def test_a_file_that_is_no_object(places, text):
    (places[0] / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"config\.json"):
        load(places)


@pytest.mark.parametrize(
    "keys, part",
    [
        ({"model": 3}, "'model': expected a text"),
        ({"max_rounds": 0}, "'max_rounds': expected a whole number of 1 or more"),
        ({"max_rounds": True}, "'max_rounds'"),
        ({"checks": "pytest"}, "'checks': expected a list of texts"),
        ({"curtain": "loud"}, "'curtain': expected one of quiet, paths"),
        ({"auto_summary": 1}, "'auto_summary': expected true or false"),
        ({"check_timeout_s": 0}, "'check_timeout_s': expected a number of seconds"),
    ],
)
def test_a_value_of_the_wrong_kind(places, keys, part):
    write(places[0], **keys)
    with pytest.raises(ConfigError, match=part):
        load(places)


def test_environment_values_are_checked(places):
    with pytest.raises(ConfigError, match="EC_MAX_BYTES='many': expected a whole number"):
        load(places, {"EC_MAX_BYTES": "many"})


@pytest.mark.parametrize("text", ["py,.md", ".py;md", " py , .MD "])
def test_extensions_by_comma_or_semicolon(places, text):
    assert load(places, {"EC_ALLOW_EXT": text}).allow_ext == (".py", ".md")


def test_language_comes_from_the_locale_unless_said(places):
    assert load(places, {"LANG": "ja_JP.UTF-8"}).lang == "ja"
    assert load(places, {"LANG": "de_DE.UTF-8"}).lang == "en"
    assert load(places, {"LANG": "ja_JP.UTF-8", "NEBULA_LANG": "en"}).lang == "en"


def test_saving_a_choice_keeps_the_rest_and_the_file_private(places):
    home, _ = places
    write(home, curtain="paths", mine="kept")
    save_choice(load(places), model="gpt-4.1-mini")
    saved = json.loads((home / "config.json").read_text(encoding="utf-8"))
    assert saved == {"curtain": "paths", "mine": "kept", "model": "gpt-4.1-mini"}
    assert os.stat(home / "config.json").st_mode & 0o077 == 0
    assert [p.name for p in home.iterdir()] == ["config.json"]


def test_trust_is_remembered_for_this_folder_only(places, tmp_path):
    assert load(places).trust is False
    assert load(places, {"NEBULA_TRUST": "1"}).trust is True
    remember_trust(load(places))
    assert load(places).trust is True
    other = tmp_path / "other"
    other.mkdir()
    assert load_settings(str(other), {"NEBULA_HOME": str(places[0])}).trust is False


def test_keys_do_not_show_in_the_representation(places):
    settings = load(places, {"OPENAI_API_KEY": "sk-secret", "GEMINI_API_KEY": "g-secret", "EC_TOKEN": "t-secret"})
    assert "secret" not in repr(settings)


def test_only_the_projects_own_checks_need_trust(places):
    home, project = places
    write(home, checks=["mine"])
    assert load(places).allowed_checks == ("mine",)
    write(project / ".nebula", checks=["theirs"])
    settings = load(places)
    assert settings.checks_need_trust
    assert settings.allowed_checks == ()
    assert load(places, {"NEBULA_TRUST": "1"}).allowed_checks == ("theirs",)


def test_a_key_loses_the_line_break_of_the_file_it_came_from(places):
    assert load(places, {"OPENAI_API_KEY": " sk-1\r\n"}).openai_api_key == "sk-1"


@pytest.mark.parametrize("layer", ["command line", "environment", "project", "user"])
def test_an_empty_text_says_nothing(places, layer):
    home, project = places
    if layer == "user":
        write(home, model="")
    else:
        write(home, model="from-user")
    if layer == "project":
        write(project / ".nebula", model="")
    env = {"NEBULA_MODEL": ""} if layer == "environment" else {}
    settings = load(places, env, model="" if layer == "command line" else None)
    assert settings.model == ("gpt-4.1-nano" if layer == "user" else "from-user")


def test_the_home_may_begin_with_a_tilde(places, monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere")
    assert load_settings(str(places[1]), {"NEBULA_HOME": "~/stars"}).home == "/somewhere/stars"


@pytest.mark.timeout(10)
def test_a_pipe_or_a_folder_in_the_place_of_the_file_hangs_nobody(places):
    _, project = places
    os.mkfifo(project / ".nebula/config.json")
    assert load(places).model == "gpt-4.1-nano"
    (project / ".nebula/config.json").unlink()
    (project / ".nebula/config.json").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        load(places)
