import pytest

from table import load_rows


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"a,b\n1,2\n", [{"a": "1", "b": "2"}]),
        (b"\xef\xbb\xbfname,n\r\nx,1\r\n\r\n", [{"name": "x", "n": "1"}]),
        (b'a,b\n"one\ntwo",3\n', [{"a": "one\ntwo", "b": "3"}]),
        (b'a,b\n"x, y","say ""hi"""\n', [{"a": "x, y", "b": 'say "hi"'}]),
        ("名前,数\n鉛筆,2\n".encode(), [{"名前": "鉛筆", "数": "2"}]),
    ],
)
def test_rows(tmp_path, content, rows):
    file = tmp_path / "t.csv"
    file.write_bytes(content)
    assert [dict(row) for row in load_rows(file)] == rows
