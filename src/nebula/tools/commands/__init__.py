"""Commands and checks: run in a layer over the project, and what came of them proposed as one set."""
