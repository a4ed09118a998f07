def load_rows(path):
    """The rows of a CSV file as dictionaries, by the names in its first line."""
    with open(path, encoding="utf-8-sig") as file:
        lines = [line for line in file.read().split("\n") if line]
    names = lines[0].split(",")
    return [dict(zip(names, line.split(","))) for line in lines[1:]]
