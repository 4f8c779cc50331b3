/** Encodes rows compactly, so that one row is parsed without parsing the others. */
import type { PlainRow } from '../../store/snapshot/snapshot-rows.ts';

/** Rows of one part of a table. */
export interface RowSection {
  readonly table: string;
  readonly number: number;
  readonly columns: readonly string[];
  readonly rows: readonly PlainRow[];
}

interface SectionHeader {
  readonly table: string;
  readonly number: number;
  readonly columns: readonly string[];
  /** Columns whose values are bytes, written as base64. */
  readonly binary: readonly string[];
  readonly rows: number;
  readonly bytes: number;
}

/** A header in JSON, then for each section the ends of its rows and each row as a JSON list of its values. */
export function encodeSections(sections: readonly RowSection[]): Buffer {
  const pieces: Buffer[] = [];
  const headers = sections.map(({ table, number, columns, rows }): SectionHeader => {
    const binary = columns.filter((name) => rows.some((row) => Buffer.isBuffer(row[name])));
    const texts = rows.map((row) => Buffer.from(JSON.stringify(columns.map((c) => plain(row[c])))));
    const ends = Buffer.alloc(texts.length * 4);
    let end = 0;
    for (const [at, text] of texts.entries()) {
      end += text.length;
      ends.writeUInt32LE(end, at * 4);
    }
    pieces.push(ends, ...texts);
    return { table, number, columns, binary, rows: rows.length, bytes: ends.length + end };
  });
  const header = Buffer.from(JSON.stringify(headers));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.length);
  return Buffer.concat([length, header, ...pieces]);
}

function plain(value: unknown): unknown {
  return Buffer.isBuffer(value) ? value.toString('base64') : value;
}

/** A value by which rows are found. */
type IndexKey = string | number | null | undefined;

function indexKeyOf(value: unknown): IndexKey {
  return Buffer.isBuffer(value) ? value.toString('latin1') : (value as IndexKey);
}

/** Rows of one part, parsed on demand. */
export class DecodedSection {
  readonly table: string;
  readonly number: number;
  readonly length: number;
  readonly #columns: readonly string[];
  readonly #isBinary: readonly boolean[];
  readonly #bytes: Buffer;
  readonly #indexes = new Map<string, Map<IndexKey, number[]>>();

  constructor(header: SectionHeader, bytes: Buffer) {
    this.table = header.table;
    this.number = header.number;
    this.length = header.rows;
    this.#columns = header.columns;
    this.#isBinary = header.columns.map((name) => header.binary.includes(name));
    this.#bytes = bytes;
  }

  row(at: number): PlainRow {
    const values = this.#valuesOf(at);
    const row: Record<string, unknown> = {};
    for (const [i, name] of this.#columns.entries()) row[name] = values[i] ?? null;
    return row;
  }

  *rows(): Generator<PlainRow> {
    for (let at = 0; at < this.length; at += 1) yield this.row(at);
  }

  /** Rows with a value in a column; the first call for a column indexes it. */
  find(column: string, value: unknown): PlainRow[] {
    let index = this.#indexes.get(column);
    if (index === undefined) {
      index = this.#indexOf(this.#columns.indexOf(column));
      this.#indexes.set(column, index);
    }
    return (index.get(indexKeyOf(value)) ?? []).map((at) => this.row(at));
  }

  #indexOf(column: number): Map<IndexKey, number[]> {
    const index = new Map<IndexKey, number[]>();
    for (let at = 0; at < this.length; at += 1) {
      const key = indexKeyOf(this.#valuesOf(at)[column] ?? null);
      const found = index.get(key);
      if (found === undefined) index.set(key, [at]);
      else found.push(at);
    }
    return index;
  }

  #valuesOf(at: number): unknown[] {
    const begin = this.length * 4;
    const from = begin + (at === 0 ? 0 : this.#bytes.readUInt32LE((at - 1) * 4));
    const to = begin + this.#bytes.readUInt32LE(at * 4);
    const values = JSON.parse(this.#bytes.toString('utf8', from, to)) as unknown[];
    for (const [i, value] of values.entries()) {
      if (this.#isBinary[i] && typeof value === 'string') values[i] = Buffer.from(value, 'base64');
    }
    return values;
  }
}

/** Reverses {@link encodeSections}. */
export function decodeSections(bytes: Buffer): DecodedSection[] {
  const end = 4 + bytes.readUInt32LE(0);
  const headers = JSON.parse(bytes.toString('utf8', 4, end)) as SectionHeader[];
  let at = end;
  return headers.map((header) => {
    const section = new DecodedSection(header, bytes.subarray(at, at + header.bytes));
    at += header.bytes;
    return section;
  });
}
