/** Knows where a manifest stands in its file, and where anything in it does. */
import type { SourceFault } from '../source/source-files.ts';
import type { Position } from '../spec/resource-set.ts';
import type { YamlDocument } from './yaml-document.ts';
import { locate, type Segments, type YamlText } from './yaml-position.ts';

const nothing: Segments = [];

/** Where a manifest stands: finds positions below it and makes faults of them. */
export class Place {
  readonly #source: YamlText;
  readonly #index: number;
  readonly #position: Position;
  /** From the document to the manifest: empty, or `items`, index. */
  readonly #base: Segments;

  /** Keeps what leads to the document, not its values. */
  constructor({ source, index, position }: YamlDocument, base: Segments = nothing) {
    this.#source = source;
    this.#index = index;
    this.#position = position;
    this.#base = base;
  }

  /** Where the manifest begins. */
  get start(): Position {
    return this.#base.length === 0 ? this.#position : this.at([]);
  }

  at(segments: Segments, part: 'key' | 'value' = 'value'): Position {
    return locate(this.#source, this.#index, [...this.#base, ...segments], part);
  }

  /** @param fix what to do about it, if that can be said */
  fault(segments: Segments, code: string, message: string, fix?: string): SourceFault {
    return { position: this.at(segments), code, message, fix };
  }
}
