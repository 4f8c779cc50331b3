/** Lists what can complete an unfinished command line, as yargs sees it. */
import { completionRequest, parseCommandLine } from '../parsing/command-parser.ts';
import type { CommandEntry } from '../shared/command.ts';

/**
 * One candidate a line; empty when the shell should complete file names. `words` are those of a line
 * without the program's name; the last one is unfinished and may be empty.
 */
export async function listCandidates(
  words: readonly string[],
  commands: ReadonlyMap<string, CommandEntry>,
): Promise<string> {
  const finished = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  const { query, prefix } = queryFor(current);
  const line = [completionRequest, 'gatewright', ...finished, query];
  const parsed = await parseCommandLine(line, commands);
  const found = parsed.kind === 'text' ? parsed.text.split('\n').filter((text) => text !== '') : [];
  const suggested = await suggestions(finished, commands);
  return [...found, ...suggested]
    .filter((candidate) => current.startsWith('-') || !candidate.startsWith('-'))
    .map((candidate) => `${prefix}${candidate}\n`)
    .join('');
}

/**
 * yargs takes `--o` for the option `-o` and cannot complete the second word of a list such as
 * `Config,Gu`. It is therefore asked for all options, or all words; the shell filters them.
 */
function queryFor(current: string): { readonly query: string; readonly prefix: string } {
  if (current.startsWith('-')) return { query: '-?', prefix: '' };
  const comma = current.lastIndexOf(',');
  return comma === -1
    ? { query: current, prefix: '' }
    : { query: '', prefix: current.slice(0, comma + 1) };
}

/** Words that may stand right after the name of a command but are not the only ones it accepts. */
async function suggestions(
  finished: readonly string[],
  commands: ReadonlyMap<string, CommandEntry>,
): Promise<readonly string[]> {
  const [name, ...others] = finished;
  if (name === undefined || others.length > 0) return [];
  const command = await commands.get(name)?.load();
  return Object.values(command?.options ?? {}).flatMap((option) => option.suggestions ?? []);
}
