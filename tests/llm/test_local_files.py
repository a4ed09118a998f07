"""Models in files: what the header of a GGUF file says, and what of the machine such a model is given."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from nebula.config import load_settings
from nebula.language import explain_to
from nebula.llm.choose import choose_model, list_models
from nebula.llm.errors import ModelError, NotFoundError
from nebula.llm.local.connector import LocalModel, model_path
from nebula.llm.local.gguf import read_model_file
from nebula.llm.local.resources import MIB, chosen_resources
from scripted_model import refused_url

MODEL_FACTS = {
    "general.architecture": "llama",
    "llama.context_length": 8192,
    "llama.block_count": 2,
    "llama.embedding_length": 64,
    "llama.attention.head_count": 8,
    "llama.attention.head_count_kv": 4,
}
WITH_TOOLS = "{% for tool in tools %}{{ tool }}{% endfor %}"


def packed(value: Any) -> bytes:
    if isinstance(value, str):
        return struct.pack("<IQ", 8, len(value.encode())) + value.encode()
    if isinstance(value, list):
        items = b"".join(packed(each)[4:] for each in value)
        return struct.pack("<III", 9, 8 if isinstance(value[0], str) else 4, len(value)) + b"\0" * 4 + items
    return struct.pack("<II", 4, value)


def write_model(path: Path, facts: dict[str, Any], weights: int = 0) -> Path:
    pairs = b"".join(struct.pack("<Q", len(key)) + key.encode() + packed(each) for key, each in facts.items())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(facts)) + pairs + b"\0" * weights)
    return path


def test_the_header_tells_context_memory_and_tools(tmp_path: Path) -> None:
    vocabulary = {"tokenizer.ggml.tokens": [f"token {n}" for n in range(5000)]}
    facts = MODEL_FACTS | vocabulary | {"tokenizer.chat_template": WITH_TOOLS}
    model = read_model_file(str(write_model(tmp_path / "m.gguf", facts, weights=1000)))
    assert (model.context_length, model.takes_tools) == (8192, True)
    # two layers, four heads of eight numbers, once for keys and once for values, two bytes each
    assert model.cache_bytes_per_token == 2 * 4 * (8 + 8) * 2
    assert model.size == (tmp_path / "m.gguf").stat().st_size


def test_a_template_without_tools_is_told_from_none_at_all(tmp_path: Path) -> None:
    plain = write_model(tmp_path / "plain.gguf", MODEL_FACTS | {"tokenizer.chat_template": "{{ messages }}"})
    none = write_model(tmp_path / "none.gguf", MODEL_FACTS)
    assert read_model_file(str(plain)).takes_tools is False
    assert read_model_file(str(none)).takes_tools is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"PK\3\4 not a model", "it is not a GGUF file"),
        (b"GGUF" + struct.pack("<IQQ", 99, 0, 1), "its version is not known"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 60), "cut off"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"k" + struct.pack("<I", 77), "damaged"),
        (b"GGUF nonsense", "it is cut off"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "no model that answers"),
    ],
)
def test_what_is_no_model_is_said_in_one_sentence(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "m.gguf").write_bytes(content)
    with pytest.raises(NotFoundError, match=reason) as raised:
        read_model_file(str(tmp_path / "m.gguf"))
    assert reason not in explain_to("ja", raised.value)


def test_a_model_in_several_files_counts_them_all(tmp_path: Path) -> None:
    first = write_model(tmp_path / "big-00001-of-00002.gguf", MODEL_FACTS)
    (tmp_path / "big-00002-of-00002.gguf").write_bytes(b"\0" * 5000)
    assert read_model_file(str(first)).size == first.stat().st_size + 5000


def test_the_context_is_the_files_own_where_the_memory_allows_it(tmp_path: Path) -> None:
    model = read_model_file(str(write_model(tmp_path / "m.gguf", MODEL_FACTS | {"llama.context_length": 10_000_000})))
    little = chosen_resources(model, 1124 * MIB, cores=8)
    plenty = chosen_resources(model, 64_000 * MIB, cores=8)
    assert plenty.context == 10_000_000
    assert 4096 <= little.context < 500_000
    assert little.context * model.cache_bytes_per_token <= 100 * MIB
    assert (plenty.threads, chosen_resources(model, MIB, cores=1).threads) == (7, 1)
    assert (plenty.fits, chosen_resources(model, MIB // 2, cores=1).fits) == (True, False)


async def test_models_go_by_their_names_in_the_home(tmp_path: Path) -> None:
    for name in ("one.gguf", "deep/two.gguf", "big-00001-of-00002.gguf", "big-00002-of-00002.gguf", "mmproj-x.gguf"):
        write_model(tmp_path / "models" / name, MODEL_FACTS)
    model = LocalModel(environ={"NEBULA_HOME": str(tmp_path)})
    assert [each.name for each in await model.list_models()] == ["big-00001-of-00002", "deep/two", "one"]
    assert (await model.describe("deep/two")).context_length == 8192
    folder = str(tmp_path / "models")
    assert model_path("one", folder) == model_path("one.gguf", folder) == str(tmp_path / "models" / "one.gguf")
    assert model_path(str(tmp_path / "else.gguf"), folder) == str(tmp_path / "else.gguf")


async def test_without_any_file_it_says_where_to_put_one(tmp_path: Path) -> None:
    settings = load_settings(str(tmp_path), {"NEBULA_HOME": str(tmp_path), "NEBULA_PROVIDER": "local"})
    with pytest.raises(ModelError, match=f"no GGUF file in {tmp_path}/models"):
        await choose_model(settings)


async def test_a_file_in_the_home_answers_where_no_server_does(tmp_path: Path) -> None:
    write_model(tmp_path / "models" / "one.gguf", MODEL_FACTS)
    settings = load_settings(str(tmp_path), {"NEBULA_HOME": str(tmp_path), "OLLAMA_HOST": refused_url()})
    chosen = await choose_model(settings)
    assert (chosen.provider, chosen.name, chosen.context) == ("local", "one", 8192)
    assert "local" in dict(await list_models(settings))


async def test_a_project_cannot_name_a_file_of_its_own(tmp_path: Path) -> None:
    """llama.cpp reads what it is given: which file that is, a clone must not say."""
    home, project = tmp_path / "home", tmp_path / "project"
    write_model(home / "models" / "mine.gguf", MODEL_FACTS)
    write_model(home / "models" / "other.gguf", MODEL_FACTS)
    theirs = write_model(project / "theirs.gguf", MODEL_FACTS)
    (project / ".nebula").mkdir()

    async def chosen(wish: str) -> str:
        (project / ".nebula" / "config.json").write_text(f'{{"model": "{wish}"}}')
        settings = load_settings(str(project), {"NEBULA_HOME": str(home), "NEBULA_PROVIDER": "local"})
        return (await choose_model(settings)).name

    assert await chosen(f"local/{theirs}") == "mine"
    assert await chosen("local/../../project/theirs.gguf") == "mine"
    assert await chosen("local/other") == "other"
