/** Parses files to values: YAML 1.2 core or JSON, multiple documents, with limits on everything. */
import { isUtf8 } from 'node:buffer';
import {
  constructFromEvents,
  EVENT_ID,
  type Event,
  getScalarValue,
  parseEvents,
  SCALAR_STYLE,
  YAMLException,
} from 'js-yaml';
import type { Position } from '../resources/resource-set.ts';
import {
  fileFault,
  ignoreFileName,
  type SourceFault,
  type SourceFile,
} from '../source/source-files.ts';
import { depthMax, positionAt, repeatedKeys, type YamlText } from './yaml-position.ts';
import { keysPerMapMax, readPlain } from './yaml-values.ts';

const faultsPerTextMax = 20;
/** In an invalid file with more documents than this, only the first error is reported. */
const documentsMax = 1_000;

/** A document that is not empty. */
export interface YamlDocument {
  readonly source: YamlText;
  /** Index of the document in `source.text`, for position lookups. */
  readonly index: number;
  /** Position of its first key. */
  readonly position: Position;
  readonly value: unknown;
  /** Whether `${` occurs anywhere in the text; most documents need no substitution. */
  readonly mentionsVariables: boolean;
  /** Whether it contains values encrypted by sops. */
  readonly isEncrypted?: boolean | undefined;
}

/**
 * Judges a document by its top-level keys (with their texts, and `{name: ''}` for other values) and
 * by all its texts.
 */
export type HeadingJudge = (heading: Record<string, unknown>, texts: readonly string[]) => boolean;

export interface DocumentsOfFile {
  readonly documents: readonly YamlDocument[];
  readonly faults: readonly SourceFault[];
}

/**
 * Reads every document of a file. Errors are returned as faults, never thrown. Documents next to an
 * invalid one are still read, so that one pass finds all errors.
 *
 * @param isForeign called for documents with YAML that manifests may not use; documents of other
 *   programs may, and their value is then empty
 */
export function readDocuments(file: SourceFile, isForeign: HeadingJudge): DocumentsOfFile {
  const { content, path } = file;
  if (!isUtf8(content)) return { documents: [], faults: [notUtf8(path, content)] };
  const source = new FileText(file);
  const { text } = source;
  const whole = readText(source, text, isForeign);
  if (!whole.isBroken) return whole;
  const parts = splitDocuments({ path, text, linesAbove: 0 });
  if (parts.length < 2) return whole;
  const read = parts.map((part) => readText(part, part.text, isForeign));
  return {
    documents: read.flatMap(({ documents }) => documents),
    faults: read.flatMap(({ faults }) => faults).slice(0, faultsPerTextMax),
  };
}

/** The text of a file, decoded again on each access: few texts are needed, and all are large. */
class FileText implements YamlText {
  readonly path: string;
  readonly linesAbove = 0;
  readonly #content: Buffer;

  constructor({ path, content }: SourceFile) {
    this.path = path;
    this.#content = content;
  }

  get text(): string {
    const text = this.#content.toString('utf8');
    return text.startsWith('\uFEFF') ? text.slice(1) : text;
  }
}

interface DocumentsOfText extends DocumentsOfFile {
  /** Whether the text is not YAML at all, so that documents after the error are unknown. */
  readonly isBroken: boolean;
}

/** @param text of `source` */
function readText(source: YamlText, text: string, isForeign: HeadingJudge): DocumentsOfText {
  try {
    const events = parseEvents(text, { maxDepth: depthMax });
    const plain = readPlain(text, events);
    if (plain !== undefined) {
      const documents = toDocuments(source, text, plain.values, plain.starts);
      return { documents, faults: [], isBroken: false };
    }
    return readUnusual(source, text, events, isForeign);
  } catch (error) {
    return { documents: [], faults: [syntaxFault(source, text, error)], isBroken: true };
  }
}

/** Reads a text with YAML that manifests may not use and documents of other programs may. */
function readUnusual(
  source: YamlText,
  text: string,
  events: readonly Event[],
  isForeign: HeadingJudge,
): DocumentsOfText {
  const values: unknown[] = [];
  const starts: number[] = [];
  const faults: SourceFault[] = [];
  for (const document of documentsOf(events)) {
    const scan = new Scan(source, text);
    const unusual = scan.run(document);
    const isOthers = (): boolean => isForeign(...headingOf(text, document));
    if (unusual.length > 0) {
      if (!isOthers()) faults.push(...unusual);
      values.push(foreignValue);
    } else {
      const read = construct(source, text, document);
      if (read.faults.length > 0 && isOthers()) values.push(foreignValue);
      else {
        faults.push(...read.faults);
        values.push(read.value);
      }
    }
    starts.push(scan.starts[0] ?? 0);
  }
  const isUnclear = faults.some(({ code }) => code !== 'duplicate-key');
  const documents = isUnclear ? [] : toDocuments(source, text, values, starts);
  return { documents, faults: faults.slice(0, faultsPerTextMax), isBroken: false };
}

/** The value of a document of another program that this reader does not parse. */
const foreignValue: readonly unknown[] = [];

/** Splits events by document. */
function documentsOf(events: readonly Event[]): Event[][] {
  const documents: Event[][] = [];
  for (const event of events) {
    if (event.type === EVENT_ID.DOCUMENT) documents.push([]);
    documents.at(-1)?.push(event);
  }
  return documents;
}

/** Returns the arguments of a {@link HeadingJudge} for a document. */
function headingOf(text: string, events: readonly Event[]): Parameters<HeadingJudge> {
  const heading: Record<string, unknown> = {};
  const texts: string[] = [];
  let depth = 0;
  let key: string | undefined;
  for (const event of events) {
    const isScalar = event.type === EVENT_ID.SCALAR;
    const scalar = isScalar ? getScalarValue(text, event) : undefined;
    if (scalar !== undefined) texts.push(scalar);
    if (depth === 2 && event.type !== EVENT_ID.POP) {
      if (key === undefined) key = scalar ?? '';
      else {
        Object.assign(heading, { [key]: scalar ?? { name: '' } });
        key = undefined;
      }
    }
    if (event.type === EVENT_ID.POP) depth -= 1;
    else if (!isScalar && event.type !== EVENT_ID.ALIAS) depth += 1;
  }
  return [heading, texts];
}

function construct(
  source: YamlText,
  text: string,
  events: Event[],
): { readonly value: unknown; readonly faults: readonly SourceFault[] } {
  const options = { source: text, maxAliases: 0 };
  try {
    const [value] = constructFromEvents(events, options);
    return { value, faults: [] };
  } catch (error) {
    const faults = repeatedKeys(source).map(({ key, first, second }): SourceFault => {
      const message = `the key "${shortened(key)}" occurs twice in one map, first on line ${first.line}`;
      return { position: second, code: 'duplicate-key', message, fix: 'remove one of the two' };
    });
    if (faults.length === 0) throw error;
    const [value] = constructFromEvents(events, { ...options, json: true });
    return { value, faults };
  }
}

function toDocuments(
  source: YamlText,
  text: string,
  values: readonly unknown[],
  starts: readonly number[],
): YamlDocument[] {
  const documents: YamlDocument[] = [];
  const mentionsVariables = text.includes('${');
  let line = source.linesAbove + 1;
  let lineStart = 0;
  values.forEach((value, index) => {
    // An empty document has no position and takes the current line.
    const start = Math.max(starts[index] ?? 0, lineStart);
    for (let end = text.indexOf('\n', lineStart); end >= 0 && end < start; ) {
      line += 1;
      lineStart = end + 1;
      end = text.indexOf('\n', lineStart);
    }
    const position = { file: source.path, line, column: start - lineStart + 1 };
    if (value !== null) documents.push({ source, index, position, value, mentionsVariables });
  });
  return documents;
}

/** `---` in the first column always ends a document, so an invalid file can be split there. */
function splitDocuments(source: YamlText): YamlText[] {
  const parts: YamlText[] = [];
  const cuts = [...source.text.matchAll(/^---(?=\s|$)/gm)].map((mark) => mark.index);
  if (cuts.length > documentsMax) return [];
  const starts = [0, ...cuts.filter((cut) => cut > 0)];
  starts.forEach((start, at) => {
    const linesAbove = positionAt(source, start).line - 1;
    parts.push({ path: source.path, text: source.text.slice(start, starts[at + 1]), linesAbove });
  });
  return parts;
}

const plainTags = new Set(['!!str', '!!int', '!!float', '!!bool', '!!null', '!!map', '!!seq', '!']);

/** Number of keys or items in an open map or list so far. */
interface Level {
  readonly isMap: boolean;
  children: number;
}

/** Walks the events of a text and reports YAML that manifests may not use. */
class Scan {
  /** Offset of the content of each document. */
  readonly starts: number[] = [];
  readonly #source: YamlText;
  readonly #text: string;
  readonly #faults: SourceFault[] = [];
  readonly #levels: Level[] = [];

  constructor(source: YamlText, text: string) {
    this.#source = source;
    this.#text = text;
  }

  run(events: readonly Event[]): SourceFault[] {
    for (const event of events) {
      this.#take(event);
      if (this.#faults.length >= faultsPerTextMax) break;
    }
    return this.#faults;
  }

  #take(event: Event): void {
    if (event.type === EVENT_ID.POP) {
      this.#levels.pop();
      return;
    }
    if (event.type === EVENT_ID.DOCUMENT) {
      this.#levels.push({ isMap: false, children: 0 });
      if (event.directives.some(({ kind }) => kind === 'tag')) this.#refuseTagDirective();
      return;
    }
    const start = 'valueStart' in event ? event.valueStart : 'start' in event ? event.start : -1;
    const isKey = this.#count(start);
    if (event.anchorStart >= 0) this.#refuseAnchor(event.anchorStart);
    if (event.type === EVENT_ID.ALIAS) return;
    if (event.tagStart >= 0) this.#checkTag(event.tagStart, event.tagEnd);
    if (event.type === EVENT_ID.SCALAR) {
      if (isKey && event.style === SCALAR_STYLE.PLAIN) {
        this.#checkKey(event.valueStart, event.valueEnd);
      }
      return;
    }
    if (isKey) {
      this.#fault(event.start, 'complex-key', 'a map or list cannot be a key', 'use text as key');
    }
    this.#levels.push({ isMap: event.type === EVENT_ID.MAPPING, children: 0 });
  }

  /** Counts a value in its parent; returns whether it is a key there. */
  #count(start: number): boolean {
    const level = this.#levels.at(-1);
    if (level === undefined) return false;
    if (this.#levels.length === 1) this.starts.push(Math.max(start, 0));
    const isKey = level.isMap && level.children % 2 === 0;
    level.children += 1;
    if (level.isMap && level.children === keysPerMapMax * 2 + 1) {
      const message = `a map has more than ${keysPerMapMax} keys`;
      this.#fault(start, 'too-many-keys', message, 'split it into several resources');
    }
    return isKey;
  }

  #checkKey(start: number, end: number): void {
    const isMerge = end - start === 2 && this.#text.startsWith('<<', start);
    if (!isMerge) return;
    const message = 'merge keys (<<) are not supported';
    this.#fault(start, 'merge-key', message, 'write the fields out');
  }

  #refuseAnchor(start: number): void {
    const message = 'anchors and aliases (& and *) are not supported';
    // The event points behind the & or *.
    this.#fault(start - 1, 'anchor', message, 'write the value out, or quote it if it is text');
  }

  #checkTag(start: number, end: number): void {
    const tag = this.#text.slice(start, end);
    if (plainTags.has(tag)) return;
    const message = `the tag ${shortened(tag)} is not known`;
    this.#fault(start, 'tag', message, 'remove the tag, or quote the value if it is text');
  }

  #refuseTagDirective(): void {
    this.#fault(0, 'directive', 'the %TAG directive is not supported', 'remove the line');
  }

  #fault(offset: number, code: string, message: string, fix: string): void {
    const position = positionAt(this.#source, Math.max(offset, 0));
    this.#faults.push({ position, code, message, fix });
  }
}

/** Fixes for parser errors, in words for people who write YAML by hand. */
const syntaxFixes: readonly (readonly [RegExp, string])[] = [
  [/tab characters/, 'indent with spaces'],
  [/bad indentation of a mapping/, 'align the key with those above; quote text that holds ": "'],
  [/bad indentation of a sequence/, 'align the "-" with those above'],
  [/deficient indentation/, 'close the bracket or quote that is open above, or indent this line'],
  [/end of the stream/, 'check the indentation of this line and of the one above'],
  [/null byte|non-printable|control/, 'save the file as UTF-8 text'],
  [/escape sequence/, 'double the backslash, or use single quotes'],
  [/multiline key|implicit/, 'put the key and its ":" on one line'],
];

function syntaxFault(source: YamlText, text: string, error: unknown): SourceFault {
  const reason = error instanceof YAMLException ? error.reason : 'cannot be read as YAML';
  const offset = error instanceof YAMLException ? (error.mark?.position ?? 0) : 0;
  return {
    position: positionAt(source, Math.min(offset, Math.max(text.length - 1, 0))),
    code: 'yaml-syntax',
    message: reason,
    fix: [
      ...syntaxFixes
        .filter(([words]) => words.test(reason))
        .slice(0, 1)
        .map(([, fix]) => fix),
      `name the file in ${ignoreFileName} if it contains no manifest`,
    ].join(', or '),
  };
}

function notUtf8(path: string, content: Buffer): SourceFault {
  const decoded = content.toString('utf8');
  const source = { path, text: decoded, linesAbove: 0 };
  const position = positionAt(source, Math.max(decoded.indexOf('\uFFFD'), 0));
  const fault = fileFault(path, 'encoding', 'the file is not UTF-8 text', 'save it as UTF-8');
  return { ...fault, position };
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
