/** Parses `.gatewrightignore` by the grammar of .gitignore, and applies its rules. */
import { isUtf8 } from 'node:buffer';
import { Failure } from '../../failure.ts';
import { fileFault, ignoreFileName, type SourceFault } from './source-files.ts';

// Written here because libraries for this grammar compile lines to regular expressions with
// backtracking, and anybody who can write to the source can write the lines.

const ignoreBytesMax = 64 * 1024;
const rulesMax = 1_000;
const ruleLengthMax = 500;
/** Limit of character comparisons for a whole source; takes less than a second. */
const stepsMax = 50_000_000;

/** One part of a name: a character, any character, one of a set, or any number of characters. */
type Token = string | { readonly any: 'one' | 'many' } | CharacterClass;

interface CharacterClass {
  readonly any?: undefined;
  readonly negated: boolean;
  readonly ranges: readonly (readonly [string, string])[];
}

/** A name as tokens, or any number of folders. */
type Segment = readonly Token[] | '**';

export interface IgnoreRule {
  /** Starts with `!`: reverts an earlier rule. */
  readonly negated: boolean;
  readonly foldersOnly: boolean;
  readonly segments: readonly Segment[];
}

/** Parses the rules of one file; a line that can never match is a fault. */
export function parseIgnoreFile(
  path: string,
  content: Buffer,
): { readonly rules: readonly IgnoreRule[]; readonly faults: readonly SourceFault[] } {
  const refuse = (message: string) => ({
    rules: [],
    faults: [fileFault(path, 'ignore-file', message)],
  });
  if (content.length > ignoreBytesMax) return refuse('the file is larger than 64 KiB');
  if (!isUtf8(content)) return refuse('the file is not UTF-8 text');
  const rules: IgnoreRule[] = [];
  const faults: SourceFault[] = [];
  const lines = content
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/);
  lines.forEach((line, at) => {
    const rule = parseLine(line);
    if (rule === null) return;
    if ('segments' in rule) {
      rules.push(rule);
      return;
    }
    const position = { file: path, line: at + 1, column: 1 };
    faults.push({ position, code: 'ignore-file', ...rule });
  });
  if (rules.length > rulesMax) return refuse(`the file has more than ${rulesMax} rules`);
  return { rules, faults };
}

interface Wrong {
  readonly message: string;
  readonly fix?: string;
}

/** Null for a line without a rule. */
function parseLine(line: string): IgnoreRule | Wrong | null {
  const text = line.replace(/(?<=(?:^|[^\\])(?:\\\\)*) +$/, '');
  if (text === '' || text.startsWith('#')) return null;
  if (text.length > ruleLengthMax)
    return { message: `a rule is longer than ${ruleLengthMax} characters` };
  const negated = text.startsWith('!');
  const pattern = negated ? text.slice(1) : text;
  const foldersOnly = pattern.endsWith('/');
  const trimmed = foldersOnly ? pattern.slice(0, -1) : pattern;
  const isAnchored = trimmed.includes('/');
  const names = trimmed.replace(/^\//, '').split('/');
  if (names.includes('')) {
    return { message: 'a rule needs names between its slashes', fix: 'write * for every name' };
  }
  if (names.includes('.') || names.includes('..')) {
    return {
      message: 'a rule cannot contain . or ..',
      fix: 'start it at the folder of this file: /name',
    };
  }
  const segments: Segment[] = isAnchored ? [] : ['**'];
  for (const name of names) {
    const segment = name === '**' ? name : tokensOf(name);
    if (typeof segment === 'object' && 'message' in segment) return segment;
    segments.push(segment);
  }
  // `a/**` matches everything in a, but not a itself.
  if (segments.at(-1) === '**') segments.push([{ any: 'many' }]);
  return { negated, foldersOnly, segments };
}

function tokensOf(name: string): readonly Token[] | Wrong {
  const characters = [...name];
  const tokens: Token[] = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at]!;
    if (character === '\\') {
      at += 1;
      const escaped = characters[at];
      if (escaped === undefined)
        return {
          message: 'a backslash is followed by nothing',
          fix: String.raw`write \\ for a backslash`,
        };
      tokens.push(escaped);
    } else if (character === '[') {
      const end = classEnd(characters, at);
      if (end < 0) return { message: 'a [ is not closed', fix: String.raw`write \[ for a bracket` };
      const found = classOf(characters.slice(at + 1, end));
      if ('message' in found) return found;
      tokens.push(found);
      at = end;
    } else if (character === '?') tokens.push({ any: 'one' });
    else if (character !== '*') tokens.push(character);
    else if (characters[at + 1] !== '*') tokens.push({ any: 'many' });
    else return { message: '** must be alone between slashes', fix: 'write * within a name' };
  }
  return tokens;
}

/** Index of the `]` that closes a class; a leading one belongs to the class. */
function classEnd(characters: readonly string[], start: number): number {
  let at = start + 1;
  if (characters[at] === '!' || characters[at] === '^') at += 1;
  if (characters[at] === ']') at += 1;
  for (; at < characters.length; at += 1) {
    if (characters[at] === ']') return at;
    if (characters[at] === '\\') at += 1;
  }
  return -1;
}

function classOf(characters: readonly string[]): CharacterClass | Wrong {
  const negated = characters[0] === '!' || characters[0] === '^';
  const ranges: [string, string][] = [];
  for (let at = negated ? 1 : 0; at < characters.length; at += 1) {
    if (characters[at] === '[' && characters[at + 1] === ':') {
      return { message: 'classes of the form [:name:] are not supported', fix: 'write [a-z]' };
    }
    if (characters[at] === '\\') at += 1;
    const first = characters[at]!;
    const isRange = characters[at + 1] === '-' && at + 2 < characters.length;
    if (isRange) at += characters[at + 2] === '\\' ? 3 : 2;
    ranges.push([first, isRange ? characters[at]! : first]);
  }
  return { negated, ranges };
}

function isMany(token: Token | Segment | undefined): boolean {
  return token === '**' || (typeof token === 'object' && 'any' in token && token.any === 'many');
}

/** The rules of all folders of one source, and what they excluded. */
export class IgnoreRules {
  /** By folder: '' or `a/b`. */
  readonly #rules = new Map<string, readonly IgnoreRule[]>();
  readonly #covered = new Map<string, boolean>();
  readonly #ignored = new Set<string>();
  #stepsLeft = stepsMax;

  /** Excluded files and folders (with a trailing `/`), in order. */
  get ignored(): string[] {
    return [...this.#ignored].sort();
  }

  /** @param folder of the rules: '' or `a/b`. Parent folders must be checked first. */
  add(folder: string, rules: readonly IgnoreRule[]): void {
    if (rules.length > 0) this.#rules.set(folder, rules);
  }

  /**
   * Returns whether a file is excluded, by a rule or with a parent folder.
   *
   * @throws Failure (invalid input) when rules are too costly
   */
  leavesOut(path: string): boolean {
    if (this.#rules.size === 0) return false;
    const slash = path.lastIndexOf('/');
    if (slash >= 0 && this.leavesOutFolder(path.slice(0, slash))) return true;
    const isLeftOut = this.#isCovered(path, false);
    if (isLeftOut) this.#ignored.add(path);
    return isLeftOut;
  }

  /** Like {@link leavesOut}, for a folder. */
  leavesOutFolder(folder: string): boolean {
    if (this.#rules.size === 0) return false;
    const known = this.#covered.get(folder);
    if (known !== undefined) return known;
    const slash = folder.lastIndexOf('/');
    const isBelow = slash >= 0 && this.leavesOutFolder(folder.slice(0, slash));
    const isCovered = !isBelow && this.#isCovered(folder, true);
    if (isCovered) this.#ignored.add(`${folder}/`);
    this.#covered.set(folder, isBelow || isCovered);
    return isBelow || isCovered;
  }

  /** The last matching rule decides; rules of the nearest folder come first. */
  #isCovered(path: string, isFolder: boolean): boolean {
    const names = path.split('/').map((name) => [...name]);
    const folderOf = (depth: number): string => path.split('/').slice(0, depth).join('/');
    for (let depth = names.length - 1; depth >= 0; depth -= 1) {
      const rules = this.#rules.get(folderOf(depth));
      const below = names.slice(depth);
      const rule = rules?.findLast(
        (each) => (isFolder || !each.foldersOnly) && this.#matchesPath(each.segments, below),
      );
      if (rule !== undefined) return !rule.negated;
    }
    return false;
  }

  /** @param names of the path, as characters */
  #matchesPath(segments: readonly Segment[], names: readonly (readonly string[])[]): boolean {
    return this.#matches(
      segments,
      names,
      (segment, name) => segment !== '**' && this.#matches(segment, name, isOf),
    );
  }

  /**
   * Matches items against a pattern with wildcards for any number of items. Backtracks to the last
   * wildcard only, which is sufficient and takes at most parts times items.
   */
  #matches<Part extends Token | Segment, Item>(
    parts: readonly Part[],
    items: readonly Item[],
    fits: (part: Part, item: Item) => boolean,
  ): boolean {
    let [part, item, lastMany, resume] = [0, 0, -1, 0];
    while (item < items.length) {
      this.#stepsLeft -= 1;
      if (this.#stepsLeft < 0) throw tooCostly();
      if (isMany(parts[part])) {
        lastMany = part;
        resume = item;
        part += 1;
      } else if (part < parts.length && fits(parts[part]!, items[item]!)) {
        part += 1;
        item += 1;
      } else if (lastMany < 0) {
        return false;
      } else {
        part = lastMany + 1;
        resume += 1;
        item = resume;
      }
    }
    while (isMany(parts[part])) part += 1;
    return part === parts.length;
  }
}

function isOf(token: Token, character: string): boolean {
  if (typeof token === 'string') return token === character;
  if (token.any !== undefined) return true;
  return (
    token.ranges.some(([first, last]) => first <= character && character <= last) !== token.negated
  );
}

function tooCostly(): Failure {
  const message = `The rules of ${ignoreFileName} take too long on this source. Use fewer of them, with fewer *.`;
  return new Failure('invalidInput', message);
}
