from pathlib import Path

import blog
import slugs
import wiki


def test_one_function_for_both():
    assert blog.slug is wiki.slug is slugs.slug
    for name in ("blog.py", "wiki.py"):
        assert "def slug" not in Path(name).read_text("utf-8")


def test_blanks_make_one_dash():
    assert slugs.slug("  Hello,   big  World! ") == "hello-big-world"
    assert slugs.slug("a - b") == "a-b"


def test_addresses_as_before():
    assert blog.post_url("Hello World") == "/blog/hello-world"
    assert wiki.page_url("Hello World") == "/wiki/hello-world"
