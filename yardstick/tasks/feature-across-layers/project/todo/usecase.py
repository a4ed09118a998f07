from todo.domain import Task


class Tasks:
    def __init__(self):
        self._tasks = []

    def add(self, title):
        if not title.strip():
            raise ValueError("a task needs a title")
        self._tasks.append(Task(title.strip()))

    def all(self):
        return list(self._tasks)
