/**
 * Finds the position of a value in a manifest composed of two layers, and its related positions.
 */

import type { Position, RelatedPosition } from '../resources/resource-set.ts';
import type { SourceFault } from '../source/source-files.ts';
import { pathKey, type SourcePlace } from '../yaml/source-place.ts';
import type { Segments } from '../yaml/yaml-position.ts';
import type { Part } from './merge.ts';

/** The relation of the other layer to the manifest, and the reverse. */
export interface Relations {
  readonly ofManifest: RelatedPosition['relation'];
  readonly ofLayer: RelatedPosition['relation'];
}

/** A manifest with a layer over or under it. */
export class LayeredPlace implements SourcePlace {
  readonly isComposed = true;
  readonly #manifest: SourcePlace;
  readonly #layer: SourcePlace;
  readonly #relations: Relations;
  readonly #parts: ReadonlyMap<string, Part>;
  /** The layer that is the manifest. */
  readonly #own: Part['layer'];

  constructor(
    { manifest, layer }: { readonly manifest: SourcePlace; readonly layer: SourcePlace },
    parts: readonly Part[],
    own: Part['layer'],
    relations: Relations,
  ) {
    this.#manifest = manifest;
    this.#layer = layer;
    this.#relations = relations;
    this.#parts = new Map(parts.map((part) => [pathKey(part.to), part]));
    this.#own = own;
  }

  get start(): Position {
    const { start } = this.#manifest;
    return withRelated(start, this.#relations.ofManifest, this.#layer.start);
  }

  at(segments: Segments, part: 'key' | 'value' = 'value'): Position {
    const [place, from] = this.#origin(segments);
    const position = place.at(from, part);
    if (place === this.#manifest) return position;
    // A patch relates to the value it changes; a default relates to the manifest without such a
    // value.
    const other = this.#own === 'lower' ? this.#patched(segments) : this.#manifest.start;
    return withRelated(position, this.#relations.ofLayer, other);
  }

  isVariable(segments: Segments): boolean {
    const [place, from] = this.#origin(segments);
    return place.isVariable(from);
  }

  fault(segments: Segments, code: string, message: string, fix?: string): SourceFault {
    return { position: this.at(segments), code, message, fix };
  }

  /** Returns the layer that a value comes from, and its path there. */
  #origin(segments: Segments): readonly [SourcePlace, Segments] {
    for (let length = segments.length; length > 0; length -= 1) {
      const part = this.#parts.get(pathKey(segments.slice(0, length)));
      if (part === undefined) continue;
      const place = part.layer === this.#own ? this.#manifest : this.#layer;
      return [place, [...part.from, ...segments.slice(length)]];
    }
    return [this.#manifest, segments];
  }

  /** Returns the position in the manifest of what a patch replaced. */
  #patched(segments: Segments): Position {
    for (let length = segments.length; length > 0; length -= 1) {
      const part = this.#parts.get(pathKey(segments.slice(0, length)));
      if (part?.layer !== this.#own) continue;
      return this.#manifest.at([...part.from, ...segments.slice(length)], 'key');
    }
    return this.#manifest.at(segments, 'key');
  }
}

/** Adds a related position, without the relations of that one. */
export function withRelated(
  position: Position,
  relation: RelatedPosition['relation'],
  { file, line, column }: Position,
): Position {
  const related = [...(position.related ?? []), { relation, file, line, column }];
  return { ...position, related };
}
