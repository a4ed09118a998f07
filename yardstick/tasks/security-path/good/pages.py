import os


def read_page(root, name):
    """The text of a page below the root; PermissionError for anything outside of it and for what is no file."""
    base = os.path.realpath(root)
    path = os.path.realpath(os.path.join(base, name))
    if not path.startswith(base + os.sep):
        raise PermissionError(f"{name}: not a page")
    if os.path.lexists(path) and not os.path.isfile(path):
        raise PermissionError(f"{name}: not a page")
    with open(path, encoding="utf-8") as file:
        return file.read()
