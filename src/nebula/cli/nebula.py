"""nebula: the umbrella command."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from contextlib import nullcontext

from nebula import __version__
from nebula.cli.arguments import Parser, UsageError, check_allowed
from nebula.cli.busy import busy
from nebula.cli.error_boundary import error_boundary
from nebula.cli.printing import print_line
from nebula.cli.program import Subcommand, list_commands, unknown_command
from nebula.errors import EXIT_OK
from nebula.files.home import nebula_home
from nebula.language import translate
from nebula.sandbox.remembered import begin_trial

COMMANDS = {
    "serve": Subcommand(".servers.serve", "the conversation as a web page, agent included"),
    "mcp": Subcommand(".servers.mcp", "the guarded file tools over the Model Context Protocol"),
    "acp": Subcommand(".servers.acp", "the agent for editors, over the Agent Client Protocol"),
    "sessions": Subcommand(".conversation.sessions", "the sessions of this directory"),
    "graph": Subcommand(".conversation.graph", "the conversation graph of this directory"),
    "import": Subcommand(".conversation.import", "the history of other agents, as turns of this conversation"),
    "export": Subcommand(".conversation.export", "a part of the conversation as Markdown, HTML or JSON"),
    "index": Subcommand(".index", "the code index of this directory"),
    "skills": Subcommand(".setup.skills", "the skills that the model is told of, and what is wrong with others"),
    "config": Subcommand(".setup.config", "every setting, where it comes from, and how to change yours"),
    "models": Subcommand(".setup.models", "the models that can be chosen, with context and prices"),
    "doctor": Subcommand(".setup.doctor", "which models can be reached, and where each setting comes from"),
    "commit": Subcommand(".commit", "a message for what is staged, from the turns behind it; then git commits"),
    "blame": Subcommand(".conversation.blame", "who wrote each line of a file, and for which prompt"),
    "race": Subcommand(".conversation.race", "the same task tried several times side by side"),
    "take": Subcommand(".conversation.take", "take what a try of a race did into the project"),
    "trace": Subcommand(".conversation.trace", "what happened in a task, and its replies played once more"),
    "kpi": Subcommand("..figures.kpi:main_of_nebula", "how well tasks go and what they cost"),
    "completion": Subcommand(".setup.completion", "what makes bash, zsh or fish complete these commands"),
    "manual": Subcommand(".setup.manual", "the manual page of a program, for man"),
    "demo": Subcommand(".demo", "a recorded conversation on a sample project; no key and no network needed"),
}
TALKING = frozenset({"serve", "mcp", "acp", "config", "take", "completion", "manual", "demo"})
"""They print from the beginning. The others work first; until they print, a terminal says that they work."""


def main(argv: Sequence[str] | None = None) -> int:
    with error_boundary("nebula", argv) as command:
        words = command.words
        if words and words[0] in COMMANDS:
            with nullcontext() if words[0] in TALKING else busy():
                command.exit_code = run_command(words[0], words[1:]) or EXIT_OK
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


def run_command(name: str, words: Sequence[str]) -> int | None:
    return COMMANDS[name].load("nebula.cli.nebula_commands")(words)


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
    if options.continue_last and options.resume:
        raise UsageError("-c goes on with the newest session and --resume ID with that one; give one of them")
    if options.prompt is None:
        for option, given in (
            ("--output-format", options.output_format != "text"),
            ("--output-schema", options.output_schema),
            ("--output-last-message", options.output_last_message),
            ("--ref", options.references),
            ("--image", options.images),
        ):
            if given:
                raise UsageError('{option} needs a prompt: add -p "task"', option=option)
    return options


def _not_a_command(argv: Sequence[str]) -> UsageError:
    """A lone word that is nearly a command is one mistyped; anything else was meant as a task."""
    problem = unknown_command(argv[0], COMMANDS)
    words = [word for each in argv if not each.startswith("-") for word in each.split()]
    if "near" in problem.values and len(words) == 1:
        return problem
    task = " ".join(argv).replace('"', '\\"')
    return UsageError('for a task use -p: nebula -p "{task}" (see nebula --help)', task=task)


def exit_codes() -> str:
    return translate(
        "exit codes: 0 success, 1 failed, 2 refused by policy, 3 model output unusable, 64 bad usage, 130 interrupted"
    )


def make_parser() -> Parser:
    parser = Parser(
        "nebula",
        "A coding agent. Without -p: an interactive session in the current directory.",
        epilog=f"{list_commands(COMMANDS)}\n\n{exit_codes()}",
        usage='nebula [-p "task"] [options]\n       nebula COMMAND [options]',
    )
    parser.add_argument(
        "-p",
        "--print",
        dest="prompt",
        metavar="TASK",
        help="do one task and end; standard input is appended to it, '-' takes it from there",
    )
    parser.add_output_format("what -p prints (default: text)", "json", "stream-json")
    parser.add_answer()
    parser.add_flag("--partial", "with stream-json: also what goes on (activity) and text while it is written (delta)")
    parser.add_model()
    _permission_options(parser)
    _session_options(parser)
    _node_options(parser)
    parser.add_root()
    parser.add_flag("--backstage", "show the tools at work (on stderr with -p)")
    parser.add_version()
    return parser


def _permission_options(parser: Parser) -> None:
    parser.add_argument(
        "--mode", choices=("plan", "agent"), help="plan only looks and plans; agent (default) also writes"
    )
    parser.add_flag("--yes", "allow ordinary writes without asking")
    parser.add_allow()
    parser.add_network()
    parser.add_trust()


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
    parser.add_repeatable(
        "--from", "NODE", "continue from a node of the conversation graph (repeatable: merge)", dest="from_nodes"
    )
    parser.add_flag(
        "--with-files",
        "with -p and --from: put the files back as that turn left them, too; what changes is shown first",
    )
    parser.add_references(
        "with -p: show the model this node, or those with this tag, too (repeatable)", metavar="NODE|#TAG"
    )
    parser.add_repeatable(
        "--image",
        "FILE",
        "with -p: send this image with the task, where the model takes images (repeatable)",
        dest="images",
    )
