import os


def read_page(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read()
