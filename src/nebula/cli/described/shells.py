"""Write the completion of the three commands for a shell: plain scripts that ask no program while somebody types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from nebula.cli.described.tree import DescribedCommand, Option, kind_of

Programs = Sequence[DescribedCommand]


def bash(programs: Programs) -> str:
    """Return a script for bash, from version 3.2 on, which macOS has."""
    longer = 'path="$path ${COMP_WORDS[i]}"'
    return _filled(_BASH, programs, longer, _BASH_VALUES, lambda each: f"words={_quote(' '.join(_words(each)))}")


def zsh(programs: Programs) -> str:
    return _filled(_ZSH, programs, 'at="$at ${words[i]}"', _ZSH_VALUES, _zsh_words)


def _filled(
    script: str,
    programs: Programs,
    longer: str,
    values: dict[str, str],
    words: Callable[[DescribedCommand], str],
) -> str:
    """Return a script with the cases of all commands: `longer` makes the path one word longer, `values` has what
    completes the word behind an option, `words` what completes one of a command."""
    commands = list(_walk(programs))
    paths = [_of(each) for each in commands if len(each.path) > 1]
    return script.format(
        paths=f"      {_pattern(paths)}) {longer} ;;",
        values=_lines(_value_cases(commands, values)),
        words=_lines([f'"{_of(each)}") {words(each)} ;;' for each in commands]),
        files=_pattern([_of(each) for each in commands if _takes_files(each)]),
        names=" ".join(program.path[0] for program in programs),
    )


def fish(programs: Programs) -> str:
    paths = [_of(each) for each in _walk(programs) if len(each.path) > 1]
    lines = [_FISH.format(paths=" ".join(f'"{path}"' for path in paths))]
    for each in _walk(programs):
        program, at = each.path[0], f"-n '__nebula_is_at \"{_of(each)}\"'"
        lines.append(f"complete -c {program} {at} {'-F' if _takes_files(each) else '-f'}")
        choices = [(name, "") for name in each.operand_choices]
        for name, about in [*((inner.path[-1], inner.about) for inner in each.commands), *choices]:
            lines.append(f"complete -c {program} {at} -a {name}{_fish_about(about)}")
        lines += [f"complete -c {program} {at} {_fish_option(option)}" for option in each.options]
    return "\n".join(lines) + "\n"


SHELLS: dict[str, Callable[[Programs], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def _walk(programs: Programs) -> Iterator[DescribedCommand]:
    for program in programs:
        yield from program.walk()


def _of(command: DescribedCommand) -> str:
    return " ".join(command.path)


def _words(command: DescribedCommand) -> list[str]:
    options = [name for option in command.options for name in option.names]
    return [*(each.path[-1] for each in command.commands), *command.operand_choices, *options]


def _takes_files(command: DescribedCommand) -> bool:
    return any(kind_of(operand.rstrip("]"), ()) in {"file", "folder"} for operand in command.operands)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _pattern(texts: Sequence[str]) -> str:
    return "|".join(f'"{text}"' for text in texts)


def _lines(lines: Sequence[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def _value_cases(commands: Sequence[DescribedCommand], actions: dict[str, str]) -> list[str]:
    """Return what completes the word behind an option that takes one."""
    cases: dict[str, list[str]] = {}
    for each in commands:
        for option in each.options:
            if option.kind != "none" and not option.is_optional:
                action = actions[option.kind].replace("CHOICES", " ".join(option.choices))
                cases.setdefault(action, []).extend(f"{_of(each)} {name}" for name in option.names)
    return [f"{_pattern(texts)}) {action} ;;" for action, texts in cases.items()]


def _zsh_words(command: DescribedCommand) -> str:
    told = {each.path[-1]: each.about for each in command.commands}
    told |= {name: option.about for option in command.options for name in option.names}
    found = [f"{name}:{' '.join(told[name].split())}" if told.get(name) else name for name in _words(command)]
    return f"found=({' '.join(map(_quote, found))})"


def _fish_about(about: str) -> str:
    text = " ".join(about.split())
    return f" -d {_fish_quote(text)}" if text else ""


def _fish_quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_option(option: Option) -> str:
    words = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    if option.kind != "none" and not option.is_optional:
        extra = {"choices": f"-xa {_fish_quote(' '.join(option.choices))}", "file": "-rF", "text": "-x"}
        words.append(extra.get(option.kind, "-xa '(__fish_complete_directories)'"))
    return " ".join(words) + _fish_about(option.about)


_BASH_VALUES = {
    "choices": 'COMPREPLY=($(compgen -W "CHOICES" -- "$cur")); return',
    "folder": 'COMPREPLY=($(compgen -d -- "$cur")); return',
    "file": 'COMPREPLY=($(compgen -f -- "$cur")); return',
    "text": "return",
}
_ZSH_VALUES = {
    "choices": "compadd CHOICES; return",
    "folder": "_files -/; return",
    "file": "_files; return",
    "text": "return 1",
}
_BASH = """\
# Completion for bash: eval "$(nebula completion bash)"
_nebula_complete() {{
  local IFS=$' \\t\\n' cur="${{COMP_WORDS[COMP_CWORD]}}" path="${{COMP_WORDS[0]##*/}}" words="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${{COMP_WORDS[i]}}" in
{paths}
    esac
  done
  case "$path ${{COMP_WORDS[COMP_CWORD - 1]}}" in
{values}
  esac
  case "$path" in
{words}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  case "$path" in
    {files}) [[ $cur == -* ]] || COMPREPLY+=($(compgen -f -- "$cur")) ;;
  esac
}}
complete -o filenames -F _nebula_complete {names}
"""
_ZSH = """\
#compdef {names}
# Completion for zsh: eval "$(nebula completion zsh)", or this as _nebula in a folder of $fpath.
_nebula() {{
  local at="${{words[1]:t}}" i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    case "$at ${{words[i]}}" in
{paths}
    esac
  done
  case "$at ${{words[CURRENT - 1]}}" in
{values}
  esac
  case "$at" in
{words}
  esac
  _describe -t words "$at" found
  case "$at" in
    {files}) [[ ${{words[CURRENT]}} == -* ]] || _files ;;
  esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _nebula "$@"
else
  (( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit }}
  compdef _nebula {names}
fi
"""
_FISH = """\
# Completion for fish: nebula completion fish | source
function __nebula_is_at
    set -l words (commandline -opc)
    set -l path (string replace -r '.*/' '' -- $words[1])
    for word in $words[2..-1]
        if contains -- "$path $word" {paths}
            set path "$path $word"
        end
    end
    test "$path" = "$argv[1]"
end"""
