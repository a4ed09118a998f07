"""The prompts of earlier sessions."""

from __future__ import annotations

from pathlib import Path

from nebula.cli.terminal.input.editor import PrivateHistory
from nebula.cli.terminal.input.paste import Pastes


def history(path: Path) -> PrivateHistory:
    return PrivateHistory(str(path), Pastes(), lambda text: text.replace("secret", "[redacted]"))


async def known(of: PrivateHistory) -> list[str]:
    return [each async for each in of.load()]


async def test_the_newest_comes_first_and_no_key_is_kept(tmp_path: Path) -> None:
    first = history(tmp_path / "home" / "history")
    first.append_string("one\nline more")
    first.append_string("a secret 星雲")
    assert (tmp_path / "home" / "history").stat().st_mode & 0o777 == 0o600
    assert await known(history(tmp_path / "home" / "history")) == ["a [redacted] 星雲", "one\nline more"]


async def test_where_it_cannot_be_kept_the_session_still_knows_it(tmp_path: Path) -> None:
    in_the_way = history(tmp_path)
    assert await known(in_the_way) == []
    in_the_way.append_string("not lost")
    assert await known(in_the_way) == ["not lost"]
