"""Vectors: optional, late, kept by content, fused with the words, and never in the way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from index.embedding_server import EmbeddingServer, vector
from index.project import Project, function
from index.tiny_onnx import write_model
from nebula.config.settings import Settings
from nebula.index.embedders.choose import make_embedder
from nebula.index.embedders.contract import Embedder
from nebula.index.embedders.endpoints import GeminiEmbedder, OllamaEmbedder, OpenAIEmbedder
from nebula.index.errors import IndexFailed
from nebula.index.index import Index
from nebula.index.ranking import meaning
from nebula.index.vectors import cosine, pack, unit
from nebula.llm.errors import BadReplyError, ModelError
from nebula.tools.code.code_index import open_index
from nebula.value import replace


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    server = EmbeddingServer()
    yield server
    server.close()


@pytest.fixture
def project(tmp_path: Path, url: str) -> Project:
    project = Project(tmp_path, url=url)
    project.write("garage.py", function("park_car", "brake") + function("wash_car", "water", "soap", "rinse", "dry"))
    project.write("clinic.py", function("visit_doctor", "appointment"))
    project.write("kitchen.py", function("boil_water", "kettle"))
    return project


def opened(project: Project, *embedders: Embedder) -> Index:
    index = Index.open(str(project.root), home=str(project.home), url=project.url)
    index.embedders = embedders
    return index


@pytest.mark.parametrize(
    ("make", "path", "header"),
    [
        (lambda url: OpenAIEmbedder("small", f"{url}/v1", "k3y"), "/v1/embeddings", ("authorization", "Bearer k3y")),
        (
            lambda url: GeminiEmbedder("emb-1", url, "k3y"),
            "/v1beta/models/emb-1:batchEmbedContents",
            ("x-goog-api-key", "k3y"),
        ),
        (lambda url: OllamaEmbedder("nomic-embed-text", url), "/api/embed", ("content-type", "application/json")),
    ],
)
def test_each_service_gives_vectors_in_order(server: EmbeddingServer, make, path: str, header: tuple[str, str]) -> None:  # type: ignore[no-untyped-def]
    embedder = make(server.url)
    found = embedder.embed(["one car", "two doctor"])
    assert found == [vector(text) for text in server.texts]
    assert server.paths == [path]
    assert server.headers[0][header[0]] == header[1]
    assert "k3y" not in embedder.name


def test_questions_and_passages_get_the_prefixes_a_model_wants(server: EmbeddingServer) -> None:
    embedder = OllamaEmbedder("multilingual-e5-large", server.url)
    embedder.embed(["text"])
    embedder.embed(["text"], is_question=True)
    assert server.texts == ["passage: text", "query: text"]


def test_a_refusal_is_a_sentence_and_an_odd_reply_too(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = OpenAIEmbedder("small", server.url, "k3y")
    server.fails_with = 401
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        embedder.embed(["text"])
    server.fails_with = 0
    monkeypatch.setattr(server, "reply", lambda path, body: {"data": []})
    with pytest.raises(BadReplyError):
        embedder.embed(["text"])


def test_a_choice_names_service_and_model() -> None:
    assert make_embedder("ollama/nomic-embed-text", Settings()).name == "ollama/nomic-embed-text"
    with pytest.raises(IndexFailed):
        make_embedder("nonsense", Settings())


def test_a_packed_vector_points_the_same_way() -> None:
    numbers = vector("the car is parked near the doctor and the kettle")
    assert cosine(unit(numbers), pack(numbers)) == pytest.approx(1.0, abs=0.01)


def test_meaning_finds_what_shares_no_word(project: Project, server: EmbeddingServer) -> None:
    with opened(project, OllamaEmbedder("m", server.url)) as index:
        index.sync()
        assert index.search("automobile") == []
        steps: list[tuple[int, int]] = []
        assert index.embed(progress=lambda done, total: steps.append((done, total))) == 4
        assert steps[-1] == (4, 4)
        assert index.search("automobile")[0].path == "garage.py"
        assert index.status().embedded == 4
        assert index.status().embedder == "ollama/m"


def test_renames_and_unchanged_parts_are_not_embedded_again(project: Project, server: EmbeddingServer) -> None:
    with opened(project, OllamaEmbedder("m", server.url)) as index:
        index.sync()
        index.embed()
        (project.root / "clinic.py").rename(project.root / "hospital.py")
        project.write(
            "garage.py", function("park_car", "brake", "again") + function("wash_car", "water", "soap", "rinse", "dry")
        )
        index.sync()
        server.texts.clear()
        assert index.embed() == 1
        assert len(server.texts) == 1 and "again" in server.texts[0]
        assert index.status().embedded_total == 5


def test_words_answer_when_the_embedder_does_not(project: Project, server: EmbeddingServer) -> None:
    with opened(project, OllamaEmbedder("m", server.url)) as index:
        index.sync()
        index.embed()
        server.fails_with = 500
        assert index.search("kettle")[0].path == "kitchen.py"


def test_a_changed_embedder_fills_while_the_old_one_answers(project: Project, server: EmbeddingServer) -> None:
    old, new = OllamaEmbedder("old", server.url), OllamaEmbedder("new", server.url)
    with opened(project, old) as index:
        index.sync()
        index.embed()
    with opened(project, new, old) as index:
        assert index.answering() is old
        assert index.search("automobile")[0].path == "garage.py"
        index.embed()
        assert index.answering() is new
        assert index.search("automobile")[0].path == "garage.py"


def test_a_model_in_a_file_embeds_here(tmp_path: Path) -> None:
    model = write_model(tmp_path / "models" / "tiny")
    embedder = make_embedder(f"onnx/{model}", Settings())
    (car,) = embedder.embed(["park the car"])
    (automobile, doctor) = embedder.embed(["an automobile", "doctor"], is_question=True)
    assert cosine(unit(automobile), pack(car)) > 0.8 > 0.2 > cosine(unit(doctor), pack(car))
    project = Project(tmp_path / "p")
    project.write("garage.py", function("park_car", "brake"))
    project.write("kitchen.py", function("boil_water", "kettle"))
    with opened(project, embedder) as index:
        index.sync()
        assert index.search("physician automobile") == []
        assert index.embed() == 2
        assert index.search("automobile")[0].path == "garage.py"
    assert make_embedder(f"onnx/{model}", Settings()).name == embedder.name
    write_model(model.parent)
    model.write_bytes(model.read_bytes() + b"\x2a\x00")
    assert make_embedder(f"onnx/{model}", Settings()).name != embedder.name, "another content is another model"


def test_a_file_that_is_no_model_is_a_sentence_and_words_answer(tmp_path: Path) -> None:
    with pytest.raises(IndexFailed, match="is not there"):
        make_embedder(f"onnx/{tmp_path}/model.onnx", Settings())
    model = write_model(tmp_path / "tiny")
    model.write_bytes(b"nonsense")
    embedder = make_embedder(f"onnx/{model}", Settings())
    with pytest.raises(IndexFailed, match="cannot be loaded"):
        embedder.embed(["text"])


def test_the_chosen_embedder_fills_while_the_one_before_answers_by_settings(tmp_path: Path, url: str) -> None:
    project = Project(tmp_path, url=url)
    project.write("garage.py", function("park_car", "brake"))
    first, second = write_model(tmp_path / "one"), write_model(tmp_path / "two")
    settings = Settings(root=str(project.root), home=str(project.home), index_url=url, embedder=f"onnx/{first}")
    with open_index(settings) as index:
        index.sync()
        index.embed()
    with open_index(replace(settings, embedder=f"onnx/{second}")) as index:
        answering = index.answering()
        assert answering is not None and answering.name.startswith(f"onnx/{first}#")
        assert index.search("automobile")[0].path == "garage.py"
        assert index.status().embedded == 0
        index.embed()
        answering = index.answering()
        assert answering is not None and answering.name.startswith(f"onnx/{second}#")
    first.unlink()
    with open_index(replace(settings, embedder=f"onnx/{second}")) as index:
        assert len(index.embedders) == 1, "what is gone cannot be asked"


def test_filling_can_be_stopped_and_goes_on_later(project: Project, server: EmbeddingServer) -> None:
    stop = threading.Event()
    stop.set()
    with opened(project, OllamaEmbedder("m", server.url)) as index:
        index.sync()
        assert index.embed(stop) == 0
        assert index.embed() == 4
        assert index.embed() == 0


def test_a_filter_is_heeded_before_the_nearest_are_cut(
    project: Project, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meaning, "NEAREST", 3)
    for i in range(5):
        project.write(f"a/near{i}.py", function(f"automobile_{i}", "car"))
    project.write("b/far.py", function("vehicle", "wheel", "engine", "brake"))
    project.write("b/far.js", "function vehicle() {\n  wheel(); engine(); door()\n}\n")
    with opened(project, OllamaEmbedder("nomic-embed-text", server.url)) as index:
        index.sync()
        index.embed()
        assert {hit.path for hit in index.search("physician car car", path_prefix="b/")} == {"b/far.py", "b/far.js"}
        (hit,) = index.search("physician car car", path_prefix="b/", language="javascript")
        assert hit.path == "b/far.js"
        assert index.search("physician car car", path_prefix="c/") == []
