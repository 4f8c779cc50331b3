/** Knows how a command of this program is written down so that it runs as it stands in the user's shell. */
import { isAbsolute, join, relative, sep } from 'node:path';
import { packageRoot } from '../../package-root.ts';
import { environmentIn } from '../../settings/reading/environment.ts';
import { printable } from '../../terminal-text.ts';

/** What a command is told beside its words; `true` for a switch, undefined or none for what is left out. */
export type GivenOptions = Readonly<
  Record<string, string | boolean | readonly string[] | undefined>
>;

/**
 * `bin/gatewright apply ./gateway --owner team-a`, for a shell that stands where `npm start` or this
 * program was called, `cwd` being the folder that this program works in.
 */
export function shellLine(
  cwd: string,
  verb: string,
  words: readonly string[],
  options: GivenOptions,
): string {
  const told = Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || value === false) return [];
    if (value === true) return [`--${name}`];
    const values = typeof value === 'string' ? [value] : value;
    return values.flatMap((one) =>
      one.startsWith('-') ? [`--${name}=${shellWord(one)}`] : [`--${name}`, shellWord(one)],
    );
  });
  const alone = words.map(shellWord);
  const looksLikeOption = words.some((word) => word.length > 1 && word.startsWith('-'));
  const all = looksLikeOption ? [...told, '--', ...alone] : [...alone, ...told];
  return [...programFrom(cwd), verb, ...all].join(' ');
}

/** What no shell reads anything into, wherever it stands. */
const plain = /^[\w./:@%+,-][\w./:@%+,=-]*$/;

/** A word as a POSIX shell takes it; what a terminal would obey is told by its bytes. */
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

/** How to call this program: from a clone, from the packages of a project, or by its name alone. */
function programFrom(cwd: string): string[] {
  const root = packageRoot();
  const isClone = import.meta.filename.endsWith('.ts');
  if (isClone)
    return [...changeOfFolder(cwd), shellWord(pathFrom(cwd, join(root, 'bin/gatewright')))];
  const inProject = root.startsWith(join(cwd, 'node_modules') + sep);
  return inProject ? ['npx', 'gatewright'] : ['gatewright'];
}

/** `npm start` works in the clone, wherever it was called. */
function changeOfFolder(cwd: string): string[] {
  const look = environmentIn(cwd);
  const calledIn = look('npm_lifecycle_event') === undefined ? undefined : look('INIT_CWD');
  return calledIn === undefined || calledIn === cwd ? [] : ['cd', shellWord(cwd), '&&'];
}

/** Relative where it lies below, absolute elsewhere; always with a slash, so that no search path counts. */
function pathFrom(cwd: string, path: string): string {
  const short = relative(cwd, path);
  if (short.startsWith('..') || isAbsolute(short)) return path;
  return short.includes(sep) ? short : `./${short}`;
}
