"""Reading the layers: what each may say, and what is wrong with it.

Keys for the models come from the environment alone and are never written anywhere. Whatever is wrong with a project's
file costs a remark, never the turn: it is a stranger's. What is wrong with the user's own settings is an error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from nebula.config.brought_along import are_extensions_trusted, brought_along
from nebula.config.checks import ConfigError
from nebula.config.hooks import hook_problems
from nebula.config.parsing import MAX_CONFIG_BYTES, parse_object, printable
from nebula.config.settings import NOBODY, PROJECT, TABLE, Settings
from nebula.config.user_file import read_user_file, trusted_commands
from nebula.errors import NebulaError
from nebula.files.home import nebula_home
from nebula.files.reading import read_below
from nebula.language import Sentence, language_of
from nebula.value import replace

MAX_REMARKS = 10
MAX_SHOWN = 60


def load_settings(
    root: str | None = None, environ: Mapping[str, str] | None = None, overrides: Mapping[str, Any] | None = None
) -> Settings:
    """Return the settings of all layers, each read once. `overrides` is the command line; a value of None there means
    "not said"."""
    env = os.environ if environ is None else environ
    bare = Settings(home=nebula_home(env), root=os.path.abspath(root or os.getcwd()))
    remarks: list[Sentence] = []
    shared, project = _project_layers(bare, remarks)
    layers = [
        ("default", {"lang": language_of(env)}),
        (bare.config_path, _user_layer(bare.config_path, remarks)),
        (bare.shared_servers_path, shared),
        (bare.project_config_path, project),
        ("environment", _environment_layer(env)),
        ("command line", overrides or {}),
    ]
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    overruled: dict[str, Any] = {}
    for origin, layer in layers:
        said = {key: each for key, each in layer.items() if each not in (None, "")}  # an empty string says nothing
        if origin in (bare.shared_servers_path, bare.project_config_path):
            overruled |= {key: values[key] for key in said if key in values}
        values |= said
        origins |= dict.fromkeys(said, origin)
    settings = replace(bare, **values, overruled=overruled, origins=origins, remarks=_at_most(MAX_REMARKS, remarks))
    is_said = settings.trust or env.get("NEBULA_TRUST") == "1"
    settings = replace(settings, brought_along=brought_along(settings.root))
    extensions = is_said or are_extensions_trusted(settings)
    everything = frozenset(each.name for each in TABLE.values() if each.runs)
    settings = replace(settings, trusted=everything if is_said else trusted_commands(settings))
    trust = is_said or (bool(settings.commands) and not settings.needs_trust)
    return replace(settings, trust=trust, trust_extensions=extensions)


def _user_layer(path: str, remarks: list[Sentence]) -> dict[str, Any]:
    layer: dict[str, Any] = {}
    for key, said in read_user_file(path).items():
        if key == "hooks":
            remarks += (
                Sentence("{path}: {problem}", path=printable(path), problem=each) for each in hook_problems(said)
            )
        if _is_known(key):
            layer[key] = _checked(path, key, said)
        else:
            remarks.append(_unknown(path, key))
    return layer


def _project_layers(bare: Settings, remarks: list[Sentence]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what `.mcp.json` says and what the project's config.json says; of servers that both name the latter's."""
    project = _project_layer(bare, remarks)
    if not os.path.lexists(bare.shared_servers_path):
        return {}, project  # the usual case: its reader need not be loaded
    from nebula.config.shared_servers import read_shared_servers

    servers = read_shared_servers(bare.root, remarks)
    if servers and "mcp_servers" in project:
        project["mcp_servers"] = {**servers, **project["mcp_servers"]}
        servers = {}
    return ({"mcp_servers": servers} if servers else {}), project


def _project_layer(bare: Settings, remarks: list[Sentence]) -> dict[str, Any]:
    path = bare.project_config_path
    layer: dict[str, Any] = {}
    if not os.path.lexists(path):
        return layer  # the usual case: the careful reader need not be loaded
    try:
        data = read_below(bare.root, ".nebula/config.json", MAX_CONFIG_BYTES)
        found = parse_object(path, data) if data is not None else {}
    except NebulaError as problem:
        remarks.append(_ignored(problem))
        return layer
    for key, said in found.items():
        if not _is_known(key):
            remarks.append(_unknown(path, key))
        elif TABLE[key].file < PROJECT:
            place = printable(path)
            remarks.append(
                Sentence(
                    "{path}: '{key}' is not for a project to set and was ignored; put it into your own config.json",
                    path=place,
                    key=key,
                )
            )
        else:
            try:
                layer[key] = _checked(path, key, said)
            except ConfigError as problem:
                remarks.append(_ignored(problem))
    return layer


def _environment_layer(env: Mapping[str, str]) -> dict[str, Any]:
    layer: dict[str, Any] = {}
    for each in TABLE.values():
        for variable in each.variables:
            text = env.get(variable, "").strip()  # a key from a file often brings its line break along
            if text:
                try:
                    layer[each.name] = each.check(int(text) if type(each.default) is int else text)
                except ValueError:
                    raise _unfit(variable, text, ConfigError("expected a whole number")) from None
                except ConfigError as problem:
                    raise _unfit(variable, text, problem) from None
    return layer


def _is_known(key: str) -> bool:
    return key in TABLE and TABLE[key].file != NOBODY


def _checked(path: str, key: str, said: Any) -> Any:
    try:
        return TABLE[key].check(said)
    except ConfigError as problem:
        raise ConfigError("{path}: '{key}': {problem}", path=printable(path), key=key, problem=problem) from None


def _unfit(variable: str, text: str, problem: ConfigError) -> ConfigError:
    return ConfigError(
        "{variable}='{text}': {problem}", variable=variable, text=printable(text, MAX_SHOWN), problem=problem
    )


def _ignored(problem: NebulaError) -> Sentence:
    return Sentence("Ignored: {problem}", problem=problem)


def _unknown(path: str, key: str) -> Sentence:
    place, name = printable(path), printable(key, MAX_SHOWN)
    if "key" in key.lower() or "token" in key.lower():
        return Sentence(
            "{path}: unknown key '{key}'; keys are read from the environment ({variables}) and never from a file",
            path=place,
            key=name,
            variables=", ".join(variable for each in TABLE.values() if each.secret for variable in each.variables),
        )
    from difflib import get_close_matches

    near = get_close_matches(name, filter(_is_known, TABLE), n=1)
    if near:
        return Sentence("{path}: unknown key '{key}'; did you mean '{near}'?", path=place, key=name, near=near[0])
    return Sentence("{path}: unknown key '{key}'", path=place, key=name)


def _at_most(limit: int, remarks: Sequence[Sentence]) -> tuple[Sentence, ...]:
    if len(remarks) <= limit:
        return tuple(remarks)
    rest = Sentence("… and {count} more remarks on config files", count=len(remarks) - limit)
    return (*remarks[:limit], rest)
