"""`config.yaml` of seed §6.3, made on first use; read again whenever somebody edited it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.graph.disk import numbered_paths
from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.files import ABSENT, Signature
from nebula.graph.errors import BadFile
from nebula.graph.ids import now
from nebula.language import Sentence
from nebula.value import value

if TYPE_CHECKING:
    from nebula.graph.formats.yaml_tree import Branch

FILE = "config.yaml"
_MAX_BYTES = 1 << 20
_TEMPLATE = """\
version: "1.0"
created: {now}
updated: {now}
settings:
  max_files_per_folder: 100
  default_llm_provider: openai
  default_model: gpt-4
  summary_token_limit: 50
providers:
  openai:
    api_key_env: OPENAI_API_KEY
  gemini:
    api_key_env: GEMINI_API_KEY
  ollama:
    host: http://localhost:11434
"""


@value
class GraphSettings:
    max_files_per_folder: int = numbered_paths.DEFAULT_STEP
    default_llm_provider: str = "openai"
    default_model: str = "gpt-4"
    summary_token_limit: int = 50
    auto_summary: bool = False
    ollama_host: str = "http://localhost:11434"
    is_default: bool = True
    """Nobody has changed the file since it was made: its model is a placeholder, not a choice."""

    @property
    def suggested_model(self) -> str:
        """`provider/model`, or nothing. A suggestion only: the folder may come from another machine."""
        return "" if self.is_default else f"{self.default_llm_provider}/{self.default_model}"


class SettingsFile:
    """What is wrong with the file costs a remark (`problem`); the default then stands."""

    def __init__(self, disk: DataFolder) -> None:
        self._disk = disk
        self._signature: Signature | None = ABSENT
        self._settings = GraphSettings()
        self.problem: Sentence | None = None

    def ensure(self) -> None:
        """Makes the file if there is none."""
        if not self._disk.exists(FILE):
            self._disk.replace(FILE, _TEMPLATE.format(now=now()).encode("utf-8"))

    def read(self) -> GraphSettings:
        """The settings as they stand in the file now; the defaults where it is silent or makes no sense."""
        current = self._disk.signature(FILE)
        if current != self._signature:
            self._signature = current
            try:
                data = self._disk.read(FILE, _MAX_BYTES)
                self._settings, self.problem = (GraphSettings(), None) if data is None else _parse(data)
            except BadFile as error:
                self._settings, self.problem = GraphSettings(), error.reason
        return self._settings


def _parse(data: bytes) -> tuple[GraphSettings, Sentence | None]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadFile(FILE, Sentence("not UTF-8")) from None
    if _is_untouched(text):
        return GraphSettings(), None
    from nebula.graph.formats.yaml_tree import load

    root = load(text, FILE)
    values, ollama = root.branch("settings"), root.branch("providers").branch("ollama")
    odd = [] if root.get("settings") in (None, values) else [Sentence("settings is not a mapping")]
    default = GraphSettings()
    settings = GraphSettings(
        max_files_per_folder=min(_whole(values, "max_files_per_folder", default.max_files_per_folder, odd), 1000),
        default_llm_provider=values.text("default_llm_provider", default.default_llm_provider),
        default_model=values.text("default_model", default.default_model),
        summary_token_limit=_whole(values, "summary_token_limit", default.summary_token_limit, odd),
        auto_summary=values.text("auto_summary").lower() in ("true", "yes", "on"),
        ollama_host=ollama.text("host", default.ollama_host),
        is_default=False,
    )
    return settings, odd[0] if odd else None


def _is_untouched(text: str) -> bool:
    """True for the file as first written: saves loading YAML on every start."""
    lines = text.split("\n")
    return lines[:1] + lines[3:] == [line for line in _TEMPLATE.split("\n") if "{now}" not in line]


def _whole(values: Branch, key: str, default: int, odd: list[Sentence]) -> int:
    item = values.get(key)
    text = values.text(key)
    if item is None:
        return default
    if not text.isascii() or not text.isdigit() or int(text[:9]) < 1:
        sentence = "settings.{key} must be a whole number above zero (line {line})"
        odd.append(Sentence(sentence, key=key, line=item.line + 1))
        return default
    return int(text[:9])
