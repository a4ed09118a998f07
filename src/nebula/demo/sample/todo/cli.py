"""Talks to people."""

import sys

from todo.usecase import TaskList


def main(words):
    tasks = TaskList()
    if words[:1] == ["add"]:
        task = tasks.add(" ".join(words[1:]))
        print(f"added: {task.title}")
    for task in tasks.open_tasks():
        print(f"[ ] {task.title}")


if __name__ == "__main__":
    main(sys.argv[1:])
