import csv


def load_rows(path):
    """The rows of a CSV file as dictionaries, by the names in its first line."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))
