import subprocess
import sys


def run(*words):
    return subprocess.run([sys.executable, "count.py", *map(str, words)], capture_output=True, text=True, check=False)


def test_one_file(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("one two\nthree\n", "utf-8")
    done = run(file)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"2 3 14 {file}\n", "")


def test_characters_are_no_bytes(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("日本 語", "utf-8")
    lines, words, characters, _ = run(file).stdout.split()
    assert (words, characters) == ("2", "4") and lines in ("0", "1")


def test_several_files_have_a_total(tmp_path):
    one, two = tmp_path / "1", tmp_path / "2"
    one.write_text("a b\n")
    two.write_text("c\n")
    assert run(one, two).stdout.splitlines()[-1] == "2 3 6 total"


def test_a_missing_file_is_named_and_the_rest_is_counted(tmp_path):
    there = tmp_path / "there"
    there.write_text("a\n")
    done = run(tmp_path / "missing", there)
    assert done.returncode == 1 and "missing" in done.stderr and "Traceback" not in done.stderr
    assert f"1 1 2 {there}" in done.stdout
