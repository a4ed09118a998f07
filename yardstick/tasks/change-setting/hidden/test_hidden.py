import json
import re
from pathlib import Path

from client.fetch import fetch
from client.settings import Settings, read


def written(tmp_path, **said):
    file = tmp_path / "s.json"
    file.write_text(json.dumps(said))
    return read(file)


def test_the_default():
    assert Settings().request_timeout_s == 30


def test_it_is_used():
    assert fetch(Settings(request_timeout_s=7), opener=lambda url, timeout: (url, timeout)) == ("http://localhost", 7)


def test_files_of_before(tmp_path):
    assert written(tmp_path, timeout=5).request_timeout_s == 5
    assert written(tmp_path, timeout=5, request_timeout_s=6).request_timeout_s == 6
    assert written(tmp_path, url="u").request_timeout_s == 30


def test_sample_and_readme():
    assert json.loads(Path("settings.sample.json").read_text("utf-8")) == {"url": "http://localhost", "request_timeout_s": 30}
    readme = Path("README.md").read_text("utf-8")
    assert "`request_timeout_s`" in readme and "30" in readme and not re.search(r"default 10\b", readme)
