/** Writes command lines of this program that the user can paste into a shell. */
import { isAbsolute, join, relative, sep } from 'node:path';
import { packageRoot } from '../../package-root.ts';
import { environmentIn } from '../../settings/reading/environment.ts';
import { printable } from '../../terminal-text.ts';

/** Options by name: `true` for a switch; undefined, `false` and empty lists are left out. */
export type GivenOptions = Readonly<
  Record<string, string | boolean | readonly string[] | undefined>
>;

/**
 * `bin/gatewright apply ./gateway --owner team-a`, for the folder in which `npm start` or this
 * program was called. `cwd` is the folder that this program works in.
 */
export function shellLine(
  cwd: string,
  verb: string,
  words: readonly string[],
  options: GivenOptions,
): string {
  const named = Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || value === false) return [];
    if (value === true) return [`--${name}`];
    const values = typeof value === 'string' ? [value] : value;
    return values.flatMap((text) =>
      text.startsWith('-') ? [`--${name}=${shellWord(text)}`] : [`--${name}`, shellWord(text)],
    );
  });
  const alone = words.map(shellWord);
  const looksLikeOption = words.some((word) => word.length > 1 && word.startsWith('-'));
  const all = looksLikeOption ? [...named, '--', ...alone] : [...alone, ...named];
  return [...programFrom(cwd), verb, ...all].join(' ');
}

/** Words that need no quotes in any shell. */
const plain = /^[\w./:@%+,-][\w./:@%+,=-]*$/;

/** Quotes a word for POSIX shells; writes words with control characters as octal bytes. */
export function shellWord(word: string): string {
  if (plain.test(word)) return word;
  if (printable(word) === word && !word.includes('\n')) return quote(word);
  const bytes = [...Buffer.from(word)].map((byte) =>
    byte > 0x20 && byte < 0x7f && !"%\\'".includes(String.fromCharCode(byte))
      ? String.fromCharCode(byte)
      : `\\${byte.toString(8).padStart(3, '0')}`,
  );
  return `"$(printf '${bytes.join('')}')"`;
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

const isClone = import.meta.filename.endsWith('.ts');

/** The shell word that runs this program from any folder. */
export function programWord(): string {
  return isClone ? shellWord(join(packageRoot(), 'bin/gatewright')) : 'gatewright';
}

/** The words that run this program: from a clone, from a project's node_modules, or from the PATH. */
function programFrom(cwd: string): string[] {
  const root = packageRoot();
  if (isClone)
    return [...changeOfFolder(cwd), shellWord(pathFrom(cwd, join(root, 'bin/gatewright')))];
  const inProject = root.startsWith(join(cwd, 'node_modules') + sep);
  return inProject ? ['npx', 'gatewright'] : ['gatewright'];
}

/** `npm start` works in the clone, whichever folder it was called in. */
function changeOfFolder(cwd: string): string[] {
  const look = environmentIn(cwd);
  const calledIn = look('npm_lifecycle_event') === undefined ? undefined : look('INIT_CWD');
  return calledIn === undefined || calledIn === cwd ? [] : ['cd', shellWord(cwd), '&&'];
}

/** Relative if below `cwd`, else absolute; always contains a slash, so that PATH is not searched. */
function pathFrom(cwd: string, path: string): string {
  const short = relative(cwd, path);
  if (short.startsWith('..') || isAbsolute(short)) return path;
  return short.includes(sep) ? short : `./${short}`;
}
