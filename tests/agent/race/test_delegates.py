"""What a delegate may be: a model of the provider that the user chose."""

from __future__ import annotations

import pytest

from nebula.agent.race.delegates import ELSEWHERE, run_delegate
from nebula.testing import scripted_session
from nebula.tools.delegate import Errand


@pytest.mark.parametrize("model", ["gemini/gemini-2.5-pro", "local//tmp/evil.gguf"])
async def test_no_model_decides_which_provider_is_sent_the_project(model: str) -> None:
    async with scripted_session([]) as scripted:
        done = await run_delegate(scripted.session, (), Errand("look", model=model), "t")
    assert done.error == ELSEWHERE.format(provider=scripted.session.chosen.provider) and done.node_id is None
