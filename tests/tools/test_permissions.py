"""What is held for the rest of a session, how far it reaches, and taking it back."""

from __future__ import annotations

from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from nebula.tools.permissions import NETWORK, Permission, Permissions

TOOL = Permission("call", "notes__add", "described so")
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
        assert permissions.reach([path]) is any(fnmatchcase(path, pattern) for pattern in held)


def test_files_are_reached_only_if_each_is() -> None:
    permissions = Permissions()
    assert not permissions.reach([]) and not permissions.reach(["a"])
    for pattern in ("src/*", "*.md"):
        permissions.give(Permission("write", pattern))
    assert permissions.reach(["src/a.py", "b.md"])
    assert not permissions.reach(["src/a.py", "b.txt"])


def test_a_permission_of_another_kind_reaches_no_file() -> None:
    permissions = Permissions()
    permissions.give(Permission("call", "*", ""))
    permissions.give(NETWORK)
    assert not permissions.reach(["network"]) and not permissions.reach(["a.txt"])


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
