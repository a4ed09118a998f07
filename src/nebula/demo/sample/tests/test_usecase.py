from todo.usecase import TaskList


def test_a_new_task_is_open():
    tasks = TaskList()
    task = tasks.add("water the plants")
    assert tasks.open_tasks() == [task]
