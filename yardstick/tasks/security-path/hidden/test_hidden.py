import os

import pytest

from pages import read_page


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "pages"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("a")
    (root / "sub" / "b.txt").write_text("b")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "pages-other").mkdir()
    (tmp_path / "pages-other" / "c.txt").write_text("c")
    os.symlink(tmp_path / "secret.txt", root / "link")
    os.symlink(root / "a.txt", root / "inside")
    return root


@pytest.mark.parametrize(("name", "text"), [("a.txt", "a"), ("sub/b.txt", "b"), ("sub/../a.txt", "a"), ("inside", "a")])
def test_pages_below_the_root(root, name, text):
    assert read_page(str(root), name) == text


@pytest.mark.parametrize("name", ["../secret.txt", "sub/../../secret.txt", "link", "../pages-other/c.txt", "sub", "", "."])
def test_nothing_else(root, name):
    with pytest.raises(PermissionError):
        read_page(str(root), name)


def test_an_absolute_name(root, tmp_path):
    with pytest.raises(PermissionError):
        read_page(str(root), str(tmp_path / "secret.txt"))


def test_a_missing_page(root):
    with pytest.raises(FileNotFoundError):
        read_page(str(root), "missing.txt")
