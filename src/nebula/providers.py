"""The providers of models: one row says all that the rest of the program knows about each.

A new provider is a connector in a file of its own (`nebula.llm`) and a row here: its settings, the command line, the
choice of a model and doctor follow; what its models cost is in `nebula.llm.known_models`. It stands below the settings
and imports next to nothing, since `--help` names the providers and must load neither settings nor connectors.
"""

from __future__ import annotations

from nebula.value import value

DEFAULT_MODEL = "gpt-4.1-nano"


@value
class Provider:
    name: str
    label: str
    """What people call it."""
    connector: str
    """`module:Class`, loaded on first use."""
    default_address: str = ""
    address_variables: tuple[str, ...] = ()
    """Those that say where it is. The last one that is set counts; the setting is called like the first."""
    key_variable: str = ""
    """The one that holds its key, and the setting's name; empty where none is needed."""
    default_model: str = ""
    """Empty: the first that it lists."""
    offered: tuple[str, ...] = ()
    """Offered first where models are listed."""
    own_names: str = ""
    """A pattern of model names that are this provider's wherever they are said."""
    is_free: bool = False
    in_home: str = ""
    """A folder in nebula's home whose files are its models: it is set up where there is one."""

    @property
    def key(self) -> str:
        """The setting that holds its key."""
        return self.key_variable.lower()

    @property
    def address(self) -> str:
        """The setting that says where it is."""
        return self.address_variable.lower()

    @property
    def address_variable(self) -> str:
        return self.address_variables[0] if self.address_variables else ""


PROVIDERS = {
    row.name: row
    for row in (
        Provider(
            "openai",
            "OpenAI",
            "nebula.llm.openai:OpenAIModel",
            default_address="https://api.openai.com/v1",
            address_variables=("OPENAI_BASE_URL",),
            key_variable="OPENAI_API_KEY",
            default_model=DEFAULT_MODEL,
            offered=("gpt-4.1-nano", "gpt-4.1-mini"),
            own_names=r"gpt-(?!oss)|chatgpt-|o\d",
        ),
        Provider(
            "gemini",
            "Gemini",
            "nebula.llm.gemini:GeminiModel",
            default_address="https://generativelanguage.googleapis.com",
            address_variables=("GEMINI_BASE_URL",),
            key_variable="GEMINI_API_KEY",
            default_model="gemini-2.5-flash",
            own_names=r"gemini-",
        ),
        Provider(
            "anthropic",
            "Anthropic",
            "nebula.llm.anthropic:AnthropicModel",
            default_address="https://api.anthropic.com",
            address_variables=("ANTHROPIC_BASE_URL",),
            key_variable="ANTHROPIC_API_KEY",
            default_model="claude-sonnet-5-5",
            offered=("claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"),
            own_names=r"claude-",
        ),
        Provider(
            "ollama",
            "Ollama",
            "nebula.llm.ollama:OllamaModel",
            default_address="http://127.0.0.1:11434",
            address_variables=("OLLAMA_HOST", "EC_OLLAMA_ENDPOINT"),
            is_free=True,
        ),
        Provider("local", "llama.cpp", "nebula.llm.local.connector:LocalModel", is_free=True, in_home="models"),
    )
}
