"""The instructor's side of the course: build, grade, measure. The command is `poslab`."""

__version__ = "1.0.0"
