"""The user's own config.json: read, added to, and where trust in a project's commands is remembered."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from nebula.config.brought_along import extensions_fingerprint
from nebula.config.checks import ConfigError
from nebula.config.parsing import MAX_CONFIG_BYTES, parse_object, printable
from nebula.config.settings import DECLINED, Settings
from nebula.files.descriptors import closed_after, naming
from nebula.files.digest import digest
from nebula.files.home import make_private
from nebula.files.reading import UnreadableFile, read_limited
from nebula.files.syscalls import REAL
from nebula.value import replace


def read_user_file(path: str) -> dict[str, Any]:
    """Return what a configuration file of the user says. Raises ConfigError. The file may be a link: it is the
    user's."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as problem:
        raise _unreadable(path, problem.strerror or type(problem).__name__) from None
    try:
        return parse_object(path, read_limited(handle, path, MAX_CONFIG_BYTES))
    except UnreadableFile as problem:
        raise _unreadable(path, problem.reason) from None
    finally:
        os.close(handle)


def save_choice(settings: Settings, **choices: Any) -> None:
    """Put choices of the user, such as the model, into the user's config.json and leave the rest of it as it is.

    None takes a choice back. A file that cannot be read as JSON is not overwritten.
    """
    _change(settings.config_path, lambda found: {**found, **choices})


def save_server(settings: Settings, name: str, entry: dict[str, Any] | None) -> bool:
    """Put an entry of `mcp_servers` into the user's config.json, or take it out; return whether there was one."""
    before: list[bool] = []

    def edit(found: dict[str, Any]) -> dict[str, Any]:
        known = found.get("mcp_servers")
        servers = dict(known) if isinstance(known, dict) else {}
        before.append(name in servers)
        servers = {key: each for key, each in {**servers, name: entry}.items() if each is not None}
        return {**found, "mcp_servers": servers or None}

    _change(settings.config_path, edit)
    return before[0]


def _change(path: str, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Read, edit and write the file while no other process does."""
    folder = os.path.dirname(path)
    make_private(folder)
    with closed_after(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        kept = {key: each for key, each in edit(read_user_file(path)).items() if each is not None}
        _write(path, json.dumps(kept, ensure_ascii=False, indent=2) + "\n")


def trusted_commands(settings: Settings) -> frozenset[str]:
    """Return the names of the settings whose very commands the user trusted in this very folder, wherever a link to it
    stands."""
    known = _known(settings)
    return frozenset(name for name, said in settings.commands if known.get(name) == _fingerprint(said))


def is_declined(settings: Settings) -> bool:
    """Return whether the user was asked about these very checks before, and said no."""
    return _known(settings).get("checks") == DECLINED + _fingerprint(settings.checks)


def remember_trust(settings: Settings, *names: str, trusted: bool = True) -> Settings:
    """Remember that what was shown is trusted from now on, or is not: the commands of the settings of these `names`, by
    default all. Changed commands are asked about again."""
    shown = {name: said for name, said in settings.commands if not names or name in names}
    mark = "" if trusted else DECLINED
    known = _known(settings) | {name: mark + _fingerprint(said) for name, said in shown.items()}
    this = _remember(settings, "trusted_folders", "; ".join(f"{name}: {said}" for name, said in known.items()))
    runs = settings.trusted | shown.keys() if trusted else settings.trusted - shown.keys()
    settings = replace(settings, trusted_folders={**settings.trusted_folders, **this}, trusted=runs)
    return replace(settings, trust=not settings.needs_trust)


def _known(settings: Settings) -> dict[str, str]:
    """Return the fingerprints that were remembered of the folder's commands, by setting. One that older versions wrote
    has no name: it says nothing of what was shown."""
    said = settings.trusted_folders.get(os.path.realpath(settings.root), "") if settings.trusted_folders else ""
    parts = (each.partition(": ") for each in said.split("; "))
    return {name: fingerprint for name, _, fingerprint in parts if fingerprint}


def remember_extensions(settings: Settings) -> Settings:
    """Remember that the project's skills and commands, as they are, are trusted from now on."""
    this = _remember(settings, "trusted_extensions", extensions_fingerprint(settings))
    return replace(settings, trusted_extensions={**settings.trusted_extensions, **this}, trust_extensions=True)


def _remember(settings: Settings, key: str, word: str) -> dict[str, str]:
    this = {os.path.realpath(settings.root): word}

    def add(found: dict[str, Any]) -> dict[str, Any]:
        known = found.get(key)
        return {**found, key: {**(known if isinstance(known, dict) else {}), **this}}

    _change(settings.config_path, add)
    return this


def _fingerprint(commands: object) -> str:
    return "sha256:" + digest(json.dumps(commands, sort_keys=True).encode())


def _unreadable(path: str, reason: str) -> ConfigError:
    return ConfigError("{path} cannot be read ({reason}); fix or remove it", path=printable(path), reason=reason)


def _write(path: str, text: str) -> None:
    """Write the file whole or not at all: where the user's links lead, with the mode that it has; a new one is readable
    by its owner alone."""
    path = os.path.realpath(path)
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        mode = 0o600
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with naming(path), os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(descriptor, mode)
            file.write(text)
            file.flush()
            REAL.fsync(descriptor)
        os.replace(temporary, path)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
