"""The OpenAPI is true: schemathesis sends what it allows and what it forbids, and finds nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.config import SchemathesisConfig
from schemathesis.generation import GenerationMode

from gateway_rig import EXTENSIONS, Gateway, gateway_in_thread
from nebula.server.gate import Rules
from nebula.server.gateway.app import create_gateway
from nebula.workspace.guard.judge import Policy
from nebula.workspace.local import open_workspace

pytestmark = pytest.mark.slow

POLICY_ANSWERS = ["2xx", "400", "403", "404", "409", "413", "415"]
"""A request may be right by the schema and still ask for what the policy refuses; it is never malformed."""
SOUND = GenerationMode.POSITIVE
CONFIG = SchemathesisConfig.from_dict({"checks": {"positive_data_acceptance": {"expected-statuses": POLICY_ANSWERS}}})


def operations() -> list[Any]:
    app: Any = create_gateway(None, Rules(hosts=frozenset()))  # type: ignore[arg-type] - only described, not called
    schema = schemathesis.openapi.from_dict(app.app.openapi(), config=CONFIG)
    found = [result.ok() for result in schema.get_all_operations()]
    # There is nothing to get wrong in a GET without parameters.
    return [(operation, mode) for operation in found for mode in GenerationMode if operation.body or mode is SOUND]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    root: Path = tmp_path_factory.mktemp("schema") / "app"
    root.mkdir()
    (root / "a.txt").write_text("hello\n", encoding="utf-8")
    policy = Policy(extensions=EXTENSIONS)
    with open_workspace(str(root), policy) as workspace, gateway_in_thread(workspace, root) as running:
        yield running


@pytest.mark.parametrize(("operation", "mode"), operations(), ids=lambda part: getattr(part, "path", part))
def test_nothing_is_found(gateway: Gateway, operation: Any, mode: GenerationMode) -> None:
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        case = data.draw(operation.as_strategy(generation_mode=mode))
        case.call_and_validate(base_url=gateway.url)

    check()
