/** Converts YAML without special constructs to values, in one pass over the parser's events. */
import {
  boolCoreTag,
  EVENT_ID,
  type Event,
  floatCoreTag,
  getScalarValue,
  intCoreTag,
  type MappingEvent,
  NOT_RESOLVED,
  nullCoreTag,
  SCALAR_STYLE,
  type ScalarEvent,
  type SequenceEvent,
} from 'js-yaml';

export const keysPerMapMax = 2_000;

export interface PlainDocuments {
  /** The value of each document. */
  readonly values: readonly unknown[];
  /** Offset of the content of each document. */
  readonly starts: readonly number[];
}

/**
 * Reads the events of a text with only maps, lists and scalars. Returns undefined for anything
 * else: a tag, an anchor, a directive, or a key that is not text, merges, repeats or exceeds the
 * limit. Such texts are rare and are read again by the complete reader.
 */
export function readPlain(text: string, events: readonly Event[]): PlainDocuments | undefined {
  const reader = new PlainReader(text);
  for (const event of events) {
    if (!reader.take(event)) return undefined;
  }
  return reader;
}

/** A list or map that has not ended. */
interface Open {
  /** Undefined in a list. */
  readonly map: Record<string, unknown> | undefined;
  /** Undefined in a map. */
  readonly list: unknown[] | undefined;
  /** In a map: the key whose value comes next. */
  key: string | undefined;
  keys: number;
}

class PlainReader implements PlainDocuments {
  readonly values: unknown[] = [];
  readonly starts: number[] = [];
  readonly #text: string;
  readonly #outer: Open[] = [];
  #open: Open = { map: undefined, list: this.values, key: undefined, keys: 0 };

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns false for an event that a plain text does not have. */
  take(event: Event): boolean {
    switch (event.type) {
      case EVENT_ID.POP:
        this.#open = this.#outer.pop()!;
        return true;
      case EVENT_ID.DOCUMENT:
        // The value of a document goes directly to the list of values.
        this.#outer.push(this.#open);
        return event.directives.length === 0;
      case EVENT_ID.ALIAS:
        return false;
      case EVENT_ID.SCALAR:
        return event.tagStart < 0 && event.anchorStart < 0 && this.#takeScalar(event);
      default:
        return event.tagStart < 0 && event.anchorStart < 0 && this.#takeCollection(event);
    }
  }

  #takeScalar(event: ScalarEvent): boolean {
    const value = scalarValue(this.#text, event);
    const { map, key } = this.#open;
    if (map === undefined || key !== undefined) {
      this.#add(value, event.valueStart);
      return true;
    }
    const name = String(value);
    this.#open.key = name;
    this.#open.keys += 1;
    if (name === '__proto__' || name === '<<' || Object.hasOwn(map, name)) return false;
    return this.#open.keys <= keysPerMapMax;
  }

  #takeCollection(event: SequenceEvent | MappingEvent): boolean {
    const isKey = this.#open.map !== undefined && this.#open.key === undefined;
    if (isKey) return false;
    const isMap = event.type === EVENT_ID.MAPPING;
    const map = isMap ? {} : undefined;
    const list = isMap ? undefined : [];
    this.#add(map ?? list, event.start);
    this.#outer.push(this.#open);
    this.#open = { map, list, key: undefined, keys: 0 };
    return true;
  }

  #add(value: unknown, start: number): void {
    const { map, list, key } = this.#open;
    if (map === undefined) {
      if (list === this.values) this.starts.push(Math.max(start, 0));
      list!.push(value);
    } else {
      map[key!] = value;
      this.#open.key = undefined;
    }
  }
}

/** The tags that unquoted text may have, by the code of its first character. */
const tagsByFirstCode = new Map<number, readonly (typeof implicitTags)[number][]>();
const implicitTags = [nullCoreTag, boolCoreTag, intCoreTag, floatCoreTag] as const;
for (const tag of implicitTags) {
  for (const character of tag.implicitFirstChars ?? []) {
    const code = character.charCodeAt(0);
    tagsByFirstCode.set(code, [...(tagsByFirstCode.get(code) ?? []), tag]);
  }
}

function scalarValue(source: string, event: ScalarEvent): unknown {
  const text = getScalarValue(source, event);
  if (event.style !== SCALAR_STYLE.PLAIN) return text;
  // Empty text has the code NaN, which is in the map.
  for (const tag of tagsByFirstCode.get(text.charCodeAt(0)) ?? []) {
    const value = tag.resolve(text, false, tag.tagName);
    if (value !== NOT_RESOLVED) return value;
  }
  return text;
}
