/** Locates a manifest, and any value in it, in its source file. */

import type { Position } from '../resources/resource-set.ts';
import type { SourceFault } from '../source/source-files.ts';
import type { YamlDocument } from './yaml-document.ts';
import { locate, type Outline, outlineOf, type Segments, type YamlText } from './yaml-position.ts';

const nothing: Segments = [];

/** The location of a manifest: finds positions in it and creates faults for them. */
export interface SourcePlace {
  /** Start of the manifest. */
  readonly start: Position;
  /** Whether other positions contribute to it. */
  readonly isComposed: boolean;
  at(segments: Segments, part?: 'key' | 'value'): Position;
  /** Returns whether the whole value was a variable, so that the schema decides on its type. */
  isVariable(segments: Segments): boolean;
  /** @param fix how to resolve it, if known */
  fault(segments: Segments, code: string, message: string, fix?: string): SourceFault;
}

/** The values that variables have replaced in a manifest; paths are joined by {@link pathKey}. */
export interface VariableReplacements {
  /** Paths whose whole value was a variable. */
  readonly whole: ReadonlySet<string>;
  /** Positions of the environment values by the path where they were put. */
  readonly values: ReadonlyMap<string, (below: Segments) => Position>;
}

export function pathKey(segments: readonly (string | number)[]): string {
  return segments.join('\u0000');
}

/** A location within one document. */
export class DocumentPlace implements SourcePlace {
  readonly #source: YamlText;
  readonly #index: number;
  readonly #position: Position;
  /** Path from the document to the manifest: empty, or `items` and an index. */
  readonly #base: Segments;
  readonly #replaced: VariableReplacements | undefined;

  /** Stores how to find the document, not its values. */
  constructor(
    { source, index, position }: Pick<YamlDocument, 'source' | 'index' | 'position'>,
    base: Segments = nothing,
    replaced?: VariableReplacements,
  ) {
    this.#source = source;
    this.#index = index;
    this.#position = position;
    this.#base = base;
    this.#replaced = replaced;
  }

  /** Returns the location after variables were replaced. */
  after(replaced: VariableReplacements): DocumentPlace {
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

  /** Returns the keys and items at a path as written. */
  outline(segments: Segments): Outline {
    return outlineOf(this.#source, this.#index, [...this.#base, ...segments]);
  }

  isVariable(segments: Segments): boolean {
    return this.#replaced?.whole.has(pathKey(segments)) ?? false;
  }

  fault(segments: Segments, code: string, message: string, fix?: string): SourceFault {
    return { position: this.at(segments), code, message, fix };
  }

  /** Returns the part of a path that is written here, and the position of the value put there. */
  #valueAt(segments: Segments): readonly [Segments, Position] | undefined {
    const { values } = this.#replaced ?? {};
    if (values === undefined || values.size === 0) return undefined;
    for (let length = segments.length; length > 0; length -= 1) {
      const written = segments.slice(0, length);
      const found = values.get(pathKey(written));
      if (found !== undefined) return [written, found(segments.slice(length))];
    }
    return undefined;
  }
}
