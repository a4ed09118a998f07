"""Which model answers: what a name means, what the user chose, and what a project may not decide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nebula.config import load_settings
from nebula.llm.catalog import connect
from nebula.llm.choose import ChosenModel, choose_model, list_models, offered_models
from nebula.llm.contract import ModelNotice, ModelReply, ModelRequest, TextDelta, Usage
from nebula.llm.dialect.where_needed import DialectWhereNeeded
from nebula.llm.errors import AuthError, ModelError, NotFoundError, UnknownVendorError
from nebula.llm.gemini import GeminiModel
from nebula.llm.ollama import ollama_base_url
from nebula.llm.openai import OpenAIModel, add_call
from nebula.llm.replay import ReplayModel
from nebula.llm.wire import Draft, RawCall, read_arguments
from nebula.messages import AssistantMessage, AssistantToolUse, UserMessage
from rows import each_row
from scripted_model import ScriptedModel, Turn, refused_url


@each_row(
    ("given", "expected"),
    [
        ("", "http://127.0.0.1:11434"),
        ("localhost", "http://localhost:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("http://gpu.lan", "http://gpu.lan:11434"),
        ("https://gpu.lan", "https://gpu.lan"),
        ("https://gpu.lan:8443/ollama/", "https://gpu.lan:8443/ollama"),
        ("http://127.0.0.1:11434/", "http://127.0.0.1:11434"),
        ("http://127.0.0.1:11434/api", "http://127.0.0.1:11434"),
        ("::1", "http://[::1]:11434"),
        ("[::]:9", "http://127.0.0.1:9"),
        ("u:p@gpu.lan", "http://u:p@gpu.lan:11434"),
    ],
)
def test_ollama_host_as_people_write_it(given: str, expected: str) -> None:
    assert ollama_base_url(given) == expected


@each_row("base", ["", "/", "/v1beta", "/v1", "/v1beta/"])
async def test_the_gemini_address_may_or_may_not_have_its_version(base: str) -> None:
    with ScriptedModel() as server:
        model = GeminiModel(server.url + base, "k", environ={})
        await model.list_models()
        await model.aclose()
        assert server.requests[0].path == "/v1beta/models"


async def test_a_server_of_ones_own_needs_no_key() -> None:
    with ScriptedModel([Turn("hi")]) as server:
        model = connect("openai", base_url=server.openai_url, environ={})
        items = [item async for item in model.stream(ModelRequest("m", "", [UserMessage.new_prompt("x")]))]
        await model.aclose()
        assert "authorization" not in server.requests[0].headers
    assert isinstance(items[-1], ModelReply)


RECORDING = [{"text": "見ます 🦀", "tool_calls": [{"name": "readFile", "args": {"path": "a"}}]}, {"text": "Done."}]


async def test_a_recording_is_played_in_order_and_ends() -> None:
    model = ReplayModel(RECORDING, pace_s=0.001)
    assert model.provider == "replay"
    heard = []
    for _ in range(3):
        items = [item async for item in model.stream(ModelRequest("recording", "", []))]
        reply = items[-1]
        assert isinstance(reply, ModelReply)
        assert "".join(item.text for item in items if isinstance(item, TextDelta)) == reply.message.content
        heard.append(reply.message)
    use = AssistantToolUse("call_1", "readFile", "readFile", {"path": "a"}, {"path": "a"})
    assert heard[0] == AssistantMessage.new_tool_use("msg_1", "見ます 🦀", [use])
    assert [message.content for message in heard[1:]] == ["Done.", "The recording ends here."]


def calls_of(*fragments: dict[str, object]) -> list[tuple[str | None, str, object]]:
    calls: list[RawCall] = []
    for fragment in fragments:
        add_call(calls, fragment)
    return [(call.id, call.name, call.arguments) for call in calls]


def part(arguments: object, name: str = "", **more: object) -> dict[str, object]:
    return {**more, "function": {"arguments": arguments, **({"name": name} if name else {})}}


def test_tool_call_fragments_find_their_call_in_every_style() -> None:
    # by index, interleaved
    assert calls_of(
        part("", "f", index=0, id="a"), part("", "g", index=1, id="b"), part("{1", index=0), part("{2", index=1)
    ) == [("a", "f", "{1"), ("b", "g", "{2")]
    # every call with index 0, each with its own id
    assert calls_of(part("{}", "f", index=0, id="a"), part("{2", "g", index=0, id="b"), part("}", index=0)) == [
        ("a", "f", "{}"),
        ("b", "g", "{2}"),
    ]
    # no index
    assert calls_of(part("{", "f", id="a"), part("}"), part("{}", "g", id="b")) == [("a", "f", "{}"), ("b", "g", "{}")]
    # neither index nor id
    assert calls_of(part("{}", "f"), part("{}", "g")) == [(None, "f", "{}"), (None, "g", "{}")]
    # the id repeated with every fragment, arguments as an object
    assert calls_of(part("{", "f", index=0, id="a"), part("}", "f", index=0, id="a")) == [("a", "f", "{}")]
    assert calls_of(part({"p": 1}, "f", index=0, id="a")) == [("a", "f", {"p": 1})]


def test_half_an_emoji_waits_for_its_other_half() -> None:
    draft = Draft()
    assert [draft.add_text(piece) for piece in ("a\ud83e", "\udd80b", "\udc00", "\ud83e")] == ["a", "🦀b", "\ufffd", ""]
    assert draft.finish([]).message.content == "a🦀b\ufffd\ufffd"


HELLO = Turn("Hello.")


async def remark_of(found: ChosenModel) -> str:
    """What the user is told of the choice, before the first reply."""
    request = ModelRequest(found.name, "", [UserMessage.new_prompt("x")])
    items = [item async for item in found.connector.stream(request)]
    await found.connector.aclose()
    return str(items[0].text) if isinstance(items[0], ModelNotice) else ""


async def chosen(
    tmp_path: Path, env: dict[str, str], name: str = "", *, project: str = "", user: str = "", **more: str
) -> ChosenModel:
    """What is chosen with these variables, a project's model (or that of a role) and the user's own."""
    setting = more.get("role", "model")
    home, root = tmp_path / "home", tmp_path / "project"
    for folder, model in ((home, user), (root / ".nebula", project)):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps({setting: model} if model else {}), encoding="utf-8")
    settings = load_settings(str(root), {"NEBULA_HOME": str(home), "OLLAMA_HOST": refused_url()} | env)
    found = await choose_model(settings, name, **more)
    await found.connector.aclose()
    return found


def everything(server: ScriptedModel) -> dict[str, str]:
    return {name: value for each in ("openai", "gemini", "ollama") for name, value in server.env(each).items()}


@pytest.mark.parametrize(
    ("name", "expected", "asks"),
    [
        ("gpt-4.1-nano", ("openai", "gpt-4.1-nano"), False),
        ("o4-mini", ("openai", "o4-mini"), False),
        ("gemini-3-pro-preview", ("gemini", "gemini-3-pro-preview"), False),
        ("ollama/gpt-4.1-nano", ("ollama", "gpt-4.1-nano"), False),
        ("openai/org/model", ("openai", "org/model"), False),
        ("gpt-oss:20b", ("ollama", "gpt-oss:20b"), True),
        ("hermes3", ("ollama", "hermes3"), True),
        ("org/own-model", ("openai", "org/own-model"), True),
    ],
)
async def test_a_name_belongs_to_the_provider_that_lists_it(
    tmp_path: Path, name: str, expected: tuple[str, str], asks: bool
) -> None:
    models = {"openai": ["org/own-model"], "gemini": ["gemini-x"], "ollama": ["gpt-oss:20b", "hermes3:latest"]}
    with ScriptedModel(models=models) as server:
        found = await chosen(tmp_path, everything(server), name)
        assert (found.provider, found.name) == expected
        assert any(request.path == "/api/tags" for request in server.requests) == asks


async def test_a_name_that_nobody_lists_is_told_with_the_nearest(tmp_path: Path) -> None:
    with ScriptedModel() as server, pytest.raises(NotFoundError) as error:
        await chosen(tmp_path, everything(server) | {"GEMINI_BASE_URL": refused_url()}, "qwen3:9b")
    assert "ollama/qwen3:8b" in str(error.value) and "gemini did not answer" in str(error.value)


async def test_a_server_that_lists_nothing_has_the_model_when_nobody_else_can(tmp_path: Path) -> None:
    with ScriptedModel(api_key="right") as server:
        env = server.env("openai") | {"OPENAI_API_KEY": "no listing for this one"}
        found = await chosen(tmp_path, env, "my-model")
        assert (found.provider, found.name) == ("openai", "my-model")
        with pytest.raises(NotFoundError, match="openai lists no models"):
            await chosen(tmp_path, env | server.env("gemini") | {"GEMINI_API_KEY": "right"}, "my-model")


async def test_a_single_provider_has_whatever_is_asked_of_it(tmp_path: Path) -> None:
    found = await chosen(tmp_path, {}, "scripted-1")
    assert (found.provider, found.name) == ("ollama", "scripted-1")
    with pytest.raises(NotFoundError, match="no provider"):
        connect("acme")


@pytest.mark.parametrize(
    ("environment", "asked", "expected"),
    [
        (["openai"], {}, ("openai", "gpt-4.1-nano")),
        (["gemini"], {}, ("gemini", "gemini-2.5-flash")),
        (["ollama"], {}, ("ollama", "hermes3:8b")),
        (["openai", "gemini"], {"provider": "gemini"}, ("gemini", "gemini-2.5-flash")),
        (["openai", "gemini"], {"name": "gemini-3-pro-preview"}, ("gemini", "gemini-3-pro-preview")),
        (["openai", "ollama"], {"name": "hermes3:8b"}, ("ollama", "hermes3:8b")),
        (["openai"], {"provider": "openai", "name": "gpt-4.1-mini"}, ("openai", "gpt-4.1-mini")),
        (["openai"], {"suggested": "openai/gpt-4.1-mini"}, ("openai", "gpt-4.1-mini")),
        (["openai", "gemini"], {"suggested": "gemini/gemini-2.5-pro"}, ("openai", "gpt-4.1-nano")),
        (["ollama"], {"suggested": "openai/gpt-4.1-mini"}, ("ollama", "hermes3:8b")),
    ],
)
async def test_the_model_follows_from_what_is_said_and_set(
    tmp_path: Path, environment: list[str], asked: dict[str, str], expected: tuple[str, str]
) -> None:
    with ScriptedModel([HELLO]) as server:
        env = {name: value for provider in environment for name, value in server.env(provider).items()}
        found = await chosen(tmp_path, env, **asked)
        assert not await remark_of(found)
    assert (found.provider, found.name) == expected


@pytest.mark.parametrize(
    ("environment", "user", "asked", "expected"),
    [
        ({}, "openai/gpt-4.1", {}, ("openai", "gpt-4.1-mini")),
        ({}, "gpt-4.1", {"provider": "openai"}, ("openai", "gpt-4.1-mini")),
        ({}, "gpt-4.1", {"provider": "gemini"}, ("gemini", "gemini-2.5-flash")),
        ({}, "gpt-4.1", {"name": "gpt-4.1-nano"}, ("openai", "gpt-4.1-nano")),
        ({"NEBULA_MODEL": "gpt-4.1"}, "", {}, ("openai", "gpt-4.1")),
        ({"NEBULA_MODEL": "gpt-4.1"}, "gpt-5.1", {"provider": "openai"}, ("openai", "gpt-4.1")),
        ({"NEBULA_MODEL": "openai/gpt-4.1"}, "", {"provider": "openai"}, ("openai", "gpt-4.1")),
        ({"NEBULA_MODEL": "gpt-4.1"}, "", {"provider": "gemini"}, ("gemini", "gemini-2.5-flash")),
        ({"NEBULA_MODEL": "qwen3:8b"}, "", {"provider": "openai"}, ("openai", "gpt-4.1-mini")),
        ({}, "ollama/qwen3:8b", {}, ("ollama", "qwen3:8b")),
        ({}, "qwen3:8b", {"provider": "ollama"}, ("ollama", "qwen3:8b")),
        ({}, "gemini-3-pro-preview", {"provider": "gemini"}, ("gemini", "gemini-3-pro-preview")),
    ],
)
async def test_a_data_folders_model_counts_before_the_users_config(
    tmp_path: Path, environment: dict[str, str], user: str, asked: dict[str, str], expected: tuple[str, str]
) -> None:
    with ScriptedModel([HELLO]) as server:
        env = everything(server) | environment
        found = await chosen(tmp_path, env, user=user, suggested="openai/gpt-4.1-mini", **asked)
    assert (found.provider, found.name) == expected


@pytest.mark.parametrize(
    ("environment", "user", "project", "expected"),
    [
        ({"NEBULA_PROVIDER": "ollama"}, "", "openai/gpt-4.1", ("ollama", "hermes3:8b")),
        ({}, "ollama/qwen3:8b", "openai/gpt-4.1", ("ollama", "qwen3:8b")),
        ({}, "qwen3:8b", "gpt-4.1", ("ollama", "qwen3:8b")),
        ({}, "", "gemini/gemini-2.5-pro", ("openai", "gpt-4.1-nano")),
        ({}, "", "a-model-nobody-lists", ("openai", "gpt-4.1-nano")),
        ({"NEBULA_PROVIDER": "ollama"}, "", "no-such:1b", ("ollama", "hermes3:8b")),
    ],
)
async def test_a_project_cannot_send_the_prompt_to_another_provider(
    tmp_path: Path, environment: dict[str, str], user: str, project: str, expected: tuple[str, str]
) -> None:
    with ScriptedModel([HELLO]) as server:
        found = await chosen(tmp_path, everything(server) | environment, user=user, project=project)
        remark = await remark_of(found)
    assert (found.provider, found.name) == expected
    assert project.rpartition("/")[2] in remark and "ignored" in remark


@pytest.mark.parametrize(
    ("environment", "user", "project", "expected"),
    [
        ({}, "", "openai/gpt-4.1", ("openai", "gpt-4.1")),
        ({}, "gpt-4.1-mini", "gpt-4.1", ("openai", "gpt-4.1")),
        ({"NEBULA_PROVIDER": "ollama"}, "", "qwen3:8b", ("ollama", "qwen3:8b")),
        ({"NEBULA_PROVIDER": "gemini"}, "", "gemini-2.5-pro", ("gemini", "gemini-2.5-pro")),
        ({"NEBULA_MODEL": "gemini-2.5-pro"}, "", "openai/gpt-4.1", ("gemini", "gemini-2.5-pro")),
    ],
)
async def test_within_the_users_provider_a_project_names_the_model(
    tmp_path: Path, environment: dict[str, str], user: str, project: str, expected: tuple[str, str]
) -> None:
    with ScriptedModel([HELLO]) as server:
        found = await chosen(tmp_path, everything(server) | environment, user=user, project=project)
        assert not await remark_of(found)
    assert (found.provider, found.name) == expected


async def test_what_is_missing_is_shown_as_the_line_to_type(tmp_path: Path) -> None:
    with pytest.raises(AuthError, match=r"`export OPENAI_API_KEY=…`"):
        await chosen(tmp_path, {}, provider="openai")
    with pytest.raises(AuthError, match=r"GEMINI_API_KEY is not set.*`export GEMINI_API_KEY=…`"):
        await chosen(tmp_path, {}, "gemini-2.5-pro")
    with pytest.raises(ModelError, match=r"`export OPENAI_API_KEY=…`, `export GEMINI_API_KEY=…`.*OLLAMA_HOST"):
        await chosen(tmp_path, {})


async def test_the_first_offered_stand_first_also_when_no_list_came(tmp_path: Path) -> None:
    with ScriptedModel(models={"ollama": ["m:1b"]}) as server:
        env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": refused_url(), "OLLAMA_HOST": server.url}
        settings = load_settings(str(tmp_path), env | {"NEBULA_HOME": str(tmp_path)})
        listed = await list_models(settings)
    assert [name for name, _ in listed] == ["openai", "ollama"] and isinstance(listed[0][1], ModelError)
    names = [f"{info.provider}/{info.name}" for info in offered_models(listed)]
    assert names == ["openai/gpt-4.1-nano", "openai/gpt-4.1-mini", "ollama/m:1b"]


async def test_a_chosen_model_knows_its_context_and_its_price(tmp_path: Path) -> None:
    with ScriptedModel(context_length=4096) as server:
        local = await chosen(tmp_path, server.env("ollama"))
    cloud = await chosen(tmp_path, {"OPENAI_API_KEY": "k"})
    assert (local.context, local.cost(Usage(10**6, 0))) == (4096, 0.0)
    assert (cloud.context, cloud.cost(Usage(10**6, 10**6))) == (1_047_576, 0.5)


async def test_what_a_project_asked_for_in_vain_is_said_once(tmp_path: Path) -> None:
    with ScriptedModel([Turn("one"), Turn("two")]) as server:
        found = await chosen(tmp_path, server.env("openai"), project="gemini/gemini-2.5-pro")
        request = ModelRequest(found.name, "", [UserMessage.new_prompt("x")])
        heard = [[item async for item in found.connector.stream(request)] for _ in range(2)]
        await found.connector.aclose()
    assert isinstance(heard[0][0], ModelNotice) and "gemini-2.5-pro" in str(heard[0][0].text)
    assert not any(isinstance(item, ModelNotice) for item in heard[1])


@each_row("role", ["planner", "executor"])
@each_row(
    ("environment", "user", "project", "expected"),
    [
        ({}, "", "", ("openai", "gpt-4.1-nano")),
        ({"NEBULA_MODEL": "gpt-4.1"}, "", "", ("openai", "gpt-4.1")),
        ({"NEBULA_PROVIDER": "ollama"}, "gemini-2.5-pro", "", ("gemini", "gemini-2.5-pro")),
        ({}, "ollama/qwen3:8b", "gpt-4.1", ("ollama", "qwen3:8b")),
        ({"NEBULA_PROVIDER": "ollama"}, "", "openai/gpt-4.1", ("ollama", "hermes3:8b")),
        ({"NEBULA_MODEL": "gpt-4.1-mini"}, "", "gpt-4.1", ("openai", "gpt-4.1")),
    ],
)
async def test_a_role_has_its_own_model_within_the_same_bounds(
    tmp_path: Path, role: str, environment: dict[str, str], user: str, project: str, expected: tuple[str, str]
) -> None:
    with ScriptedModel([HELLO]) as server:
        found = await chosen(tmp_path, everything(server) | environment, user=user, project=project, role=role)
        assert bool(await remark_of(found)) == (project not in ("", expected[1]))
    assert (found.provider, found.name) == expected


async def test_a_server_of_ones_own_need_not_list_the_model_of_the_settings(tmp_path: Path) -> None:
    with ScriptedModel(models={"openai": ["other"], "ollama": ["m:1b"]}) as server:
        env = {"NEBULA_HOME": str(tmp_path), "NEBULA_MODEL": "unlisted", "OPENAI_BASE_URL": server.openai_url}
        found = await choose_model(load_settings(str(tmp_path), env))
        await found.connector.aclose()
        assert (found.provider, found.name) == ("openai", "unlisted")
        two = load_settings(str(tmp_path), env | {"OLLAMA_HOST": server.url})
        with pytest.raises(NotFoundError, match="No provider lists the model 'unlisted'"):
            await choose_model(two)


async def test_an_address_of_ones_own_that_does_not_answer_is_named(tmp_path: Path) -> None:
    with pytest.raises(AuthError, match=r"No model can be reached\. Nothing answers at 127\.0\.0\.1:\d+"):
        await chosen(tmp_path, {})


@pytest.mark.parametrize(("provider", "said"), [("ollama", "Start Ollama"), ("local", "There is no GGUF file in")])
async def test_who_names_a_provider_hears_about_that_one_alone(tmp_path: Path, provider: str, said: str) -> None:
    settings = load_settings(str(tmp_path), {"NEBULA_HOME": str(tmp_path), "OLLAMA_HOST": "127.0.0.1:9"})
    with pytest.raises(ModelError, match=said) as refused:
        await choose_model(settings, provider=provider)
    assert "OPENAI_API_KEY" not in str(refused.value)


async def test_closing_the_wrapper_closes_the_connector() -> None:
    with ScriptedModel([Turn("hi")]) as server:
        inner = OpenAIModel(server.openai_url, environ={})
        model = DialectWhereNeeded(inner)
        async for _ in model.stream(ModelRequest("m", "", [UserMessage.new_prompt("x")])):
            pass
        kept = [idle.connection for waiting in inner._client._idle.values() for idle in waiting]
        await model.aclose()
        assert len(kept) == 1 and not kept[0].is_open


@pytest.mark.parametrize("arguments", ['{"content": "a\\ud800"}', {"edits": [{"new_text": "\udc00"}]}])
def test_half_a_character_in_arguments_is_an_error_and_no_question_mark(arguments):
    value, why = read_arguments(RawCall("writeFile", value=arguments), cut=False)
    assert value == {}
    assert "lone surrogate" in str(why)


def test_half_a_character_in_names_and_ids_is_replaced_as_in_words() -> None:
    """What holds one can be put neither into the memory nor into the graph."""
    draft = Draft()
    draft.message_id = "m\ud800"
    draft.calls.append(RawCall("re\ud800ad", id="c\udc00"))
    message = draft.finish([]).message
    (use,) = message.tool_uses or ()
    assert [message.message_id, use.id, use.name, use.orig_name] == ["m\ufffd", "c\ufffd", "re\ufffdad", "re\ufffdad"]


@pytest.mark.parametrize("environment", [["openai"], ["ollama"], ["openai", "ollama"]])
async def test_a_vendor_that_is_not_known_is_refused_before_any_request(tmp_path: Path, environment: list[str]) -> None:
    with ScriptedModel(models={"openai": ("vendor/listed",), "ollama": ("vendor/listed:latest",)}) as server:
        env = {name: value for each in environment for name, value in server.env(each).items()}
        found = await chosen(tmp_path, env, "vendor/listed")
        assert found.name == "vendor/listed"
        with pytest.raises(UnknownVendorError, match="'acme' is no provider") as refusal:
            await chosen(tmp_path, env, "acme/large-1")
        assert server.turns == []
    assert refusal.value.exit_code == 64


async def test_a_server_for_many_vendors_has_the_models_of_one_that_is_not_set_up(tmp_path: Path) -> None:
    name = "anthropic/claude-sonnet-4.5"
    with ScriptedModel(models={"openai": (name,)}) as server:
        openai = server.env("openai")
        found = await chosen(tmp_path, openai, name)
        assert (found.provider, found.name) == ("openai", name)
        by_setting = await chosen(tmp_path, {**openai, "NEBULA_MODEL": name}, "")
        assert (by_setting.provider, by_setting.name) == ("openai", name)
        straight = await chosen(tmp_path, {**openai, **server.env("anthropic")}, name)
        assert (straight.provider, straight.name) == ("anthropic", "claude-sonnet-4.5"), (
            "the vendor itself, where it can"
        )
        for said in ({"name": "anthropic/another"}, {"name": "claude-sonnet-4.5", "provider": "anthropic"}):
            with pytest.raises(AuthError, match="ANTHROPIC_API_KEY is not set"):
                await chosen(tmp_path, openai, **said)
