"""nebula: the umbrella command."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from contextlib import nullcontext

from nebula import __version__
from nebula.cli.arguments import (
    Parser,
    UsageError,
    allow_option,
    answer_options,
    check_allowed,
    command_list,
    dispatch,
    flag,
    model_options,
    network_option,
    reference_option,
    repeatable,
    root_option,
    trust_option,
    unknown_command,
    version_option,
)
from nebula.cli.busy import busy
from nebula.cli.error_boundary import error_boundary
from nebula.cli.printing import print_line
from nebula.files.home import nebula_home
from nebula.language import Sentence, translate
from nebula.sandbox.remembered import begin_trial

COMMANDS = {
    "serve": Sentence("the conversation as a web page, agent included"),
    "mcp": Sentence("the guarded file tools over the Model Context Protocol"),
    "acp": Sentence("the agent for editors, over the Agent Client Protocol"),
    "sessions": Sentence("the sessions of this directory"),
    "graph": Sentence("the conversation graph of this directory"),
    "import": Sentence("the history of other agents, as turns of this conversation"),
    "export": Sentence("a part of the conversation as Markdown, HTML or JSON"),
    "index": Sentence("the code index of this directory"),
    "skills": Sentence("the skills that the model is told of, and what is wrong with others"),
    "config": Sentence("every setting, where it comes from, and how to change yours"),
    "models": Sentence("the models that can be chosen, with context and prices"),
    "doctor": Sentence("which models can be reached, and where each setting comes from"),
    "commit": Sentence("a message for what is staged, from the turns behind it; then git commits"),
    "blame": Sentence("who wrote each line of a file, and for which prompt"),
    "race": Sentence("the same task tried several times side by side"),
    "take": Sentence("take what a try of a race did into the project"),
    "trace": Sentence("what happened in a task, and its replies played once more"),
    "kpi": Sentence("how well tasks go and what they cost"),
    "completion": Sentence("what makes bash, zsh or fish complete these commands"),
    "manual": Sentence("the manual page of a program, for man"),
    "demo": Sentence("a recorded conversation on a sample project; no key and no network needed"),
}
TELLING = frozenset(
    (
        "sessions",
        "graph",
        "import",
        "export",
        "index",
        "skills",
        "models",
        "doctor",
        "commit",
        "blame",
        "race",
        "trace",
        "kpi",
    )
)
"""These work first and print then; until they do, a terminal says that they work."""
_FOLDERS = {
    "servers": ("serve", "mcp", "acp"),
    "conversation": ("sessions", "graph", "import", "export", "blame", "trace", "race", "take"),
    "setup": ("config", "models", "doctor", "skills", "completion", "manual"),
}
"""Where the modules of commands lie that do not lie beside each other."""


def main(argv: Sequence[str] | None = None) -> int:
    with error_boundary("nebula", argv) as command:
        words = command.words
        if words and words[0] in COMMANDS:
            with busy() if words[0] in TELLING else nullcontext():
                command.exit_code = dispatch("nebula.cli.nebula_commands", find_module(words[0]), words[1:])
        elif (options := _options(words)).version:
            print_line(f"nebula {__version__}")
        else:
            begin_trial(nebula_home())  # while the rest is being loaded
            if options.prompt is None:
                from nebula.cli.interactive import run_interactive as run
            else:
                from nebula.cli.headless.run import run_headless as run
            command.exit_code = run(options)
    return command.exit_code


def find_module(command: str) -> str:
    """Return the module of a command, below the folder of them all."""
    return next((f"{folder}.{command}" for folder, names in _FOLDERS.items() if command in names), command)


def _options(words: Sequence[str]) -> Namespace:
    if words and not words[0].startswith("-"):
        raise _not_a_command(words)
    options = make_parser().parse_args(words)
    if options.version:
        return options
    check_allowed(options.allow)
    if options.with_files and (options.prompt is None or not options.from_nodes):
        raise UsageError("--with-files goes with --from NODE and -p")
    if options.partial and options.output_format != "stream-json":
        raise UsageError("--partial goes with --output-format stream-json")
    if options.prompt is None:
        if options.output_format != "text":
            raise UsageError('--output-format needs a prompt: add -p "task"')
        if options.output_schema or options.output_last_message:
            raise UsageError('--output-schema and --output-last-message need a prompt: add -p "task"')
        if options.references:
            raise UsageError('--ref needs a prompt: add -p "task"')
        if options.images:
            raise UsageError('--image needs a prompt: add -p "task"')
    return options


def _not_a_command(argv: Sequence[str]) -> UsageError:
    """A lone word that is nearly a command is one mistyped; anything else was meant as a task."""
    problem = unknown_command(argv[0], list(COMMANDS))
    words = [word for each in argv if not each.startswith("-") for word in each.split()]
    if "near" in problem.values and len(words) == 1:
        return problem
    task = " ".join(argv).replace('"', '\\"')
    return UsageError('for a task use -p: nebula -p "{task}"', task=task)


def exit_codes() -> str:
    return translate(
        "exit codes: 0 success, 1 failed, 2 refused by policy, 3 model output unusable, 64 bad usage, 130 interrupted"
    )


def make_parser() -> Parser:
    parser = Parser(
        "nebula",
        "A coding agent. Without -p: an interactive session in the current directory.",
        epilog=f"{command_list(COMMANDS)}\n\n{exit_codes()}",
        usage='nebula [-p "task"] [options]\n       nebula COMMAND [options]',
    )
    parser.add_argument(
        "-p",
        "--print",
        dest="prompt",
        metavar="TASK",
        help="do one task and end; standard input is appended to it, '-' takes it from there",
    )
    parser.add_argument(
        "--output-format",
        choices=("text", "json", "stream-json"),
        default="text",
        help="what -p prints (default: text)",
    )
    answer_options(parser)
    flag(parser, "--partial", "with stream-json: also what goes on (activity) and text while it is written (delta)")
    model_options(parser)
    _permission_options(parser)
    _session_options(parser)
    _node_options(parser)
    root_option(parser)
    flag(parser, "--backstage", "show the tools at work (on stderr with -p)")
    version_option(parser)
    return parser


def _permission_options(parser: Parser) -> None:
    parser.add_argument(
        "--mode", choices=("plan", "agent"), help="plan only looks and plans; agent (default) also writes"
    )
    flag(parser, "--yes", "allow ordinary writes without asking")
    allow_option(parser)
    network_option(parser)
    trust_option(parser)


def _session_options(parser: Parser) -> None:
    parser.add_argument(
        "-c", "--continue", dest="continue_last", action="store_true", help="go on with this directory's newest session"
    )
    parser.add_argument(
        "-r",
        "--resume",
        metavar="ID",
        nargs="?",
        const="",
        help="go on with a session (without ID: one from a list, with -p the newest)",
    )
    parser.add_argument(
        "--compact",
        metavar="FOCUS",
        nargs="?",
        const="",
        help="send all earlier turns but the newest as summaries, with an eye on FOCUS",
    )


def _node_options(parser: Parser) -> None:
    repeatable(
        parser,
        "--from",
        "NODE",
        "continue from a node of the conversation graph (repeatable: merge)",
        dest="from_nodes",
    )
    flag(
        parser,
        "--with-files",
        "with -p and --from: put the files back as that turn left them, too; what changes is shown first",
    )
    reference_option(
        parser, "with -p: show the model this node, or those with this tag, too (repeatable)", metavar="NODE|#TAG"
    )
    repeatable(
        parser,
        "--image",
        "FILE",
        "with -p: send this image with the task, where the model takes images (repeatable)",
        dest="images",
    )
