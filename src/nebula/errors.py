"""The root of every error that a user may meet, and the exit codes of the commands.

An error of ours carries one sentence for a person: what happened and what to do. The sentence is a template with
its values beside it, so that the front doors can say it in the user's language (`nebula.language.explain`) while the
model, the logs and other programs get the English text of `str(error)`. Any exception that is not a NebulaError is a
bug, and is shown as one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Self

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_POLICY = 2
"""The policy refused, and the task could not go on."""
EXIT_FORMAT = 3
"""What the model sent was unusable after the retry."""
EXIT_USAGE = 64
EXIT_INTERRUPTED = 130


class NebulaError(Exception):
    """Raise a subclass: `NotFound("{path}: not found.", path=path)`."""

    exit_code: ClassVar[int] = EXIT_FAILED

    def __init__(self, sentence: str, /, **values: Any) -> None:
        super().__init__(sentence.format(**values) if values else sentence)
        self.sentence = sentence
        self.values = values

    def __reduce__(self) -> tuple[Any, ...]:
        """Stay the same error when told to another process, whatever a subclass asks for when it is raised."""
        return _as_it_was, (type(self), self.args, self.__dict__)

    @classmethod
    def of(cls, said: Any) -> Self:
        """Return an error of this class that says what another error, or a `Sentence`, says."""
        return cls(said.sentence, **said.values)


def _as_it_was(kind: type[NebulaError], args: tuple[Any, ...], state: dict[str, Any]) -> NebulaError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error
