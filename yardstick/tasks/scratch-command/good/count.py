"""Lines, words and characters of files."""

import sys


def count(path):
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    return [text.count("\n"), len(text.split()), len(text)]


def main(paths):
    total, code = [0, 0, 0], 0
    for path in paths:
        try:
            found = count(path)
        except (OSError, UnicodeDecodeError) as problem:
            print(f"{path}: {problem}", file=sys.stderr)
            code = 1
            continue
        total = [one + other for one, other in zip(total, found)]
        print(*found, path)
    if len(paths) > 1:
        print(*total, "total")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
