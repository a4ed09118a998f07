"""What build tools are told in the home, without what gives access."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from nebula.sandbox.home.tool_settings import clean, cleaned_tool_settings

PLACE = '[registries."own"]\nindex = "https://mirror.example"\n'
MAVEN = """<settings>
  <localRepository>/data/m2</localRepository>
  <servers><server><id>own</id><username>anna</username><password>canary</password></server></servers>
  <proxies><proxy><host>proxy.example</host><password>canary</password></proxy></proxies>
  <mirrors><mirror><id>own</id><url>https://anna:canary@mirror.example/m2</url></mirror></mirrors>
  <profiles><profile><properties><own.pw>canary</own.pw></properties><id>at-work</id></profile></profiles>
</settings>
"""


def test_maven_keeps_its_mirrors_and_no_servers() -> None:
    shown = clean(".m2/settings.xml", MAVEN)
    assert "canary" not in shown and "anna" not in shown
    assert "<url>https://mirror.example/m2</url>" in shown and "<localRepository>/data/m2<" in shown
    assert "<id>at-work</id>" in shown


def test_a_script_of_gradle_is_handed_on_whole_or_not_at_all() -> None:
    script = "maven {\n  url 'https://anna:canary@mirror.example'\n}\n"
    assert clean(".gradle/init.gradle", script) == script.replace("anna:canary@", "")
    assert clean(".gradle/init.gradle", f"def own = 'canary'\n{script}credentials {{ password own }}\n") == ""


def test_of_gradles_properties_only_its_own_are_kept() -> None:
    text = (
        "org.gradle.jvmargs=-Xmx2g\nownUser=anna\nsigning.password=canary\nsystemProp.https.proxyHost=proxy.example\n"
        "systemProp.https.proxyPassword=canary\norg.gradle.own.token=canary\n"
    )
    assert clean(".gradle/gradle.properties", text) == (
        "org.gradle.jvmargs=-Xmx2g\nsystemProp.https.proxyHost=proxy.example\n"
    )


def test_of_cargo_only_the_places_are_kept() -> None:
    text = (
        '[source.crates-io]\nreplace-with = "own \\"mirror\\""\n[source."own \\"mirror\\""]\n'
        'registry = "sparse+https://anna:canary@mirror.example/"\n[registries.own]\nindex = "https://mirror.example"\n'
        'token = "canary"\n[env]\nGH_PAT = "canary"\n[http]\nproxy = "http://a:canary@b"\n'
    )
    shown = clean(".cargo/config.toml", text)
    assert "canary" not in shown and "anna" not in shown
    assert tomllib.loads(shown) == {
        "source": {
            "crates-io": {"replace-with": 'own "mirror"'},
            'own "mirror"': {"registry": "sparse+https://mirror.example/"},
        },
        "registries": {"own": {"index": "https://mirror.example"}},
    }


@pytest.mark.parametrize("text", ["not = toml =", "source = 3\n", "[source]\nx = 1\n"])
def test_settings_of_cargo_that_make_no_sense_say_nothing_of_places(text: str) -> None:
    assert not any(tomllib.loads(clean(".cargo/config.toml", text)).get("source", {}).values())


def test_only_settings_for_this_kind_of_project_are_read_and_only_such_as_are_text(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    for path, data in (
        (".cargo/config.toml", PLACE.encode()),
        (".cargo/config", b"\xff"),
        (".m2/settings.xml", b"<a/>"),
    ):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(data)
    project.mkdir()
    assert not list(cleaned_tool_settings(str(project), str(home)))
    (project / "Cargo.toml").touch()
    [(path, text)] = cleaned_tool_settings(str(project), str(home))
    assert (path, text) == (str(home / ".cargo/config.toml"), PLACE)
    (home / ".cargo/config.toml").write_text(PLACE + "#" * 100_000)
    assert not list(cleaned_tool_settings(str(project), str(home)))


def test_every_script_that_gradle_runs_at_its_start_is_handed_on(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    scripts = home / ".gradle/init.d"
    scripts.mkdir(parents=True)
    project.mkdir()
    mirror = "allprojects { repositories { maven { url 'https://mirror.example' } } }\n"
    for name in ("own.gradle", "more.gradle.kts", "notes.txt"):
        (scripts / name).write_text(mirror)
    (scripts / "publish.gradle").write_text("def token = 'canary'\n")
    assert not list(cleaned_tool_settings(str(project), str(home)))
    (project / "build.gradle").touch()
    shown = dict(cleaned_tool_settings(str(project), str(home)))
    assert shown == {str(scripts / name): mirror for name in ("more.gradle.kts", "own.gradle")}
