"""Which language a file is written in, by its name. Any other name is text, and is cut into windows."""

from __future__ import annotations

import os

_SUFFIXES: dict[str, tuple[str, ...]] = {
    "python": (".py", ".pyi", ".pyw"),
    "javascript": (".js", ".jsx", ".mjs", ".cjs"),
    "typescript": (".ts", ".mts", ".cts"),
    "tsx": (".tsx",),
    "go": (".go",),
    "rust": (".rs",),
    "java": (".java",),
    "kotlin": (".kt", ".kts"),
    "c": (".c", ".h"),
    "cpp": (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".ipp"),
    "csharp": (".cs",),
    "ruby": (".rb", ".rake", ".gemspec"),
    "php": (".php",),
    "swift": (".swift",),
    "scala": (".scala", ".sc"),
    "sql": (".sql",),
    "bash": (".sh", ".bash", ".zsh"),
    "html": (".html", ".htm", ".vue", ".svelte"),
    "css": (".css",),
    "markdown": (".md", ".markdown", ".mdx"),
    "yaml": (".yaml", ".yml"),
    "json": (".json",),
    "toml": (".toml",),
}
_NAMES = {"Rakefile": "ruby", "Gemfile": "ruby", ".bashrc": "bash", "Cargo.lock": "toml", "Pipfile": "toml"}
_BY_SUFFIX = {suffix: language for language, suffixes in _SUFFIXES.items() for suffix in suffixes}


def language_of(path: str) -> str:
    """Return a key of `LANGUAGES`, or "" for text."""
    name = os.path.basename(path)
    return _NAMES.get(name) or _BY_SUFFIX.get(os.path.splitext(name)[1].lower(), "")
