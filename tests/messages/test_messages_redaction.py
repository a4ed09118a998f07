"""Secrets are found wherever they stand, and what holds none is left as it is."""

import pytest

from nebula.messages import AssistantMessage, AssistantToolUse, Json, Text, ToolResultStatus, ToolUseResult
from nebula.messages.redaction import REDACTED, SECRET_CONTENT, Redactor

ENV = """# settings
export API_TOKEN="quoted-value-1"
DB_URL=postgres://app:pass-word-9@db.example/app
plain: yaml-value-22
PHRASE=correct horse battery
"json": "in-json-4444", "other": 'single-5555'
PORT=8080
-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASC
iG9w0BAQ==
-----END PRIVATE KEY-----
LONG="first-line-1
next-line-22"
block: |
  in-a-block-3
localhost:5432:db:me:last-field-4
machine host login me password after-a-space
"""


def test_a_stand_in_for_a_key_is_no_secret():
    assert Redactor(["ollama", ""]).text("ask ollama") == "ask ollama"


def test_a_key_inside_a_longer_one_leaves_no_rest():
    assert Redactor(["sk-aaaaaaa", "sk-aaaaaaa-bbbbbbb"]).text("sk-aaaaaaa-bbbbbbb") == REDACTED


def test_values_are_copied_only_where_a_secret_stands_in_them():
    redactor = Redactor(["sk-secret-1"])
    use = AssistantToolUse("c", "writeFile", "writeFile", {"content": ["sk-secret-1", 1]}, {"n": 12})
    holding, clean = AssistantMessage.new_tool_use(None, "x", [use]), AssistantMessage.new_response(None, "x")
    assert redactor.value(clean) is clean
    assert redactor.value(holding).tool_uses[0].args == {"content": [REDACTED, 1]}
    assert redactor.value(holding).tool_uses[0].orig_args == {"n": 12}


@pytest.mark.parametrize(
    "value",
    [
        "quoted-value-1",
        "postgres://app:pass-word-9@db.example/app",
        "pass-word-9",
        "yaml-value-22",
        "correct horse battery",
        "in-json-4444",
        "single-5555",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
        "iG9w0BAQ==",
        "first-line-1",
        "next-line-22",
        "in-a-block-3",
        "last-field-4",
        "after-a-space",
    ],
)
def test_the_values_of_a_secret_file_are_known_from_then_on(value):
    redactor = Redactor()
    result = ToolUseResult("c", (Json({"content": ENV}),), ToolResultStatus.Success)
    assert redactor.secret_result(result) == ToolUseResult("c", (Text(SECRET_CONTENT),), ToolResultStatus.Success)
    assert redactor.text(f"It says <{value}>.") == f"It says <{REDACTED}>."


def test_a_short_value_is_no_secret():
    redactor = Redactor()
    redactor.learn(ENV)
    assert redactor.text("port 8080") == "port 8080"
