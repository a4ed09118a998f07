"""Images by their whole path, and from the clipboard."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from conftest import Bench
from in_process import run_here, sit_down_here
from nebula.cli.terminal.input.clipboard import UnreadableClipboard, clipboard_image
from scripted_model import ScriptedModel, Turn
from terminal_driver import Person

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
CTRL_V = "\x16"


def program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def sent_images(server: ScriptedModel) -> list[str]:
    content = server.turns[-1].json["messages"][-1]["content"]
    return [part["image_url"]["url"] for part in content if part["type"] == "image_url"] if content[0] != "-" else []


@pytest.mark.parametrize("written", ["@{}", "見て@{}を", '@"{}"'])
def test_an_image_outside_the_project_is_attached_by_its_whole_path(bench: Bench, tmp_path: Path, written: str) -> None:
    (tmp_path / "shot.png").write_bytes(PNG)
    (tmp_path / "notes.txt").write_text("private")
    with ScriptedModel([Turn("Red.")]) as server:
        prompt = f"{written.format(tmp_path / 'shot.png')} @{tmp_path / 'notes.txt'}"
        ran = run_here(bench, "nebula", "-p", prompt, **server.env())
        (url,) = sent_images(server)
    assert base64.b64decode(url.partition(",")[2]) == PNG
    assert "notes.txt (outside the project" in ran.err and "private" not in server.turns[-1].body.decode()


def test_what_only_has_the_ending_of_an_image_is_not_attached(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "key.png").write_text("-----BEGIN PRIVATE KEY-----")
    with ScriptedModel([Turn("No.")]) as server:
        ran = run_here(bench, "nebula", "-p", f"see @{tmp_path / 'key.png'}", **server.env())
        assert "PRIVATE KEY" not in server.turns[-1].body.decode()
    assert "is no image of these kinds" in ran.err


@pytest.mark.parametrize("written", ["what is {}?", "これは {} を見て", "({}) '{}'"])
def test_a_typed_path_of_an_image_is_attached_without_a_sign(bench: Bench, tmp_path: Path, written: str) -> None:
    (tmp_path / "shot.png").write_bytes(PNG)
    with ScriptedModel([Turn("Red.")]) as server:
        typed = written.format(*[tmp_path / "shot.png"] * 2)
        run_here(bench, "nebula", stdin=f"{typed} /no/such.png x{tmp_path}/shot.png\nexit\n", **server.env())
        (url,) = sent_images(server)
    assert base64.b64decode(url.partition(",")[2]) == PNG


def test_the_image_in_the_clipboard_goes_with_the_prompt(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "clip").write_bytes(PNG)
    program(tmp_path, "wl-paste", f'/bin/cat "{tmp_path}/clip"')

    def person(me: Person) -> None:
        me.prompt()
        me.send(f"what is {CTRL_V}")
        me.wait("[image clipboard-1.png]")
        me.wait("1 attachment")
        me.line(" here")
        me.wait("Red.")
        me.prompt(times=2)
        (tmp_path / "clip").write_bytes(b"")
        me.send(CTRL_V)
        me.wait("No image in the clipboard.")
        me.prompt(times=2)  # while the line is printed, the terminal itself takes a Ctrl+V
        (tmp_path / "wl-paste").unlink()
        me.send(CTRL_V)
        me.wait("Nothing here can read the clipboard")
        me.line("exit")

    with ScriptedModel([Turn("Red.")]) as server:
        sit_down_here(bench, person, PATH=str(tmp_path), WAYLAND_DISPLAY="w", **server.env())
        assert len(sent_images(server)) == 1


@pytest.mark.parametrize(
    ("body", "variables"),
    [
        ("echo text", {"DISPLAY": ":0"}),
        ("exit 1", {"DISPLAY": ":0"}),
        ("head -c 11000000 /dev/zero", {"DISPLAY": ":0"}),
    ],
)
def test_no_image_is_none(tmp_path: Path, body: str, variables: dict[str, str]) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    program(tmp_path, "xclip", body.format(png=tmp_path / "a.png"))
    assert clipboard_image({"PATH": f"{tmp_path}:/usr/bin:/bin", **variables}) is None


def test_a_clipboard_that_nothing_can_read_is_no_empty_one(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    program(tmp_path, "xclip", f"cat {tmp_path}/a.png")
    for environ in ({"PATH": str(tmp_path)}, {"PATH": str(tmp_path / "none"), "DISPLAY": ":0"}):
        with pytest.raises(UnreadableClipboard, match=r"wl-paste \(Wayland\), xclip"):
            clipboard_image(environ)
