/** Writes a changed spec into the YAML text of a manifest, and leaves everything else as it is. */
import { isDeepStrictEqual } from 'node:util';
import { type Document, isMap, isScalar, isSeq, parseDocument, stringify } from 'yaml';
import type { Identity } from '../../sync/resources/resource-set.ts';

type Path = readonly (string | number)[];

/** A replacement of a part of the text. */
interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const parseOptions = { version: '1.2', schema: 'core' } as const;

/**
 * Returns the text with this spec, in the field names of manifests. Values that only change in place
 * are replaced in the text; fields and items that come or go have the document written anew, with its
 * comments. Null when the text declares no such manifest or cannot hold the spec.
 */
export function withSpec(text: string, identity: Identity, wanted: unknown): string | null {
  const document = parseDocument(text, parseOptions);
  const place = document.errors.length === 0 ? specPath(document, identity) : null;
  if (place === null) return null;
  const before: unknown = document.toJS();
  const edit = new Edit(document, text);
  edit.change(place, valueIn(before, place), wanted);
  const says = (result: string): boolean => {
    const read = parseDocument(result, parseOptions);
    return read.errors.length === 0 && isDeepStrictEqual(valueIn(read.toJS(), place), wanted);
  };
  return [edit.inPlace(), edit.written()].find((result) => result !== null && says(result)) ?? null;
}

/** Finds a manifest that is a document of its own, or an item of a List. */
function specPath(document: Document, { kind, name }: Identity): Path | null {
  const value: unknown = document.toJS();
  const isMeant = (one: unknown): boolean => {
    const { kind: its, metadata } = (one ?? {}) as { kind?: unknown; metadata?: unknown };
    return its === kind && (metadata as { name?: unknown } | null)?.name === name;
  };
  if (isMeant(value)) return ['spec'];
  const { items } = (value ?? {}) as { items?: unknown };
  const at = Array.isArray(items) ? items.findIndex(isMeant) : -1;
  return at < 0 ? null : ['items', at, 'spec'];
}

class Edit {
  readonly #document: Document;
  readonly #text: string;
  readonly #splices: Splice[] = [];
  #isStructural = false;

  constructor(document: Document, text: string) {
    this.#document = document;
    this.#text = text;
  }

  change(path: Path, before: unknown, wanted: unknown): void {
    if (isDeepStrictEqual(before, wanted)) return;
    const node: unknown = this.#document.getIn(path, true);
    if (isMap(node) && isObject(before) && isObject(wanted)) {
      for (const key of Object.keys(before))
        if (!Object.hasOwn(wanted, key)) this.#delete(path, key);
      for (const [key, value] of Object.entries(wanted)) {
        if (Object.hasOwn(before, key)) this.change([...path, key], before[key], value);
        else this.#set([...path, key], value);
      }
    } else if (isSeq(node) && Array.isArray(before) && Array.isArray(wanted)) {
      for (let at = before.length - 1; at >= wanted.length; at -= 1) this.#delete(path, at);
      for (const [at, value] of wanted.entries()) {
        if (at < before.length) this.change([...path, at], before[at], value);
        else this.#set([...path, at], value);
      }
    } else {
      this.#replace(path, node, wanted);
    }
  }

  /** The text with its values replaced; null where fields or items come or go. */
  inPlace(): string | null {
    if (this.#isStructural) return null;
    return this.#splices
      .toSorted((one, two) => two.start - one.start)
      .reduce(
        (text, { start, end, text: by }) => text.slice(0, start) + by + text.slice(end),
        this.#text,
      );
  }

  /** The document written anew, in the style of its text. */
  written(): string {
    const text = this.#text;
    const indent = /^( +)\S/m.exec(text)?.[1]?.length ?? 2;
    return this.#document.toString({
      lineWidth: 0,
      indent: Math.min(Math.max(indent, 2), 8),
      indentSeq: !/^( *)[^\s#-][^\n]*:[ \t]*\r?\n\1- /m.test(text),
      flowCollectionPadding: /\{ /.test(text),
    });
  }

  #delete(path: Path, key: string | number): void {
    this.#isStructural = true;
    this.#document.deleteIn([...path, key]);
  }

  #set(path: Path, value: unknown): void {
    this.#isStructural = true;
    this.#document.setIn(path, this.#document.createNode(value));
  }

  #replace(path: Path, node: unknown, wanted: unknown): void {
    const isPlain = typeof wanted !== 'object' || wanted === null;
    if (!isScalar(node) || node.range == null || !isPlain) {
      this.#set(path, wanted);
      return;
    }
    const [start, end] = node.range;
    const isQuoted = node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE';
    const style = isQuoted ? { defaultStringType: node.type as 'QUOTE_DOUBLE' } : {};
    const text = stringify(wanted, { ...style, lineWidth: 0 }).trimEnd();
    // A text of several lines, or one that a flow collection would cut, is quoted on one line.
    const isSafe = !/[\n,[\]{}]/.test(text);
    this.#splices.push({ start, end, text: isSafe ? text : JSON.stringify(wanted) });
    node.value = wanted;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function valueIn(root: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, key) => (value as Record<string, unknown> | null)?.[key],
    root,
  );
}
