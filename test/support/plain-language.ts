/** Finds comments, names and test titles that break the project's rules for plain language. */
import { parseSync } from 'rolldown/utils';

export interface StyleFault {
  /** 1-based. */
  readonly line: number;
  readonly message: string;
}

/**
 * Words that name no subject. A sentence of a comment and the title of a `describe` must not start with
 * them. The pattern is anchored, so the same words are allowed inside a sentence.
 */
const bannedOpenings =
  /^(?:Of|Those|Who|Whoever|Whose|Whom|What|Whatever|By which|By whom|With what|With whom|In whose|In which|For whom|To whom|To which|From whom|From which|On which|At which|Knows)\b/;
/** Parts of a camelCase name that say nothing about the value. */
const bannedNameParts = new Set(['told', 'said', 'asked', 'shown', 'kept', 'heard']);
/** A type name that consists of one participle, regular (`Resolved`) or irregular (`Sent`). */
const bareParticiples =
  /^(?:[A-Z][a-z]*ed|Told|Asking|Shown|Wanted|Made|Found|Kept|Heard|Said|Given|Taken|Held|Known|Sent|Read|Written|Drawn|Left|Met|Meant|Spoken|Got|Lost|Built|Bound|Chosen|Begun|Broken|Seen|Set)$/;
/** Nouns and adjectives of the field that only look like participles. */
const nounsInEd = new Set(['Feed', 'Seed', 'Embed', 'Need', 'Speed']);

/** A comment as one text without markers and line breaks; consecutive `//` lines are one comment. */
interface Comment {
  readonly line: number;
  readonly text: string;
}

/** Every fault of one source file; `path` is relative to the project and selects the rules of tests. */
export function findStyleFaults(path: string, source: string): StyleFault[] {
  const program = parseSync(path, source);
  const lineOf = lineIndex(source);
  const comments = commentsOf(program.comments, source, lineOf);
  return [
    ...headerFaults(source),
    ...comments.flatMap(openingFaults),
    ...nodeFaults(path, program.program, lineOf),
  ].toSorted((a, b) => a.line - b.line);
}

/** The header is a doc comment on the first line, or on the second below `#!`. */
function headerFaults(source: string): StyleFault[] {
  const header = /^(?:#!.*\n)?\/\*\*\s+([\s\S]*?)\*\//.exec(source)?.[1];
  if (header === undefined) return [{ line: 1, message: 'the file has no header comment' }];
  const text = plainText(header);
  if (!/^[A-Z`'"]/.test(text)) return [{ line: 1, message: 'the header starts in lower case' }];
  if (!/[.:)]$/.test(text)) return [{ line: 1, message: 'the header ends without a full stop' }];
  return [];
}

function openingFaults({ line, text }: Comment): StyleFault[] {
  return sentencesOf(text)
    .filter((sentence) => bannedOpenings.test(sentence))
    .map((sentence) => ({ line, message: `sentence without a subject: "${cut(sentence)}"` }));
}

/**
 * Splits a comment into sentences. A sentence ends with `.`, `?` or `!` before white space and a capital
 * letter or a code span. The text behind `@throws`, `@returns` and `@param name` is a sentence of its own.
 */
function sentencesOf(text: string): string[] {
  return text
    .split(/(?<=[.?!])\s+(?=[A-Z`])|@(?:throws|returns|param \S+)\s+/)
    .map((sentence) => sentence.trim());
}

function cut(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** Removes the ` * ` in front of each line, and joins the lines. */
function plainText(comment: string): string {
  return comment
    .replace(/^\s*\*? ?/gm, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

function commentsOf(
  raw: readonly { type: string; value: string; start: number; end: number }[],
  source: string,
  lineOf: (offset: number) => number,
): Comment[] {
  const comments: Comment[] = [];
  let lastOwnLine = Number.NaN;
  for (const { type, value, start } of raw) {
    const line = lineOf(start);
    const text = plainText(type === 'Block' ? value.replace(/^\*/, '') : value);
    const hasOwnLine = source.slice(source.lastIndexOf('\n', start) + 1, start).trim() === '';
    const last = comments.at(-1);
    if (last !== undefined && type === 'Line' && hasOwnLine && lastOwnLine === line - 1) {
      comments[comments.length - 1] = { ...last, text: `${last.text} ${text}` };
    } else comments.push({ line, text });
    lastOwnLine = type === 'Line' && hasOwnLine ? line : Number.NaN;
  }
  return comments;
}

/** Returns the function that maps an offset to its 1-based line. */
function lineIndex(source: string): (offset: number) => number {
  const starts = [0];
  for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1))
    starts.push(at + 1);
  return (offset) => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly [member: string]: unknown;
}

function nodeFaults(
  path: string,
  program: unknown,
  lineOf: (offset: number) => number,
): StyleFault[] {
  const faults: StyleFault[] = [];
  const report = (node: SyntaxNode, message: string | null): void => {
    if (message !== null) faults.push({ line: lineOf(node.start), message });
  };
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if (Array.isArray(node)) {
      for (const child of node) visit(child);
      return;
    }
    const known = node as SyntaxNode;
    if (typeof known.type === 'string') {
      report(known, nameFault(known));
      report(known, spreadFault(known));
      if (path.startsWith('test/')) report(known, titleFault(known));
    }
    for (const [member, child] of Object.entries(known)) {
      if (member !== 'parent' && !(member === 'key' && isDataProperty(known))) visit(child);
    }
  };
  visit(program);
  return faults;
}

function nameFault(node: SyntaxNode): string | null {
  if (node.type === 'TSInterfaceDeclaration' || node.type === 'TSTypeAliasDeclaration') {
    return typeNameFault((node.id as { name: string }).name);
  }
  if (node.type === 'ClassDeclaration' && node.id !== null) {
    return typeNameFault((node.id as { name: string }).name);
  }
  if (node.type !== 'Identifier' && node.type !== 'PrivateIdentifier') return null;
  const name = node.name as string;
  if (isWireName(name)) return null;
  const part = name
    .split(/(?=[A-Z])/)
    .map((word) => word.toLowerCase())
    .find((word) => bannedNameParts.has(word));
  return part === undefined ? null : `the name ${name} uses "${part}"`;
}

/** SQL columns and JSON fields are in snake_case; they belong to the interface and are not renamed. */
function isWireName(name: string): boolean {
  return name.includes('_');
}

/** A property with a literal value, such as `{ told: 'link' }`, is data: its name belongs to the interface. */
function isDataProperty(node: SyntaxNode): boolean {
  return node.type === 'Property' && (node.value as SyntaxNode).type === 'Literal';
}

function typeNameFault(name: string): string | null {
  if (!bareParticiples.test(name) || nounsInEd.has(name)) return null;
  return `the type name ${name} is a bare participle`;
}

/** A spread of a literal packs properties past the formatter. */
function spreadFault(node: SyntaxNode): string | null {
  if (node.type !== 'SpreadElement') return null;
  let argument = node.argument as SyntaxNode;
  while (argument.type === 'TSAsExpression' || argument.type === 'ParenthesizedExpression') {
    argument = argument.expression as SyntaxNode;
  }
  const isLiteral = argument.type === 'ObjectExpression' || argument.type === 'ArrayExpression';
  return isLiteral ? 'spread of a literal' : null;
}

/** Words that may stand before the verb of a title. */
const adverbs = 'never|neither|also|only|still|always|then|first|at most|at least';
/** Words in -s that are no verb. */
const noVerbs = 'always|as|this|its|less|across|unless|others|whereas|perhaps|sometimes|besides';
/** An optional adverb, then a word in -s, which is taken for a verb in the third person, or a modal verb. */
const titleVerb = new RegExp(
  `^(?:(?:${adverbs}) )?(?:(?!(?:${noVerbs})\\b)[a-z][a-z-]*s|may|can|cannot|must)\\b`,
);

/**
 * The title of an `it` starts with a verb in the third person, or with a placeholder for a value of its
 * table (`%s`, `$name`, `${name}`). The title of a `describe` names a thing.
 */
function titleFault(node: SyntaxNode): string | null {
  if (node.type !== 'CallExpression') return null;
  const callee = node.callee as SyntaxNode;
  const text = titleText((node.arguments as SyntaxNode[])[0]);
  if (text === null || /^(?:[%$]|\$\{)/.test(text)) return null;
  if (isCallOf(['describe'], callee)) {
    const capitalised = text[0]!.toUpperCase() + text.slice(1);
    return bannedOpenings.test(capitalised) ? `title that names no thing: "${cut(text)}"` : null;
  }
  if (!isCallOf(['it', 'test'], callee)) return null;
  return titleVerb.test(text) ? null : `title without a verb in front: "${cut(text)}"`;
}

function titleText(title: SyntaxNode | undefined): string | null {
  if (title?.type === 'Literal') return typeof title.value === 'string' ? title.value : null;
  if (title?.type !== 'TemplateLiteral') return null;
  const [first] = title.quasis as { value: { raw: string } }[];
  return first!.value.raw === '' ? '${' : first!.value.raw;
}

/** `it(`, `it.only(`, `it.each(…)(`, `it.each`…`(`, `it.skipIf(…)(` and chains of these, for each name. */
function isCallOf(names: readonly string[], callee: SyntaxNode): boolean {
  if (callee.type === 'Identifier') return names.includes(callee.name as string);
  if (callee.type === 'MemberExpression') {
    const { name = '' } = callee.property as { name?: string };
    const isModifier = ['only', 'skip', 'concurrent', 'sequential', 'fails'].includes(name);
    return isModifier && isCallOf(names, callee.object as SyntaxNode);
  }
  if (callee.type === 'TaggedTemplateExpression') {
    return isTableOf(names, callee.tag as SyntaxNode);
  }
  return callee.type === 'CallExpression' && isTableOf(names, callee.callee as SyntaxNode);
}

/** The part of `it.each(…)(` in front of the table. */
function isTableOf(names: readonly string[], callee: SyntaxNode): boolean {
  if (callee.type !== 'MemberExpression') return false;
  const { name = '' } = callee.property as { name?: string };
  const takesTable = ['each', 'for', 'skipIf', 'runIf'].includes(name);
  return takesTable && isCallOf(names, callee.object as SyntaxNode);
}
