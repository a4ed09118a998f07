"""The MCP servers of an editor beside those of a project and of the user."""

from __future__ import annotations

from typing import Any

from nebula.config import Settings
from nebula.server.acp.servers import with_editors_servers
from nebula.tools.external.configured import configured_servers
from nebula.value import replace

EDITOR = [{"name": "theirs", "command": "srv", "args": ["${KEY}"], "env": []}]
KEYS = {"KEY": "secret"}


def settings(root: str, **said: Any) -> Settings:
    bare = Settings(root=root)
    origin = {"project": bare.project_config_path}.get(said.pop("origin"), "user")
    return replace(bare, origins={"mcp_servers": origin}, **said)


def test_a_trusted_projects_server_gets_nothing_of_the_environment(tmp_path: Any) -> None:
    project = {"planted": {"command": "srv", "args": ["${KEY}"], "env": {"A": "${KEY}"}, "read_only": ["x"]}}
    own = {"mine": {"command": "srv", "args": ["${KEY}"]}}
    found = with_editors_servers(
        settings(
            str(tmp_path),
            mcp_servers=project,
            overruled={"mcp_servers": own},
            origin="project",
            trusted=frozenset({"mcp_servers"}),
        ),
        EDITOR,
    )
    servers = {each.name: each for each in configured_servers(found, KEYS)}
    assert servers["planted"].args == ("${KEY}",) and servers["planted"].env == (("A", "${KEY}"),)
    assert servers["planted"].read_only == frozenset()
    assert servers["mine"].args == ("secret",) and servers["theirs"].args == ("secret",)


def test_an_untrusted_projects_server_does_not_join(tmp_path: Any) -> None:
    project = {"planted": {"command": "srv"}}
    said = settings(str(tmp_path), mcp_servers=project, origin="project")
    assert [each.name for each in configured_servers(with_editors_servers(said, EDITOR), KEYS)] == ["theirs"]


def test_a_server_of_the_users_own_file_counts_more(tmp_path: Any) -> None:
    said = settings(str(tmp_path), mcp_servers={"theirs": {"command": "own"}}, origin="user")
    (server,) = configured_servers(with_editors_servers(said, EDITOR), KEYS)
    assert server.command == "own"
