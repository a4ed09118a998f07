"""What can be done with tasks."""

from todo.domain import Todo


class TaskList:
    def __init__(self):
        self.tasks = []

    def add(self, title):
        task = Todo(title)
        self.tasks.append(task)
        return task

    def open_tasks(self):
        return [task for task in self.tasks if not task.done]
