"""What build tools are told in the home, without what gives access."""

from __future__ import annotations

from pathlib import Path

import pytest

from nebula.sandbox.tool_settings import clean, cleaned_tool_settings

MAVEN = """<settings>
  <localRepository>/data/m2</localRepository>
  <servers><server><id>own</id><username>anna</username><password>canary</password></server></servers>
  <proxies><proxy><host>proxy.example</host><password>canary</password></proxy></proxies>
  <mirrors><mirror><id>own</id><url>https://anna:canary@mirror.example/m2</url></mirror></mirrors>
  <profiles><profile><properties><signing.x>1</signing.x><apiToken>canary</apiToken></properties></profile></profiles>
</settings>
"""


def test_maven_keeps_its_mirrors_and_no_servers() -> None:
    shown = clean(".m2/settings.xml", MAVEN)
    assert "canary" not in shown and "anna" not in shown
    assert "<url>https://mirror.example/m2</url>" in shown and "<localRepository>/data/m2<" in shown
    assert "<signing.x>1</signing.x>" in shown


def test_a_script_of_gradle_still_reads_as_one() -> None:
    script = "maven {\n  url 'https://mirror.example'\n  credentials {\n    username = 'anna'\n    password = \"can\\\"ary\"\n  }\n}\n"
    assert clean(".gradle/init.gradle", script) == (
        'maven {\n  url \'https://mirror.example\'\n  credentials {\n    username = ""\n    password = ""\n  }\n}\n'
    )


def test_of_gradles_properties_only_its_own_are_kept() -> None:
    text = (
        "org.gradle.jvmargs=-Xmx2g\nownUser=anna\nsigning.password=canary\nsystemProp.https.proxyHost=proxy.example\n"
        "systemProp.https.proxyPassword=canary\norg.gradle.own.token=canary\n"
    )
    assert clean(".gradle/gradle.properties", text) == (
        "org.gradle.jvmargs=-Xmx2g\nsystemProp.https.proxyHost=proxy.example\n"
    )


@pytest.mark.parametrize(
    "line", ['token = "canary"\n', "secret-key = 'canary'\n", 'http.proxy = "http://a:canary@b"\n']
)
def test_cargo_learns_no_secret(line: str) -> None:
    assert "canary" not in clean(".cargo/config.toml", line)


def test_only_settings_for_this_kind_of_project_are_read_and_only_such_as_are_text(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    for path, data in ((".cargo/config.toml", b"a = 1\n"), (".cargo/config", b"\xff"), (".m2/settings.xml", b"<a/>")):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(data)
    project.mkdir()
    assert not list(cleaned_tool_settings(str(project), str(home)))
    (project / "Cargo.toml").touch()
    assert list(cleaned_tool_settings(str(project), str(home))) == [(str(home / ".cargo/config.toml"), "a = 1\n")]
    (home / ".cargo/config.toml").write_text("#" * 100_000)
    assert not list(cleaned_tool_settings(str(project), str(home)))
