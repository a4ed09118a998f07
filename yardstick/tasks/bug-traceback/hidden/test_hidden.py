import json

import pytest

from settings import DEFAULTS, load


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({}, {}),
        ({"server": {}}, {}),
        ({"server": None}, {}),
        ({"server": {"port": 1}}, {"port": 1}),
        ({"server": {"host": "h", "port": 2, "debug": True}}, {"host": "h", "port": 2, "debug": True}),
    ],
)
def test_what_is_not_said_is_the_default(tmp_path, said, wanted):
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(said))
    assert load(file) == DEFAULTS | wanted
    assert DEFAULTS["port"] == 8080
