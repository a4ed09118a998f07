from todo.domain import Task


class Tasks:
    def __init__(self):
        self._tasks = []

    def add(self, title, priority=2):
        if not title.strip():
            raise ValueError("a task needs a title")
        if priority not in (1, 2, 3):
            raise ValueError("a priority is 1, 2 or 3")
        self._tasks.append(Task(title.strip(), priority))

    def all(self):
        return sorted(self._tasks, key=lambda task: task.priority)
