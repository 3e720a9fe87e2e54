# What can go wrong, as exception classes.
"""Errors of railtwin: all are subclasses of `Error` and say what is wrong, where, and what to do."""

from collections.abc import Sequence
from dataclasses import dataclass


class Error(Exception):
    """An error of railtwin."""

    path: str | None
    """The file or folder that it is about."""
    hint: str | None
    """What to do about it."""

    def __init__(self, message: str, *, path: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return message if self.hint is None or self.hint in message else f"{message}; {self.hint}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a scenario."""

    line: int
    """Line, from 1."""
    column: int
    """Column in characters, from 1."""
    message: str
    """What is wrong."""
    hint: str | None = None
    """What to do about it."""
    text: str = ""
    """The line itself."""


class ScenarioError(Error):
    """A scenario, or what it names, is wrong.

    A dictionary has no lines of its own: places are those in the TOML text that stands for it.
    """

    problems: tuple[Problem, ...]
    """All problems, in the order of the text."""

    def __init__(self, message: str, *, path: str | None = None, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message, path=path, hint=problems[0].hint if problems else None)
        self.problems = tuple(problems)

    @property
    def line(self) -> int | None:
        """Line of the first problem, from 1."""
        return self.problems[0].line if self.problems else None

    @property
    def column(self) -> int | None:
        """Column of the first problem, from 1."""
        return self.problems[0].column if self.problems else None


class FolderError(Error):
    """A run folder cannot be read or written."""


class FileError(Error):
    """A file cannot be read or written."""


class ArgumentError(Error):
    """An argument does not fit the rest."""


class ControllerError(Error):
    """A controller of one's own did what none can: what it raises itself stays what it is."""


class MissingPackageError(Error):
    """A package that railtwin does without until it is asked for is not installed."""


class InternalError(Error):
    """A defect of railtwin itself."""
