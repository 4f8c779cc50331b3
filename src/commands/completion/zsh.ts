/** Knows how zsh is told what completes a line: a function for `compdef`, by `_arguments`. */
import { type CompletedCommand, optionsOf, type Taken, wordsOf } from './completed.ts';

export function zshScript(commands: readonly CompletedCommand[]): string {
  const rows = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}\n`);
  return `#compdef gatewright
# Completion of gatewright for zsh: source <(gatewright completion zsh), below compinit
_gatewright() {
  local curcontext="$curcontext" state line
  local -a commands
  commands=(
${rows.join('')}    'help:Options and worked examples'
  )
  _arguments -C '(-)'{-h,--help}'[Show the commands]' '(-)'{-v,--version}'[Version of this program]' \\
    '1:command:->command' '*::word:->word'
  case $state in
    command) _describe command commands ;;
    word)
      case $line[1] in
        help) _describe command commands ;;
${commands.map(commandCase).join('')}      esac
      ;;
  esac
}
if [ "$funcstack[1]" = _gatewright ]; then _gatewright "$@"; else compdef _gatewright gatewright; fi
`;
}

function commandCase(command: CompletedCommand): string {
  const specs = [
    ...optionsOf(command).flatMap(({ name, letter, describe, value }) => {
      const text = `[${describe.replaceAll(/[[\]\\]/g, '\\$&')}]`;
      const after = value === null ? '' : `:${name.slice(2)}:${action(value)}`;
      const long = `${name}${value === null ? '' : '='}${text}${after}`;
      return letter === undefined ? [long] : [long, `${letter}${text}${after}`];
    }),
    ...wordsOf(command).map(
      ({ name, takes, isRepeated }, at) => `${isRepeated ? '*' : at + 1}:${name}:${action(takes)}`,
    ),
  ];
  return `        ${command.name}) _arguments ${specs.map(quoted).join(' \\\n          ')} ;;\n`;
}

function action(taken: Taken): string {
  switch (taken.form) {
    case 'words':
      return `(${taken.words.join(' ')})`;
    case 'list':
      return `_values -s , word ${taken.words.join(' ')}`;
    case 'file':
      return '_files';
    case 'folder':
      return '_files -/';
    default:
      return ' ';
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
