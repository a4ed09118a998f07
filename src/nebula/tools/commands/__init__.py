"""Commands and checks: run them in a layer over the project, and propose their changes as one set."""
