/** Knows how the words of a command line become the values of a command's options. */
import { parseArgs } from 'node:util';
import { didYouMean } from '../../suggest.ts';
import { type Option, type OptionTable, quoted, refused } from './option.ts';

type AnyTable = Readonly<Record<string, Option<unknown>>>;

/** What was given: words by the name of their option, and words that stand alone. */
interface Given {
  readonly named: Map<string, string[]>;
  readonly alone: string[];
}

/**
 * The values of `table`. Throws `Failure` (invalid input) with one sentence that names what is wrong
 * and what would be right.
 */
export function parseWords<Values>(
  given: readonly string[],
  table: OptionTable<Values>,
  conflicts: readonly (readonly [string, string])[] = [],
): Values {
  const options = table as unknown as AnyTable;
  const { named, alone } = sort(given, options);
  const conflict = conflicts.find((names) => names.every((name) => named.has(name)));
  if (conflict !== undefined) {
    throw refused(`--${conflict[0]} and --${conflict[1]} exclude each other; leave one out`);
  }
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(options)) {
    if (option.form === 'words') values[name] = option.read(alone.splice(0), name);
    else if (option.form === 'word') values[name] = readWord(name, option, alone.shift());
    else values[name] = option.read(named.get(name) ?? [], `--${name}`);
  }
  if (alone.length > 0) {
    throw refused(`${quoted(alone[0]!)} is one word too many`);
  }
  return values as Values;
}

/** Whether they ask for help rather than for the command. */
export function asksForHelp(given: readonly string[], options: AnyTable): boolean {
  return tokensOf(given, options).some(
    (token) => token.kind === 'option' && (token.name === 'help' || token.name === 'h'),
  );
}

function sort(given: readonly string[], options: AnyTable): Given {
  const named = new Map<string, string[]>();
  const alone: string[] = [];
  for (const token of tokensOf(given, options)) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      if (token.value === '')
        throw refused('a word is empty; was a variable of the shell not set?');
      alone.push(token.value);
      continue;
    }
    const { name, rawName, value } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (option === undefined || option.form.startsWith('word'))
      throw unknown(rawName, options, named);
    const before = named.get(name) ?? [];
    if (before.length > 0 && option.isRepeatable !== true) {
      throw refused(`--${name} is given twice; once is enough`);
    }
    named.set(name, [...before, readValue(`--${name}`, option, value, token.inlineValue === true)]);
  }
  return { named, alone };
}

function tokensOf(given: readonly string[], options: AnyTable) {
  const known = Object.entries(options)
    .filter(([, { form }]) => form === 'switch' || form === 'value')
    .map(([name, { form, letter }]) => {
      const type = form === 'switch' ? ('boolean' as const) : ('string' as const);
      return [name, { type, ...(letter === undefined ? {} : { short: letter }) }] as const;
    });
  // Not strict, because what is wrong is told below, in one form of words.
  const { tokens } = parseArgs({
    args: [...given],
    options: Object.fromEntries(known),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  return tokens;
}

/** A switch has none; it counts as given by an empty word. */
function readValue(
  name: string,
  { form, placeholder }: Option<unknown>,
  value: string | undefined,
  isInline: boolean,
): string {
  if (form === 'switch') {
    if (value === undefined) return '';
    throw refused(`${name} takes no value; leave ${quoted(`=${value}`)} out`);
  }
  if (value === undefined || value === '') {
    throw refused(`${name} needs a value: ${name} ${placeholder}`);
  }
  if (isInline || !/^-\D/.test(value)) return value;
  throw refused(
    `${name} needs a value: ${name} ${placeholder}; one that begins with a dash is written ${name}=${value}`,
  );
}

function readWord(name: string, option: Option<unknown>, given: string | undefined): unknown {
  if (given === undefined && option.isRequired) {
    throw refused(`<${name}> is missing: ${lowerFirst(option.describe)}`);
  }
  return option.read(given === undefined ? [] : [given], `<${name}>`);
}

/** Suggests nothing that was given already. */
function unknown(rawName: string, options: AnyTable, given: ReadonlyMap<string, unknown>) {
  const names = Object.entries(options)
    .filter(([name, { form }]) => !form.startsWith('word') && !given.has(name))
    .map(([name]) => `--${name}`);
  const suggestion = didYouMean(rawName, [...names, '--help']);
  return refused(
    `unknown option ${quoted(rawName)}${suggestion === undefined ? '' : `: ${suggestion}`}`,
  );
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
