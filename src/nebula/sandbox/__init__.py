"""A command runs in a throw-away layer over the project; what it changed comes back as a change set.

    with run(Command(root, "make test"), on_output=show) as done:
        done.exit_code, done.output, done.changes

`contract` says what goes in and comes out, `command` runs it, `changes` reads the layer, `capability` says whether
this machine can. `inside` is the other side of the wall: a program of its own, standard library only, that makes the
namespaces and mounts, becomes the first process in them, and starts the command. There is no weaker mode.
"""
