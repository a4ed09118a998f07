"""Several processes with one index: writers wait for each other, readers always see one whole state."""

from __future__ import annotations

import threading

from index.project import Project, contents, function

WRITERS = 3


def test_writers_and_readers_at_the_same_time(project: Project) -> None:
    for i in range(20):
        project.write(f"f{i}.py", function(f"lighthouse{i}", "beacon"))
    with project.index() as index:
        index.sync()
    errors: list[Exception] = []
    unchanged = {f"f{i}.py" for i in range(WRITERS, 20)}

    def write(number: int) -> None:
        try:
            with project.index() as index:
                for round in range(6):
                    project.write(f"f{number}.py", function(f"lighthouse{number}", "beacon", f"round{round}"))
                    index.sync()
        except Exception as error:  # noqa: BLE001 - shown by the test itself
            errors.append(error)

    def read(stop: threading.Event) -> None:
        try:
            with project.index() as index:
                while not stop.is_set():
                    assert unchanged <= {hit.path for hit in index.search("beacon", 30)}
        except Exception as error:  # noqa: BLE001 - shown by the test itself
            errors.append(error)

    stop = threading.Event()
    reader = threading.Thread(target=read, args=(stop,))
    writers = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()
    assert errors == []
    with project.index() as index, project.fresh() as fresh:
        index.sync()
        fresh.sync()
        assert contents(index) == contents(fresh)
