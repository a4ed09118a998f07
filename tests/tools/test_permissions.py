"""What is held for the rest of a session, how far it reaches, and taking it back."""

from __future__ import annotations

from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from nebula.events import ProposedChange
from nebula.tools.permissions import ALL_WRITES, NETWORK, Permission, Permissions

TOOL = Permission("call", "notes__add", "described so")


def written(*paths: str) -> list[ProposedChange]:
    return [ProposedChange(path, "changed") for path in paths]


PATHS = ("src/a.py", "src/b/c.py", "docs/x.md", "a.txt", "b.txt")


@given(st.lists(st.sampled_from(["src/*", "*.md", "a.txt", "*"]) | st.none(), max_size=6))
def test_a_yes_to_files_reaches_as_far_as_its_pattern_until_it_is_taken_back(history: list[str | None]) -> None:
    permissions, held = Permissions(), list[str]()
    for pattern in history:
        if pattern is None:
            permissions.take_back()
            held.clear()
        else:
            permissions.give(Permission("write", pattern))
            held += [pattern] if pattern not in held else []
    assert [each.name for each in permissions.listed] == held
    for path in PATHS:
        assert permissions.reach(written(path)) is any(fnmatchcase(path, pattern) for pattern in held)


def test_files_are_reached_only_if_each_is() -> None:
    permissions = Permissions()
    assert not permissions.reach([]) and not permissions.reach(written("a"))
    for pattern in ("src/*", "*.md"):
        permissions.give(Permission("write", pattern))
    assert permissions.reach(written("src/a.py", "b.md"))
    assert not permissions.reach(written("src/a.py", "b.txt"))


def test_a_permission_of_another_kind_reaches_no_file() -> None:
    permissions = Permissions()
    permissions.give(Permission("call", "*", ""))
    permissions.give(NETWORK)
    assert not permissions.reach(written("network", "a.txt"))


def test_a_tool_is_allowed_as_it_was_described() -> None:
    permissions = Permissions()
    permissions.give(TOOL)
    assert permissions.has(TOOL)
    assert not permissions.has(Permission("call", "notes__add", "described otherwise"))
    assert not permissions.has(Permission("write", "notes__add", "described so"))
    assert not permissions.has(NETWORK)


def test_one_name_is_taken_back_or_all() -> None:
    permissions = Permissions()
    for each in (TOOL, NETWORK, Permission("write", "*.py")):
        permissions.give(each)
        permissions.give(each)
    assert permissions.take_back("nothing") == () and len(permissions.listed) == 3
    assert permissions.take_back("notes__add") == (TOOL,)
    assert not permissions.has(TOOL) and permissions.has(NETWORK)
    assert permissions.take_back() == (NETWORK, Permission("write", "*.py"))
    assert permissions.listed == () and permissions.take_back() == ()


def test_a_pattern_is_a_yes_to_what_is_written_and_to_nothing_else() -> None:
    permissions = Permissions()
    permissions.give(Permission("write", "*.md"))
    kinds = {kind: ProposedChange("a.md", kind) for kind in ("created", "changed", "deleted", "mode", "link")}
    kinds["other mode"] = ProposedChange("a.md", "changed", beyond_text=True)
    assert [kind for kind, change in kinds.items() if permissions.reach([change])] == ["created", "changed"]
    assert not permissions.reach(kinds.values())
    permissions.give(ALL_WRITES)
    assert permissions.reach(kinds.values())


def test_what_the_command_line_named_is_listed_and_taken_back() -> None:
    permissions = Permissions({".env", ".git"})
    permissions.give(Permission("secret", "key.pem"))
    named = (Permission("named", ".env"), Permission("named", ".git"))
    assert permissions.listed == (*named, Permission("secret", "key.pem"))
    assert permissions.secrets == (".env", ".git", "key.pem")
    assert permissions.take_back(".env") == named[:1] and permissions.named == {".git"}
    assert permissions.take_back() == (named[1], Permission("secret", "key.pem")) and not permissions.named
