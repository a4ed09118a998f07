"""Settings and where they come from.

Precedence: command line > environment > project `.nebula/config.json` > `~/.nebula/config.json` > defaults.
Keys for the models come from the environment alone and are never written anywhere. A project's own file may not
decide where requests go, who approves or what runs: such keys are ignored there with a remark, and `checks` count
only once the folder is trusted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from nebula.errors import EXIT_USAGE, NebulaError
from nebula.value import replace, value

DEFAULT_MODEL = "gpt-4.1-nano"
OFFERED_MODELS = ("gpt-4.1-nano", "gpt-4.1-mini")
DEFAULT_EXTENSIONS = (".py", ".md", ".txt", ".json", ".yaml", ".yml")


class ConfigError(NebulaError):
    """A setting that cannot be used. The sentence names the place and says what to do."""

    exit_code = EXIT_USAGE


@value
class Settings:
    """Everything that can be set, resolved. `origins` tells which layer each key came from."""

    home: str = ""
    root: str = ""
    model: str = DEFAULT_MODEL
    provider: str = ""
    lang: str = "en"
    openai_api_key: str = ""
    openai_base_url: str = "https://api.openai.com/v1"
    gemini_api_key: str = ""
    gemini_base_url: str = "https://generativelanguage.googleapis.com"
    ollama_host: str = "http://127.0.0.1:11434"
    planner: str = ""
    executor: str = ""
    allow_ext: tuple[str, ...] = DEFAULT_EXTENSIONS
    max_bytes: int = 524_288
    mcp_url: str = ""
    rag_url: str = ""
    index_url: str = ""
    audit_log: str = ""
    token: str = ""
    max_rounds: int = 100
    context_tokens: int = 0
    """How much of a model's context to use; 0 is what the model is known to take."""
    checks: tuple[str, ...] = ()
    check_timeout_s: float = 120.0
    repair_rounds: int = 2
    auto_summary: bool = False
    curtain: str = "quiet"
    backstage: bool = False
    database_path: str = ""
    trusted_folders: tuple[str, ...] = ()
    trust: bool = False
    """The project's own commands may run: remembered for this folder, or said for this start."""
    origins: Mapping[str, str] = MappingProxyType({})
    remarks: tuple[str, ...] = ()
    """Things in the files that were not used, one sentence each, for stderr."""

    def __repr__(self) -> str:
        """Without the keys: a representation may end in a log."""
        return f"Settings(root={self.root!r}, model={self.model!r}, provider={self.provider!r})"

    @property
    def config_path(self) -> str:
        return os.path.join(self.home, "config.json")

    @property
    def memory_path(self) -> str:
        return self.database_path or os.path.join(self.home, "memory.db")

    @property
    def checks_need_trust(self) -> bool:
        """The checks are the project's own, and nobody has trusted this folder yet. What the user set is the user's."""
        from_project = self.origins.get("checks") == os.path.join(self.state_dir, "config.json")
        return bool(self.checks) and from_project and not self.trust

    @property
    def allowed_checks(self) -> tuple[str, ...]:
        return () if self.checks_need_trust else self.checks

    @property
    def state_dir(self) -> str:
        return os.path.join(self.root, ".nebula")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def _positive(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("expected a whole number of 1 or more")
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("expected a whole number, 0 or more")
    return value


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise ValueError("expected a number of seconds above 0")
    return float(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("expected a list of texts")
    return tuple(value)


def _one_of(*choices: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in choices:
            raise ValueError("expected one of " + ", ".join(choices))
        return str(value)

    return check


def _extensions(value: Any) -> tuple[str, ...]:
    parts = value.replace(";", ",").split(",") if isinstance(value, str) else _texts(value)
    cleaned = [part.strip().lower() for part in parts if part.strip()]
    return tuple(part if part.startswith(".") else "." + part for part in cleaned)


_provider = _one_of("openai", "gemini", "ollama")
_lang = _one_of("en", "ja")

USER_KEYS: Mapping[str, Callable[[Any], Any]] = {
    "model": _text,
    "provider": _provider,
    "lang": _lang,
    "openai_base_url": _text,
    "gemini_base_url": _text,
    "ollama_host": _text,
    "planner": _text,
    "executor": _text,
    "allow_ext": _extensions,
    "max_bytes": _positive,
    "max_rounds": _positive,
    "context_tokens": _count,
    "checks": _texts,
    "check_timeout_s": _seconds,
    "repair_rounds": _count,
    "auto_summary": _flag,
    "curtain": _one_of("quiet", "paths"),
    "backstage": _flag,
    "database_path": _text,
    "index_url": _text,
    "trusted_folders": _texts,
}
"""What a config.json may hold, each with the check that reads it."""

PROJECT_KEYS = frozenset(
    {
        "model",
        "lang",
        "planner",
        "executor",
        "max_rounds",
        "context_tokens",
        "checks",
        "check_timeout_s",
        "repair_rounds",
        "auto_summary",
        "curtain",
    }
)
"""What a project may set for itself: nothing that says where requests go, who approves, or which root and hooks."""

ENVIRONMENT: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "NEBULA_MODEL": ("model", _text),
    "NEBULA_PROVIDER": ("provider", _provider),
    "NEBULA_LANG": ("lang", _lang),
    "OPENAI_API_KEY": ("openai_api_key", _text),
    "OPENAI_BASE_URL": ("openai_base_url", _text),
    "GEMINI_API_KEY": ("gemini_api_key", _text),
    "GEMINI_BASE_URL": ("gemini_base_url", _text),
    "OLLAMA_HOST": ("ollama_host", _text),
    "EC_OLLAMA_ENDPOINT": ("ollama_host", _text),
    "EC_MODEL_NAME": ("executor", _text),
    "EC_ALLOW_EXT": ("allow_ext", _extensions),
    "EC_MAX_BYTES": ("max_bytes", lambda text: _positive(int(text))),
    "EC_MCP_URL": ("mcp_url", _text),
    "EC_RAG_URL": ("rag_url", _text),
    "EC_INDEX_URL": ("index_url", _text),
    "EC_AUDIT_LOG": ("audit_log", _text),
    "EC_TOKEN": ("token", _text),
}


def load_settings(
    root: str | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """Reads every layer once. `overrides` is the command line; a value of None there means "not said"."""
    env = os.environ if environ is None else environ
    home = nebula_home(env)
    folder = os.path.abspath(root or os.getcwd())
    remarks: list[str] = []
    layers = [
        ("default", {"lang": _language_of_locale(env)}),
        (os.path.join(home, "config.json"), _user_layer(home, remarks)),
        (os.path.join(folder, ".nebula", "config.json"), _project_layer(folder, remarks)),
        ("environment", _environment_layer(env)),
        ("command line", {key: value for key, value in (overrides or {}).items() if value is not None}),
    ]
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, layer in layers:
        for key, said in layer.items():
            if said == "":
                continue  # an empty text says nothing
            values[key] = said
            origins[key] = origin
    settings = Settings(home=home, root=folder, **values)
    trusted = settings.trust or env.get("NEBULA_TRUST") == "1" or folder in settings.trusted_folders
    return replace(settings, trust=trusted, origins=origins, remarks=tuple(remarks))


def nebula_home(environ: Mapping[str, str] | None = None) -> str:
    env = os.environ if environ is None else environ
    return os.path.abspath(os.path.expanduser(env.get("NEBULA_HOME") or "~/.nebula"))


def save_choice(settings: Settings, **choices: Any) -> None:
    """Puts choices of the user, such as the model, into the user's config.json and leaves the rest of it as it is.

    A file that cannot be read as JSON is not overwritten.
    """
    current = _read_json(settings.config_path) or {}
    _write_private(settings.config_path, json.dumps({**current, **choices}, ensure_ascii=False, indent=2) + "\n")


def remember_trust(settings: Settings) -> Settings:
    folders = tuple(dict.fromkeys((*settings.trusted_folders, settings.root)))
    save_choice(settings, trusted_folders=list(folders))
    return replace(settings, trusted_folders=folders, trust=True)


def _user_layer(home: str, remarks: list[str]) -> dict[str, Any]:
    path = os.path.join(home, "config.json")
    return _checked(path, _read_json(path) or {}, USER_KEYS, remarks)


def _project_layer(folder: str, remarks: list[str]) -> dict[str, Any]:
    path = os.path.join(folder, ".nebula", "config.json")
    found = _read_json(path) or {}
    for key in sorted(found.keys() & (USER_KEYS.keys() - PROJECT_KEYS)):
        remarks.append(f"{path}: '{key}' is not for a project to set and was ignored; put it into your own config.json")
    allowed = {key: value for key, value in found.items() if key not in USER_KEYS or key in PROJECT_KEYS}
    return _checked(path, allowed, USER_KEYS, remarks)


def _environment_layer(env: Mapping[str, str]) -> dict[str, Any]:
    layer: dict[str, Any] = {}
    for variable, (key, read) in ENVIRONMENT.items():
        text = env.get(variable, "").strip()  # a key from a file often brings its line break along
        if text:
            try:
                layer[key] = read(text)
            except ValueError as problem:
                raise ConfigError(f"{variable}={text!r}: {_reason(problem)}") from None
    return layer


def _checked(
    path: str, found: Mapping[str, Any], known: Mapping[str, Callable[[Any], Any]], remarks: list[str]
) -> dict[str, Any]:
    layer: dict[str, Any] = {}
    for key, said in found.items():
        read = known.get(key)
        if read is None:
            remarks.append(f"{path}: unknown key '{key}'" + _hint(key, list(known)))
            continue
        try:
            layer[key] = read(said)
        except ValueError as problem:
            raise ConfigError(f"{path}: '{key}': {_reason(problem)}") from None
    return layer


def _hint(key: str, known: Sequence[str]) -> str:
    if "key" in key.lower() or "token" in key.lower():
        return "; keys are read from the environment (OPENAI_API_KEY, GEMINI_API_KEY) and never from a file"
    import difflib

    near = difflib.get_close_matches(key, known, n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def _read_json(path: str) -> dict[str, Any] | None:
    try:
        # A pipe of that name, planted in a project, must not hang every start.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, encoding="utf-8-sig") as file:
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{path} cannot be read ({_reason(problem)}); mend or remove it") from None
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except json.JSONDecodeError as problem:
        place = f"line {problem.lineno}, column {problem.colno}"
        raise ConfigError(f"{path}, {place}: {problem.msg}; mend the file, it was left as it is") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply; mend the file, it was left as it is") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path}, line 1: expected an object {{…}}; mend the file, it was left as it is")
    return found


def _write_private(path: str, text: str) -> None:
    """Whole or not at all, readable by its owner alone."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _reason(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return problem.strerror or problem.__class__.__name__
    if isinstance(problem, UnicodeDecodeError):
        return "not UTF-8"
    text = str(problem)
    return "expected a whole number" if text.startswith("invalid literal for int") else text


def _language_of_locale(env: Mapping[str, str]) -> str:
    locale = env.get("LC_ALL") or env.get("LC_MESSAGES") or env.get("LANG") or ""
    return "ja" if locale.lower().startswith("ja") else "en"
