"""The text of `config.yaml`, the settings of a data folder: what it says, and how it is when it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.files.reading import UnreadableFile, read_below
from nebula.graph.errors import BadFile
from nebula.language import Sentence
from nebula.value import value

if TYPE_CHECKING:
    from nebula.graph.formats.yaml_tree import Branch

FILE = "config.yaml"
MAX_BYTES = 1 << 20
TEMPLATE = """\
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
    max_files_per_folder: int = 100
    default_llm_provider: str = "openai"
    default_model: str = "gpt-4"
    summary_token_limit: int = 50
    auto_summary: bool = False
    ollama_host: str = "http://localhost:11434"

    @property
    def suggested_model(self) -> str:
        """Return `provider/model`; "" for the one that stands there when the file is made, which nobody chose.

        A suggestion only: the folder may come from another machine.
        """
        chosen = self.default_llm_provider, self.default_model
        return "" if chosen == PLACEHOLDER else "/".join(chosen)


PLACEHOLDER = GraphSettings().default_llm_provider, GraphSettings().default_model


def suggested_model(root: str, data_dir: str) -> str:
    """Return the model that the `config.yaml` of `data_dir`, a path below `root`, suggests, without opening the graph;
    "" where the file makes no sense, which is told when the graph is opened."""
    try:
        data = read_below(root, f"{data_dir}/{FILE}", MAX_BYTES)
        return "" if data is None else parse_settings(data)[0].suggested_model
    except (UnreadableFile, BadFile):
        return ""


def parse_settings(data: bytes) -> tuple[GraphSettings, Sentence | None]:
    """Return the settings in `data`, and what is odd about them. Raises BadFile."""
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
        default_llm_provider=_word(values, "default_llm_provider", default.default_llm_provider, odd),
        default_model=_word(values, "default_model", default.default_model, odd),
        summary_token_limit=_whole(values, "summary_token_limit", default.summary_token_limit, odd),
        auto_summary=values.text("auto_summary").lower() in ("true", "yes", "on"),
        ollama_host=ollama.text("host", default.ollama_host),
    )
    return settings, odd[0] if odd else None


def _is_untouched(text: str) -> bool:
    """True for the file as first written: saves loading YAML on every start."""
    lines = text.split("\n")
    return lines[:1] + lines[3:] == [line for line in TEMPLATE.split("\n") if "{now}" not in line]


def _word(values: Branch, key: str, default: str, odd: list[Sentence]) -> str:
    item = values.get(key)
    if isinstance(item, type(values)):  # a list or a mapping
        odd.append(Sentence("settings.{key} must be a word (line {line})", key=key, line=item.line + 1))
    return values.text(key, default)


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
