/** Finds line and column of any key or item of a YAML text on demand. */
import {
  EVENT_ID,
  type Event,
  getScalarValue,
  type MappingEvent,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
  type SequenceEvent,
} from 'js-yaml';
import type { Position } from '../resources/resource-set.ts';

// An index of our own: js-yaml parses fast but without positions, and parsers that store a position
// for every value take several times as long (bench/validate-obvious-way.ts). Few positions are
// ever needed.

/** Maximum nesting; the parser rejects deeper texts. */
export const depthMax = 100;

/** A text to parse: a whole file, or one document of it. */
export interface YamlText {
  /** Path of the file, for positions. */
  readonly path: string;
  readonly text: string;
  /** Lines of the file above this text. */
  readonly linesAbove: number;
}

/** Keys and list indexes from a document to a value. */
export type Segments = readonly string[];

/** A repeated key in one map. */
export interface RepeatedKey {
  readonly key: string;
  readonly first: Position;
  readonly second: Position;
}

/**
 * Returns the position of the value at `segments` of a document (the first is 0): of its key if
 * `part` is 'key' or the value is empty or a block text, else of the value. A missing value has the
 * position of its nearest parent.
 */
export function locate(
  text: YamlText,
  document: number,
  segments: Segments,
  part: 'key' | 'value' = 'value',
): Position {
  let node = indexOf(text).documents[document];
  if (node === undefined) return positionAt(text, 0);
  for (const segment of segments) {
    const child: Node | undefined = node.children?.get(segment);
    if (child === undefined) return positionAt(text, node.keyOffset);
    node = child;
  }
  return positionAt(text, part === 'key' ? node.keyOffset : node.valueOffset);
}

/** Keys and item indexes with their children; empty for leaves. */
export type Outline = { readonly [key: string]: Outline };

/** Returns the structure at `segments` of a document without values. */
export function outlineOf(text: YamlText, document: number, segments: Segments): Outline {
  let node = indexOf(text).documents[document];
  for (const segment of segments) node = node?.children?.get(segment);
  return outlined(node);
}

function outlined(node: Node | undefined): Outline {
  return Object.fromEntries(
    [...(node?.children ?? [])].map(([key, below]) => [key, outlined(below)]),
  );
}

/** Returns every key that repeats an earlier one of its map. */
export function repeatedKeys(text: YamlText): RepeatedKey[] {
  return indexOf(text).repeats.map(({ key, first, second }) => ({
    key,
    first: positionAt(text, first),
    second: positionAt(text, second),
  }));
}

/** Converts an offset to line and column, both 1-based. */
export function positionAt(text: YamlText, offset: number): Position {
  const starts = lineStartsOf(text);
  let low = 0;
  let high = starts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (starts[middle]! <= offset) low = middle;
    else high = middle;
  }
  return {
    file: text.path,
    line: text.linesAbove + low + 1,
    column: offset - starts[low]! + 1,
  };
}

interface Node {
  readonly keyOffset: number;
  readonly valueOffset: number;
  readonly children: Map<string, Node> | undefined;
}

interface TextIndex {
  readonly documents: Node[];
  readonly repeats: { key: string; first: number; second: number }[];
}

/** Built on the first lookup and held as long as the text. */
const indexes = new WeakMap<YamlText, TextIndex>();
const lineStarts = new WeakMap<YamlText, number[]>();

function indexOf(text: YamlText): TextIndex {
  const known = indexes.get(text);
  if (known !== undefined) return known;
  const builder = new IndexBuilder(text.text);
  for (const event of parseEvents(text.text, { maxDepth: depthMax })) builder.take(event);
  indexes.set(text, builder.index);
  return builder.index;
}

function lineStartsOf(text: YamlText): number[] {
  const known = lineStarts.get(text);
  if (known !== undefined) return known;
  const starts = [0, ...text.text.matchAll(/\r\n?|\n/g).map((end) => end.index + end[0].length)];
  lineStarts.set(text, starts);
  return starts;
}

/** A map or list that has not ended; `key` is set while a map waits for its value. */
interface Open {
  readonly node: Node;
  readonly isMap: boolean;
  key: string | undefined;
  keyOffset: number;
  items: number;
}

/** Builds a tree of offsets from the parser's flat events. Expects maps with plain keys only. */
class IndexBuilder {
  readonly index: TextIndex = { documents: [], repeats: [] };
  readonly #source: string;
  readonly #open: (Open | undefined)[] = [];

  constructor(source: string) {
    this.#source = source;
  }

  take(event: Event): void {
    if (event.type === EVENT_ID.POP) this.#open.pop();
    else if (event.type === EVENT_ID.DOCUMENT) this.#open.push(undefined);
    else if (event.type === EVENT_ID.SCALAR) this.#takeScalar(event);
    else if (event.type === EVENT_ID.ALIAS) this.#place(event.anchorStart, undefined);
    else this.#takeCollection(event);
  }

  #takeScalar(event: ScalarEvent): void {
    const parent = this.#open.at(-1);
    if (parent?.isMap === true && parent.key === undefined) {
      parent.key = getScalarValue(this.#source, event);
      parent.keyOffset = startOf(event) ?? parent.node.valueOffset;
    } else {
      this.#place(startOf(event), undefined);
    }
  }

  #takeCollection(event: MappingEvent | SequenceEvent): void {
    const node = this.#place(event.start, new Map());
    const isMap = event.type === EVENT_ID.MAPPING;
    this.#open.push({ node, isMap, key: undefined, keyOffset: event.start, items: 0 });
  }

  /** Adds a value to the open collection. */
  #place(offset: number | undefined, children: Node['children']): Node {
    const parent = this.#open.at(-1);
    if (parent === undefined) {
      const node = { keyOffset: offset ?? 0, valueOffset: offset ?? 0, children };
      this.index.documents.push(node);
      return node;
    }
    const keyOffset = parent.isMap ? parent.keyOffset : (offset ?? parent.node.valueOffset);
    const node = { keyOffset, valueOffset: offset ?? keyOffset, children };
    const key = parent.isMap ? (parent.key ?? '') : `${parent.items}`;
    const earlier = parent.node.children?.get(key);
    if (earlier !== undefined) {
      this.index.repeats.push({ key, first: earlier.keyOffset, second: keyOffset });
    }
    parent.node.children?.set(key, node);
    parent.key = undefined;
    parent.items += 1;
    return node;
  }
}

/**
 * Undefined for values without an own position: an empty value, or a block text, which starts a
 * line later.
 */
function startOf(event: ScalarEvent): number | undefined {
  const isBlock =
    event.style === SCALAR_STYLE.LITERAL_BLOCK || event.style === SCALAR_STYLE.FOLDED_BLOCK;
  if (isBlock || event.valueStart < 0) return undefined;
  const isQuoted =
    event.style === SCALAR_STYLE.SINGLE_QUOTED || event.style === SCALAR_STYLE.DOUBLE_QUOTED;
  return isQuoted ? event.valueStart - 1 : event.valueStart;
}
