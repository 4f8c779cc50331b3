/** Knows how fish is told what completes a line: one `complete` for each option. */
import { type CompletedCommand, optionsOf, type Taken, wordsOf } from './completed.ts';

export function fishScript(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  return [
    '# Completion of gatewright for fish: gatewright completion fish',
    'complete -c gatewright -f',
    ...commands.map(
      ({ name, summary }) =>
        `complete -c gatewright -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
    ),
    `complete -c gatewright -n '__fish_seen_subcommand_from help' -a '${names}'`,
    ...commands.flatMap(linesOf),
    '',
  ].join('\n');
}

function linesOf(command: CompletedCommand): string[] {
  const begin = `complete -c gatewright -n '__fish_seen_subcommand_from ${command.name}'`;
  const options = optionsOf(command).map(({ name, letter, describe, value }) => {
    const short = letter === undefined ? '' : ` -s ${letter.slice(1)}`;
    return `${begin} -l ${name.slice(2)}${short}${value === null ? '' : argument(value)} -d ${quoted(describe)}`;
  });
  const words = wordsOf(command).flatMap(({ takes }) =>
    takes.form === 'any' ? [] : [`${begin}${argument(takes).replace(/ -[rx]/, '')}`],
  );
  return [...options, ...words];
}

function argument(taken: Taken): string {
  switch (taken.form) {
    case 'words':
    case 'list':
      return ` -x -a '${taken.words.join(' ')}'`;
    case 'file':
      return ' -r -F';
    case 'folder':
      return " -x -a '(__fish_complete_directories)'";
    default:
      return ' -x';
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
