"""Secrets are found wherever they stand, and what holds none is left as it is."""

import time
import timeit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nebula.language import Sentence
from nebula.messages import AssistantMessage, AssistantToolUse, Json, Text, ToolResultStatus, ToolUseResult
from nebula.messages.redaction import REDACTED, SECRET_CONTENT, SHORTEST_KEY, Redactor
from nebula.value import replace
from rows import each_row

ENV = """# settings
export API_TOKEN="quoted-value-1"
DB_URL=postgres://app:pass-word-9@db.example/app
plain: yaml-value-22
PHRASE=correct horse battery
"json": "in-json-4444", "other": 'single-5555'
MARKED="Xs-in-quotes-6X"
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


def test_a_long_text_is_looked_through_once_and_again_for_what_is_learnt_since(monkeypatch):
    looked: list[int] = []
    monkeypatch.setattr("nebula.messages.redaction.holds_key", lambda text: bool(looked.append(len(text))))
    redactor, text = Redactor(), "a line of code\n" * 1000 + "the-value-of-later"
    assert redactor.value([text, text]) == [text, text] == redactor.value([text, text])
    assert looked == [len(text)]
    redactor.learn("KEY=the-value-of-later")
    assert redactor.value(text).endswith(REDACTED)


KEYS = [
    "sk-proj-0123456789abcdefABCDEF",
    "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdEf",
    "sk-abcdefghijklmnopqrstuvwxyz",
    "sk-or-v1-0123456789abcdef0123456789abcdef",
    *(f"{kind}_{use}_0123456789abcdefghij" for kind in ("sk", "pk", "rk") for use in ("live", "test")),
    "AIzaSyA0123456789abcdefghijklmnopqrstuv",
    "ya29.a0AfH6SMBx0123456789-abcdef",
    *(f"gh{kind}_0123456789abcdefghijABCDEFGHIJ012345" for kind in "pousr"),
    "github_pat_11ABCDEFG0abcdefghij_0123456789",
    "glpat-0123456789abcdef_-XY",
    "xoxb-1234567890-abcdef",
    "xoxb-123456789a",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "gsk_0123456789abcdefghijklmnopqrstuvwxyz",
    "xai-0123456789abcdefghijklmnopqrstuvwxyz",
    "npm_0123456789abcdefghijklmnopqrstuvwxyz",
    "pypi-AgEIcHlwaS5vcmcCJDAxMjM0NTY3ODlhYmNkZWY",
    "SG.0123456789abcdef-_.0123456789abcdef-_",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU=\n-----END OPENSSH PRIVATE KEY-----",
]


@each_row("key", KEYS)
@each_row("around", ["{}", "use {} for it.", "KEY={}\n", '{{"key": "{}"}}', "鍵は{}です。", "({})", "https://x/?k={}"])
def test_what_has_the_shape_of_a_key_is_taken_out(key, around):
    assert Redactor().text(around.format(key)) == around.format(REDACTED)
    assert Redactor().value({"said": around.format(key)}) == {"said": around.format(REDACTED)}


@given(st.lists(st.sampled_from([*KEYS, "words", "sk-learn", "鍵"]), max_size=6))
@example(["hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"] * 3)
def test_of_several_keys_all_are_taken_out_and_the_words_between_stay(pieces):
    shown = [REDACTED if piece in KEYS else piece for piece in pieces]
    assert Redactor().text(" and ".join(pieces)) == " and ".join(shown)


def test_what_has_the_shape_of_a_key_is_taken_out_once_however_many_marks_it_holds():
    assert Redactor().text("sk-ant-sk-0123456789abcdef0123 next") == f"{REDACTED} next"


@pytest.mark.parametrize("name", ["aws_secret_access_key = ", "AWS_SECRET_ACCESS_KEY=", '"SecretAccessKey": "'])
def test_the_secret_of_aws_is_told_by_its_name(name):
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    assert Redactor().text(f"{name}{secret}") == name + REDACTED
    beside = "secret_access_key SECRET_ACCESS_KEY SecretAccessKey "
    assert Redactor().text(f"{beside}{name}{secret}") == beside + name + REDACTED


def test_the_secret_of_aws_without_its_name_stays():
    assert Redactor().text("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY") == "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


@each_row(
    "text",
    [
        "5beece50c7e1a9d2f4b6a8c0e2d4f6a8b0c2d4e6",  # git
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "01890a5d-ac96-774b-bcce-b302099a8057",
        "sk-learn/model.py task-1234567890123456 risk-0123456789abcdef01 disk-0123456789abcdef",
        "sk-loading-indicator-2-large sk-toggle-content-container",
        "pk_customer_order_item_foreign_key sk_buff_data_alignment_2 rk_test pk_list",
        "hf_hub_download_file_by_name gho_st ghp_test.py npm_config_registry_url",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO",
        "eyJhIjoxfQ== const x = atob('eyJhbGciOiJIUzI1NiJ9')",
        "AKIASOMETHING ASIA-PACIFIC-REGION-0123 SG.Widget.render",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "f(sk) - 0123456789abcdef0123",
    ],
)
def test_what_only_looks_random_stays(text):
    assert Redactor().text(text) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "sk-",
        "sk-a-",
        "sk-0123456789abcdef0123-",
        "eyJ-",
        "eyJ",
        "AKIA",
        "xox",
        "-----BEGIN ",
        "secret_access_key",
        "ghp_a",
        "SG.a",
        "x",
    ],
)
def test_a_long_text_made_to_hold_it_up_does_not(piece):
    def seconds(size):
        text = piece * (size // len(piece))
        return min(timeit.repeat(lambda: Redactor().text(text), timer=time.process_time, number=1, repeat=2))

    assert seconds(200_000) < 30 * seconds(25_000) + 0.1  # eight times the text; squared it would be sixty-four


def test_a_key_inside_a_longer_one_leaves_no_rest():
    assert Redactor(["sk-aaaaaaa", "sk-aaaaaaa-bbbbbbb"]).text("sk-aaaaaaa-bbbbbbb") == REDACTED


def test_values_are_copied_only_where_a_secret_stands_in_them():
    redactor = Redactor(["sk-secret-1"])
    use = AssistantToolUse("c", "writeFile", "writeFile", {"content": ["sk-secret-1", 1]}, {"n": 12})
    holding = AssistantMessage.new_tool_use(None, "x", [use])
    clean = AssistantMessage.new_response(None, "long enough to hold a key, but it holds none")
    assert redactor.value(clean) is clean
    assert redactor.value(holding).tool_uses[0].args == {"content": [REDACTED, 1]}
    assert redactor.value(holding).tool_uses[0].orig_args == {"n": 12}


def test_a_secret_is_found_in_a_value_however_its_looks_would_show_it():
    secret = "pass\\word\n'9"
    holding = AssistantMessage.new_response(None, f"It is {secret}.")
    assert Redactor([secret]).value(holding) == replace(holding, content=f"It is {REDACTED}.")


def test_a_sentence_keeps_its_words_and_loses_the_secret_in_its_values():
    redactor, clean = Redactor(["sk-secret-1"]), Sentence("{path}: not found.", path="a.txt")
    said = redactor.value([Sentence("{path}: not found.", path="sk-secret-1"), clean])
    assert said == [Sentence("{path}: not found.", path=REDACTED), clean]


def test_an_error_that_holds_a_secret_becomes_text_without_it():
    redactor, clean = Redactor(["sk-secret-1"]), ValueError("nothing")
    assert redactor.value([ValueError("no sk-secret-1"), clean, None, 1.5]) == [f"no {REDACTED}", clean, None, 1.5]


def test_a_key_of_digits_eats_no_number():
    assert Redactor(["1234567"]).value({"n": 1234567, "f": 1234567.5, "s": "1234567"}) == {
        "n": 1234567,
        "f": 1234567.5,
        "s": REDACTED,
    }
    assert Redactor(["NoneNone", "1234567"]).value([None, 1234567]) == [None, 1234567]


@each_row(
    "value",
    [
        "quoted-value-1",
        "postgres://app:pass-word-9@db.example/app",
        "pass-word-9",
        "yaml-value-22",
        "correct horse battery",
        "in-json-4444",
        "single-5555",
        "Xs-in-quotes-6X",
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


def test_the_longer_key_goes_first_whatever_the_alphabet_says():
    assert Redactor(["zzzzzzzz", "aazzzzzzzzaa"]).text("aazzzzzzzzaa") == REDACTED


def test_a_key_of_the_least_length_is_a_secret():
    assert Redactor(["k" * SHORTEST_KEY]).text("k" * SHORTEST_KEY) == REDACTED


def test_a_secret_in_the_name_of_a_key_or_in_a_part_of_a_value_is_found():
    redactor = Redactor(["sk-very-secret"])
    assert redactor.value({"sk-very-secret": 1}) == {REDACTED: 1}
    use = AssistantToolUse("c", "t", "t", {"a": ["sk-very-secret"]}, {"a": ["sk-very-secret"]})
    assert redactor.value(use).args == {"a": [REDACTED]}


def test_values_deep_inside_the_result_of_a_secret_file_are_known_from_then_on():
    redactor = Redactor()
    found = Json({"parts": [{"content": "TOKEN=deep-inside-77"}]})
    shown = redactor.secret_result(ToolUseResult("c", (found, Text("B=in-plain-text-8")), ToolResultStatus.Success))
    assert shown.content == (Text(SECRET_CONTENT),)
    assert redactor.text("deep-inside-77 in-plain-text-8") == f"{REDACTED} {REDACTED}"
