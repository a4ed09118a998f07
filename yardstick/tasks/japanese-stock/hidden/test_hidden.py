import os
import subprocess
import sys

from zaiko import Zaiko

ENV = os.environ | {"PYTHONIOENCODING": "utf-8"}


def run(*words):
    done = subprocess.run([sys.executable, "zaiko.py", *words], capture_output=True, env=ENV, check=False)
    return done.returncode, done.stdout.decode("utf-8")


def test_不足数の多い順():
    zaiko = Zaiko()
    for namae, kazu in (("あ", 9), ("い", 1), ("う", 10), ("え", 1), ("お", 11)):
        zaiko.touroku(namae, kazu, 10)
    assert list(zaiko.low_stock()) == ["い", "え", "あ"]


def test_コマンド():
    assert run("不足") == (0, "ノート: 20\n鉛筆: 5\n")
    assert run("一覧") == (0, "鉛筆: 5\n消しゴム: 30\nノート: 0\n")


def test_不足なし():
    with open("zaiko.json", encoding="utf-8") as file:
        before = file.read()
    try:
        with open("zaiko.json", "w", encoding="utf-8") as file:
            file.write("[]")
        assert run("不足") == (0, "不足はありません\n")
    finally:
        with open("zaiko.json", "w", encoding="utf-8") as file:
            file.write(before)
