/** Finds comments, names and test titles that break the project's rules for plain language. */
import { parseSync } from 'rolldown/utils';

export interface StyleFault {
  /** 1-based. */
  readonly line: number;
  readonly message: string;
}

/** Words that name no subject, so no sentence of a comment, message or title may start with them. */
const bannedOpenings =
  /^(?:Of|Those|Who|Whoever|Whose|Whom|What|Whatever|By which|By whom|With what|With whom|In whose|In which|For whom|To whom|To which|From whom|From which|On which|At which|Knows)\b/;
const bannedNameParts = new Set(['told', 'said', 'asked', 'shown', 'kept', 'heard']);
const bareParticiples =
  /^(?:[A-Z][a-z]*ed|Told|Asking|Shown|Wanted|Made|Found|Kept|Heard|Said|Given|Taken|Held|Known|Sent|Read|Written|Drawn|Left|Met|Meant|Spoken|Got|Lost|Built|Bound|Chosen|Begun|Broken|Seen|Set)$/;
/** Nouns and adjectives of the field that only look like participles. */
const nounsInEd = new Set(['Feed', 'Seed', 'Embed', 'Need', 'Speed']);

/** A comment as one text: markers and line breaks removed. */
interface Comment {
  readonly line: number;
  readonly text: string;
  readonly isDoc: boolean;
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

/** Sentences of a comment; a sentence ends with a full stop, a question mark or a semicolon. */
function sentencesOf(text: string): string[] {
  return text
    .split(/(?<=[.?!])\s+(?=[A-Z`])|@(?:throws|returns|param \S+)\s+/)
    .map((sentence) => sentence.trim());
}

function cut(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

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
  const comments: (Comment & { readonly lastLine: number })[] = [];
  for (const { type, value, start, end } of raw) {
    const line = lineOf(start);
    const isDoc = type === 'Block' && value.startsWith('*');
    const text = plainText(isDoc ? value.slice(1) : value);
    const last = comments.at(-1);
    const standsAlone = source.slice(source.lastIndexOf('\n', start) + 1, start).trim() === '';
    if (type === 'Line' && last !== undefined && last.lastLine === line - 1 && standsAlone) {
      comments[comments.length - 1] = { ...last, text: `${last.text} ${text}`, lastLine: line };
    } else comments.push({ line, text, isDoc, lastLine: lineOf(end) });
  }
  return comments;
}

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
      if (member !== 'parent') visit(child);
    }
  };
  visit(program);
  return faults;
}

function nameFault(node: SyntaxNode): string | null {
  if (node.type === 'TSInterfaceDeclaration' || node.type === 'TSTypeAliasDeclaration') {
    return typeNameFault((node['id'] as { name: string }).name);
  }
  if (node.type === 'ClassDeclaration' && node['id'] !== null) {
    return typeNameFault((node['id'] as { name: string }).name);
  }
  if (node.type !== 'Identifier' && node.type !== 'PrivateIdentifier') return null;
  const name = node['name'] as string;
  const part = name
    .split(/(?=[A-Z])|_/)
    .map((word) => word.toLowerCase())
    .find((word) => bannedNameParts.has(word));
  return part === undefined ? null : `the name ${name} uses "${part}"`;
}

function typeNameFault(name: string): string | null {
  if (!bareParticiples.test(name) || nounsInEd.has(name)) return null;
  return `the type name ${name} is a bare participle`;
}

/** A spread of a literal packs properties past the formatter. */
function spreadFault(node: SyntaxNode): string | null {
  if (node.type !== 'SpreadElement') return null;
  let argument = node['argument'] as SyntaxNode;
  while (argument.type === 'TSAsExpression' || argument.type === 'ParenthesizedExpression') {
    argument = argument['expression'] as SyntaxNode;
  }
  const isLiteral = argument.type === 'ObjectExpression' || argument.type === 'ArrayExpression';
  return isLiteral ? 'spread of a literal' : null;
}

/** Words that may stand before the verb of a title. */
const adverbs = 'never|also|only|still|always|then|first|at most|at least';
const titleVerb = new RegExp(`^(?:(?:${adverbs}) )?[a-z][a-z-]*s\\b`);

/** A title of `it` starts with a verb in the third person, or with a value of its table. */
function titleFault(node: SyntaxNode): string | null {
  if (node.type !== 'CallExpression' || !isTestCall(node['callee'] as SyntaxNode)) return null;
  const [title] = node['arguments'] as SyntaxNode[];
  const text = titleText(title);
  if (text === null || /^(?:[%$]|\$\{)/.test(text)) return null;
  return titleVerb.test(text) ? null : `title without a verb in front: "${cut(text)}"`;
}

function titleText(title: SyntaxNode | undefined): string | null {
  if (title?.type === 'Literal') return typeof title['value'] === 'string' ? title['value'] : null;
  if (title?.type !== 'TemplateLiteral') return null;
  const [first] = title['quasis'] as { value: { raw: string } }[];
  return first!.value.raw === '' ? '${' : first!.value.raw;
}

/** `it(`, `test(`, `it.each(…)(`, `it.skipIf(…)(`, `it.only(` and chains of these. */
function isTestCall(callee: SyntaxNode): boolean {
  if (callee.type === 'Identifier') return callee['name'] === 'it' || callee['name'] === 'test';
  if (callee.type === 'MemberExpression') {
    const member = (callee['property'] as { name?: string }).name ?? '';
    return ['only', 'skip', 'concurrent', 'fails'].includes(member)
      ? isTestCall(callee['object'] as SyntaxNode)
      : false;
  }
  if (callee.type === 'TaggedTemplateExpression') return isEach(callee['tag'] as SyntaxNode);
  return callee.type === 'CallExpression' && isEach(callee['callee'] as SyntaxNode);
}

function isEach(callee: SyntaxNode): boolean {
  if (callee.type !== 'MemberExpression') return false;
  const member = (callee['property'] as { name?: string }).name ?? '';
  return (
    ['each', 'for', 'skipIf', 'runIf'].includes(member) &&
    isTestCall(callee['object'] as SyntaxNode)
  );
}
