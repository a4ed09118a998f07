"""Lines, words and characters of files."""

import sys

total = [0, 0, 0]
for path in sys.argv[1:]:
    text = open(path, "rb").read()
    found = [text.count(b"\n"), len(text.split()), len(text)]
    total = [one + other for one, other in zip(total, found)]
    print(*found, path)
if len(sys.argv) > 2:
    print(*total, "total")
