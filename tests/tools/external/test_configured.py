"""Which MCP servers count, and what of their entries: the user's word, a project's only once it is trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nebula.config import ConfigError, Settings, load_settings, remember_trust
from nebula.tools.external.configured import ExternalServer, configured_servers, describe_entry, origin_of_server
from nebula.tools.external.tool import offered_name

OWN = {"notes": {"command": "notes", "env": {"KEY": "${NOTES_KEY}"}, "read_only": ["search"]}}
THEIRS = {"theirs": {"command": "run-me", "args": ["${NOTES_KEY}"], "read_only": ["everything"]}}


class Places:
    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir()
        (self.project / ".nebula").mkdir(parents=True)

    def settings(self, own: Any = None, theirs: Any = None) -> Settings:
        for path, said in ((self.home, own), (self.project / ".nebula", theirs)):
            if said is not None:
                (path / "config.json").write_text(json.dumps({"mcp_servers": said}))
        return load_settings(str(self.project), {"NEBULA_HOME": str(self.home)})


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def test_the_users_servers_take_keys_from_the_environment(places: Places) -> None:
    (server,) = configured_servers(places.settings(OWN), {"NOTES_KEY": "k-123"})
    assert (server.command, server.env, server.read_only) == ("notes", (("KEY", "k-123"),), {"search"})
    assert server.secrets == ("k-123",) and server.cwd == str(places.project)


def test_an_entry_is_taken_as_it_is_written(places: Places) -> None:
    said = {
        "run": {"command": "go", "args": ["-k", "${A}${B}${NONE}."], "cwd": "/srv"},
        "web": {"url": "http://h/mcp", "headers": {"Authorization": "Bearer ${A}", "X": "y"}, "timeout_s": 3},
    }
    settings = places.settings(said)
    home = settings.home
    assert configured_servers(settings, {"A": "a-1", "B": "b-2", "C": "c-3"}) == (
        ExternalServer("run", command="go", args=("-k", "a-1b-2."), cwd="/srv", secrets=("a-1", "b-2"), home=home),
        ExternalServer(
            "web",
            url="http://h/mcp",
            headers=(("Authorization", "Bearer a-1"), ("X", "y")),
            cwd=str(places.project),
            timeout_s=3,
            secrets=("a-1",),
            home=home,
        ),
    )
    trusted = remember_trust(places.settings(None, {"theirs": {"command": "x"}}))
    [theirs, *_] = configured_servers(trusted, {})
    assert theirs == ExternalServer("theirs", command="x", cwd=str(places.project), home=home)
    assert origin_of_server(trusted, "theirs") == str(places.project / ".nebula/config.json")


def test_a_projects_servers_count_once_it_is_trusted(places: Places) -> None:
    settings = places.settings(OWN, THEIRS)
    assert settings.needs_trust
    assert [each.name for each in configured_servers(settings, {})] == ["notes"]
    trusted = remember_trust(settings)
    theirs, own = configured_servers(trusted, {"NOTES_KEY": "k-123"})
    assert (own.name, theirs.name) == ("notes", "theirs")
    assert theirs.read_only == frozenset(), "only the user says what merely reads"
    assert theirs.args == ("${NOTES_KEY}",), "a project is given no key"


def test_a_server_is_told_by_the_file_that_names_it_and_without_its_keys(places: Places) -> None:
    own = str(places.home / "config.json")
    assert origin_of_server(places.settings(OWN), "notes") == own
    both = remember_trust(places.settings(OWN, THEIRS))
    assert origin_of_server(both, "notes") == own
    assert origin_of_server(both, "theirs") == str(places.project / ".nebula/config.json")
    (server,) = configured_servers(places.settings({"n": {"command": "go", "args": ["-x", "y"]}}, {}), {})
    assert describe_entry(server) == "go -x y"
    assert describe_entry(ExternalServer("w", url="https://me:secret@host/mcp")) == "https://host/mcp"


def test_a_project_without_servers_of_its_own_leaves_the_users(places: Places) -> None:
    trusted = remember_trust(places.settings(None, THEIRS))
    assert [each.name for each in configured_servers(trusted, {})] == ["theirs"], "the user has none"
    assert origin_of_server(trusted, "theirs") == str(places.project / ".nebula/config.json")


def test_a_shared_file_of_the_project_counts_like_its_own_config(places: Places) -> None:
    shared = {
        "one": {"command": "a"},
        "theirs": {"command": "b"},
        "bad": {"command": 3},
        "old": {"type": "sse", "url": "x"},
    }
    (places.project / ".mcp.json").write_text(json.dumps({"mcpServers": shared}))
    settings = places.settings(OWN)
    assert settings.needs_trust and [each.name for each in configured_servers(settings, {})] == ["notes"]
    remarks = "\n".join(map(str, settings.remarks))
    assert "'bad'" in remarks and "type sse are not supported" in remarks and len(settings.remarks) == 2
    found = configured_servers(remember_trust(settings), {"NOTES_KEY": "k"})
    assert [each.name for each in found] == ["one", "theirs", "notes"]
    both = remember_trust(places.settings(None, THEIRS))
    assert {each.name: each.command for each in configured_servers(both, {})} == {
        "one": "a",
        "theirs": "run-me",
        "notes": "notes",
    }
    shared["one"]["command"] = "something-else"
    (places.project / ".mcp.json").write_text(json.dumps({"mcpServers": shared}))
    assert places.settings(None, THEIRS).needs_trust, "what changed is asked about again"


@pytest.mark.parametrize("said", ["{", "[]", '{"mcpServers": []}', '{"mcpServers": {"a": 3}}'])
def test_what_is_wrong_with_a_shared_file_costs_a_remark(places: Places, said: str) -> None:
    (places.project / ".mcp.json").write_text(said)
    settings = places.settings()
    assert len(settings.remarks) == 1 and ".mcp.json" in str(settings.remarks[0]) and not settings.mcp_servers


def test_trust_ends_where_the_servers_change(places: Places) -> None:
    remember_trust(places.settings(None, THEIRS))
    assert places.settings(None, THEIRS).trust
    changed = {"theirs": {"command": "something-else"}}
    assert places.settings(None, changed).needs_trust


def test_the_users_entry_wins_over_a_projects_of_the_same_name(places: Places) -> None:
    settings = remember_trust(places.settings(OWN, {"notes": {"command": "evil"}}))
    assert [each.command for each in configured_servers(settings, {})] == ["notes"]


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ([], "an object of servers"),
        ({"a__b": {"command": "x"}}, "letters, digits"),
        ({"a": {}}, "either 'command' or 'url'"),
        ({"a": {"command": "x", "url": "http://y"}}, "either 'command' or 'url'"),
        ({"a": {"command": ["x"]}}, "expected a string"),
        ({"a": {"command": "x", "args": "y"}}, "list of strings"),
        ({"a": {"command": "x", "env": {"K": 1}}}, "object of strings"),
        ({"a": {"command": "x", "readonly": []}}, "known are"),
        ({"a": {"command": "x", "timeout_s": 0}}, "seconds above 0"),
    ],
)
def test_what_is_wrong_with_an_entry_is_said(places: Places, said: Any, hint: str) -> None:
    with pytest.raises(ConfigError, match=hint):
        places.settings(said)


def test_names_are_what_every_provider_takes() -> None:
    assert offered_name("wiki", "pages.search/v2") == "wiki__pages_search_v2"
    assert len(offered_name("wiki", "x" * 100)) == 64
