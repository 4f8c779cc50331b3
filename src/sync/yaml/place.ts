/** Knows where a manifest stands in its file, and where anything in it does. */

import type { Position } from '../resources/resource-set.ts';
import type { SourceFault } from '../source/source-files.ts';
import type { YamlDocument } from './yaml-document.ts';
import { locate, type Outline, outlineOf, type Segments, type YamlText } from './yaml-position.ts';

const nothing: Segments = [];

/** Where a manifest stands: finds positions below it and makes faults of them. */
export interface Place {
  /** Where the manifest begins. */
  readonly start: Position;
  /** Whether other places have a part in it. */
  readonly isComposed: boolean;
  at(segments: Segments, part?: 'key' | 'value'): Position;
  /** Whether the whole value there was a variable, so that the schema decides on its type. */
  isVariable(segments: Segments): boolean;
  /** @param fix what to do about it, if that can be said */
  fault(segments: Segments, code: string, message: string, fix?: string): SourceFault;
}

/** What variables have put into a manifest; places are keys joined by {@link placeKey}. */
export interface Replaced {
  /** Places whose whole value was a variable. */
  readonly whole: ReadonlySet<string>;
  /** Where the values of an environment come from that stand in a place. */
  readonly values: ReadonlyMap<string, (below: Segments) => Position>;
}

export function placeKey(segments: readonly (string | number)[]): string {
  return segments.join('\u0000');
}

/** In one document. */
export class DocumentPlace implements Place {
  readonly #source: YamlText;
  readonly #index: number;
  readonly #position: Position;
  /** From the document to the manifest: empty, or `items`, index. */
  readonly #base: Segments;
  readonly #replaced: Replaced | undefined;

  /** Keeps what leads to the document, not its values. */
  constructor(
    { source, index, position }: Pick<YamlDocument, 'source' | 'index' | 'position'>,
    base: Segments = nothing,
    replaced?: Replaced,
  ) {
    this.#source = source;
    this.#index = index;
    this.#position = position;
    this.#base = base;
    this.#replaced = replaced;
  }

  /** The same once variables are replaced. */
  after(replaced: Replaced): DocumentPlace {
    const document = { source: this.#source, index: this.#index, position: this.#position };
    return new DocumentPlace(document, this.#base, replaced);
  }

  get start(): Position {
    return this.#base.length === 0 ? this.#position : this.at([]);
  }

  get isComposed(): boolean {
    return (this.#replaced?.values.size ?? 0) > 0;
  }

  at(segments: Segments, part: 'key' | 'value' = 'value'): Position {
    const [written, value] = this.#valueAt(segments) ?? [segments];
    const position = locate(this.#source, this.#index, [...this.#base, ...written], part);
    return value === undefined
      ? position
      : { ...position, related: [{ relation: 'value from', ...value }] };
  }

  /** Keys and items at a place as they are written. */
  outline(segments: Segments): Outline {
    return outlineOf(this.#source, this.#index, [...this.#base, ...segments]);
  }

  isVariable(segments: Segments): boolean {
    return this.#replaced?.whole.has(placeKey(segments)) ?? false;
  }

  fault(segments: Segments, code: string, message: string, fix?: string): SourceFault {
    return { position: this.at(segments), code, message, fix };
  }

  /** What of the keys is written here, and where the value comes from that stands there. */
  #valueAt(segments: Segments): readonly [Segments, Position] | undefined {
    const { values } = this.#replaced ?? {};
    if (values === undefined || values.size === 0) return undefined;
    for (let length = segments.length; length > 0; length -= 1) {
      const written = segments.slice(0, length);
      const found = values.get(placeKey(written));
      if (found !== undefined) return [written, found(segments.slice(length))];
    }
    return undefined;
  }
}
