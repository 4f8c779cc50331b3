/** Formats manifests: keys in camelCase, the envelope in order, two spaces, comments preserved. */

import { isDeepStrictEqual } from 'node:util';
import {
  type Document,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  type Pair,
  parseAllDocuments,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { isObject } from '../../model/json/read-object.ts';
import { type KindName, kindNames } from '../../model/kinds/kinds.ts';
import { isForeignDocument, isForeignHeading } from '../manifest/document-owner.ts';
import { isEncryptedFile } from '../manifest/encrypted-files.ts';
import { metadataKeys } from '../manifest/manifest-metadata.ts';
import { type Shape, shapeOf, toCamelCase, toSnakeCase } from '../resources/spec-shape.ts';
import type { SourceFile } from '../source/source-files.ts';
import { readDocuments } from '../yaml/yaml-document.ts';

/** The formatted text of a file, or why it is left unchanged. */
export type FormatResult =
  | { readonly text: string; readonly refusal?: undefined }
  | { readonly text?: undefined; readonly refusal: string | null };

const envelopeOrder = ['apiVersion', 'kind', 'patch', 'metadata', 'spec', 'items', 'state'];

/**
 * Formats a file. Values and comments are compared before and after, so that the meaning never
 * changes.
 *
 * @returns a refusal of null for files of other programs
 */
export function formatFile(file: SourceFile): FormatResult {
  const before = readDocuments(file, isForeignHeading);
  const [fault] = before.faults;
  if (fault !== undefined) {
    const { line, column } = fault.position;
    return { refusal: `${line}:${column}: ${fault.message}` };
  }
  if (before.documents.some(({ value }) => holdsForeign(value))) return { refusal: null };
  // The MAC of sops depends on the order of values and the names of keys.
  if (isEncryptedFile(before.documents)) return { refusal: null };
  if (before.documents.length === 0) return { refusal: null };
  const original = file.content.toString('utf8').replace(/^\uFEFF/, '');
  const text = written(original);
  if (text === null) return lossyResult;
  const after = readDocuments({ path: file.path, content: Buffer.from(text) }, isForeignHeading);
  const isPreserved =
    after.faults.length === 0 &&
    written(text) === text &&
    isDeepStrictEqual(meaningOf(before.documents), meaningOf(after.documents)) &&
    isDeepStrictEqual(commentsOf(original), commentsOf(text));
  return isPreserved ? { text } : lossyResult;
}

const lossyResult: FormatResult = {
  refusal: 'formatting would lose part of it; format it by hand',
};

/** A list of manifests may use the version of a Kubernetes List. */
function holdsForeign(value: unknown): boolean {
  const isList = isObject(value) && value.kind === 'List' && Array.isArray(value.items);
  return isList ? (value.items as unknown[]).some(isForeignDocument) : isForeignDocument(value);
}

/** Returns null when this YAML library reads the text differently from the manifest reader. */
function written(original: string): string | null {
  const parsed = parseAllDocuments(original, { version: '1.2', schema: 'core' });
  const documents = 'empty' in parsed ? [] : parsed;
  if (documents.some(({ errors }) => errors.length > 0)) return null;
  const folded = new FoldedTexts(original);
  for (const document of documents) {
    arrange(document.contents, original);
    folded.takeFrom(document.contents);
  }
  const text = folded.putInto(documents.map((document) => write(document)).join(''));
  return /\r\n/.test(original) ? text.replaceAll(/\r?\n/g, '\r\n') : text;
}

function write(document: Document): string {
  return document.toString({ lineWidth: 0, indent: 2, flowCollectionPadding: false });
}

function arrange(contents: Node | null, original: string): void {
  if (!isMap(contents)) return;
  openLongFlows(contents, original);
  moveComments(contents, original);
  const kind = contents.get('kind');
  if (kind === 'List') {
    const items = contents.get('items');
    if (isSeq(items)) for (const item of items.items) arrange(item as Node, original);
  } else {
    const spec = contents.get('spec');
    const known = kindNames.find((name) => name === kind);
    // Keys of a patch may be names of list entries, which have one spelling only.
    if (known !== undefined && isMap(spec) && !contents.has('patch')) respell(spec, known);
  }
  order(contents, envelopeOrder, true);
  const metadata = contents.get('metadata');
  if (isMap(metadata)) order(metadata, metadataKeys);
}

/**
 * A comment below a list whose dashes are under the key, with the indentation of the key, belongs
 * to the next key; the library attaches it to the list.
 */
function moveComments(map: YAMLMap, original: string): void {
  for (const [at, { key, value }] of map.items.entries()) {
    const next = map.items[at + 1]?.key as Node | undefined;
    if (
      isSeq(value) &&
      value.comment != null &&
      next !== undefined &&
      isUnder(key, value, original)
    ) {
      next.commentBefore = [value.comment, next.commentBefore]
        .filter((text) => text != null)
        .join('\n');
      next.spaceBefore = true;
      value.comment = null;
    }
    for (const inner of isSeq(value) ? value.items : [value]) {
      if (isMap(inner)) moveComments(inner, original);
    }
  }
}

function isUnder(key: unknown, list: YAMLSeq, original: string): boolean {
  const [keyStart = 0] = (key as Node).range ?? [];
  const [listStart = 0] = list.range ?? [];
  const column = (offset: number): number => offset - original.lastIndexOf('\n', offset - 1);
  return list.flow !== true && column(keyStart) === column(listStart);
}

/** Multi-line flow collections become block style instead of one long line. */
function openLongFlows(node: YAMLMap | YAMLSeq, original: string): void {
  const [start = 0, end = 0] = node.range ?? [];
  if (original.slice(start, end).includes('\n') && node.items.length > 0) node.flow = false;
  for (const item of node.items) {
    const value = isPair(item) ? item.value : item;
    if (isCollection(value)) openLongFlows(value as YAMLMap | YAMLSeq, original);
  }
}

/**
 * Folded texts (`>`), whose line breaks belong to the author: each is taken out and put back
 * unchanged.
 */
class FoldedTexts {
  readonly #original: string;
  readonly #texts = new Map<string, string>();

  constructor(original: string) {
    this.#original = original;
  }

  takeFrom(node: unknown): void {
    if (isPair(node)) this.takeFrom(node.value);
    else if (isCollection(node)) for (const item of node.items) this.takeFrom(item);
    else if (isScalar(node) && node.type === 'BLOCK_FOLDED') this.#take(node);
  }

  putInto(text: string): string {
    return text.replaceAll(placeholder, (mark: string, at: number) => {
      const folded = this.#texts.get(mark);
      if (folded === undefined) return mark;
      const start = text.lastIndexOf('\n', at) + 1;
      const indent = /^(?: |- )*/.exec(text.slice(start, at))![0].length;
      const isItem = start + indent === at;
      const margin = ' '.repeat(isItem ? indent : indent + 2);
      const [head, ...lines] = folded.split('\n');
      return [head, ...lines.map((line) => (line === '' ? line : margin + line))].join('\n');
    });
  }

  /** Texts with an indentation indicator or kept trailing lines are left to the library. */
  #take(node: Scalar): void {
    const [start = 0, end = 0] = node.range ?? [];
    const [head = '', ...lines] = this.#original.slice(start, end).trimEnd().split(/\r?\n/);
    const widths = lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/));
    const margin = Math.min(...widths);
    if (!/^>-?(?: |$)/.test(head) || widths.length === 0 || widths[0] !== margin) return;
    const mark = `folded-${this.#texts.size}-of-${this.#original.length}`;
    if (this.#original.includes(mark)) return;
    this.#texts.set(mark, [head, ...lines.map((line) => line.slice(margin))].join('\n'));
    node.value = mark;
    node.type = 'PLAIN';
  }
}

const placeholder = /\bfolded-\d+-of-\d+\b/g;

/** Known keys first, in this order; others follow in their order. */
function order(map: YAMLMap, keys: readonly string[], isWhole = false): void {
  const rank = ({ key }: Pair): number => {
    const at = keys.indexOf(String(isScalar(key) ? key.value : key));
    return at < 0 ? keys.length : at;
  };
  const first = map.items[0]?.key as Node | undefined;
  map.items.sort((one, two) => rank(one) - rank(two));
  const now = map.items[0]?.key as Node | undefined;
  if (first === undefined || now === undefined || first === now) return;
  // An empty line before the first key separates nothing.
  if (now.spaceBefore === true) now.spaceBefore = false;
  if (isWhole) keepHead(map, first);
}

/**
 * The comment above the last empty line, or standing alone, belongs to the document and stays at
 * its head.
 */
function keepHead(map: YAMLMap, first: Node): void {
  const comment = [map.commentBefore, first.commentBefore]
    .filter((text) => text != null)
    .join('\n');
  if (comment === '') return;
  const cut = comment.replace(/\n+$/, '').lastIndexOf('\n\n');
  map.commentBefore = cut < 0 ? comment : `${comment.slice(0, cut)}\n`;
  first.commentBefore = cut < 0 ? null : comment.slice(cut + 2);
}

/** A key keeps its spelling when the other spelling is present too, which `validate` rejects. */
function respell(spec: YAMLMap, kind: KindName): void {
  walkKeys(spec, shapeOf(kind), (map, pair, shape) => {
    const { key } = pair;
    if (!isScalar(key) || typeof key.value !== 'string') return;
    const usual = usualSpelling(key.value, shape);
    if (usual !== key.value && !map.has(usual)) {
      key.value = usual;
      // Otherwise the library would write the original text again.
      delete key.source;
    }
  });
}

function walkKeys(
  node: unknown,
  shape: Shape,
  visit: (map: YAMLMap, pair: Pair, shape: Shape) => void,
): void {
  if (shape.secret || shape.verbatim) return;
  if (isSeq(node)) {
    for (const item of node.items) walkKeys(item, shape.child('0'), visit);
  } else if (isMap(node)) {
    for (const pair of node.items) {
      const name = String(isScalar(pair.key) ? pair.key.value : pair.key);
      const below = shape.child(shape.opaque ? name : toSnakeCase(name));
      visit(node, pair, shape);
      walkKeys(pair.value, below, visit);
    }
  }
}

/**
 * camelCase where the conversion is reversible; verbatim parts and keys in lists of references
 * stay.
 */
function usualSpelling(key: string, shape: Shape): string {
  if (shape.opaque) return key;
  const camel = toCamelCase(key);
  return toSnakeCase(camel) === key ? camel : key;
}

/**
 * Returns the values of the documents with keys in one spelling; equal for files with the same
 * meaning.
 */
function meaningOf(documents: readonly { readonly value: unknown }[]): unknown {
  return documents.map(({ value }) => ofManifest(value));
}

function ofManifest(value: unknown): unknown {
  if (!isObject(value)) return value;
  if (value.kind === 'List' && Array.isArray(value.items)) {
    return { ...value, items: value.items.map(ofManifest) };
  }
  const kind = kindNames.find((name) => name === value.kind);
  return kind === undefined ? value : { ...value, spec: ofSpec(value.spec, shapeOf(kind)) };
}

function ofSpec(value: unknown, shape: Shape): unknown {
  if (shape.secret || shape.verbatim) return value;
  if (Array.isArray(value)) return value.map((item) => ofSpec(item, shape.child('0')));
  if (!isObject(value)) return value;
  return Object.entries(value)
    .map(([key, item]) => {
      const name = shape.opaque ? key : toSnakeCase(key);
      return [name, ofSpec(item, shape.child(name))] as const;
    })
    .toSorted(([one], [two]) => (one < two ? -1 : 1));
}

/** Sorted, because comments move with their nodes. */
function commentsOf(text: string): string[] {
  const tokens = [...new Lexer().lex(text)];
  return tokens
    .filter((token) => token.startsWith('#'))
    .map((token) => token.trim())
    .toSorted();
}
