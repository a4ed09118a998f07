import argparse


def main(argv, tasks):
    parser = argparse.ArgumentParser("todo")
    commands = parser.add_subparsers(dest="command", required=True)
    adding = commands.add_parser("add")
    adding.add_argument("title")
    commands.add_parser("list")
    options = parser.parse_args(argv)
    if options.command == "add":
        tasks.add(options.title)
        return ""
    return "\n".join(task.title for task in tasks.all())
