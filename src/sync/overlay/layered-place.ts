/** Knows where anything in a manifest stands that is made of two layers, and which other place has a part in it. */

import type { Position, RelatedPosition } from '../resources/resource-set.ts';
import type { SourceFault } from '../source/source-files.ts';
import { type Place, placeKey } from '../yaml/place.ts';
import type { Segments } from '../yaml/yaml-position.ts';
import type { Part } from './merge.ts';

/** What the other layer is to the manifest, and the manifest to it. */
export interface Relations {
  readonly ofManifest: RelatedPosition['relation'];
  readonly ofLayer: RelatedPosition['relation'];
}

/** A manifest with a layer over it or under it. */
export class LayeredPlace implements Place {
  readonly isComposed = true;
  readonly #manifest: Place;
  readonly #layer: Place;
  readonly #relations: Relations;
  readonly #parts: ReadonlyMap<string, Part>;
  /** Which layer of the parts is the manifest. */
  readonly #own: Part['layer'];

  constructor(
    { manifest, layer }: { readonly manifest: Place; readonly layer: Place },
    parts: readonly Part[],
    own: Part['layer'],
    relations: Relations,
  ) {
    this.#manifest = manifest;
    this.#layer = layer;
    this.#relations = relations;
    this.#parts = new Map(parts.map((part) => [placeKey(part.to), part]));
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
    // A patch is about something; a default is for a manifest that says nothing there.
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

  /** The layer that something comes from, and the keys that lead to it there. */
  #origin(segments: Segments): readonly [Place, Segments] {
    for (let length = segments.length; length > 0; length -= 1) {
      const part = this.#parts.get(placeKey(segments.slice(0, length)));
      if (part === undefined) continue;
      const place = part.layer === this.#own ? this.#manifest : this.#layer;
      return [place, [...part.from, ...segments.slice(length)]];
    }
    return [this.#manifest, segments];
  }

  /** What stands in the manifest where something of the patch has come to stand. */
  #patched(segments: Segments): Position {
    for (let length = segments.length; length > 0; length -= 1) {
      const part = this.#parts.get(placeKey(segments.slice(0, length)));
      if (part?.layer !== this.#own) continue;
      return this.#manifest.at([...part.from, ...segments.slice(length)], 'key');
    }
    return this.#manifest.at(segments, 'key');
  }
}

/** A position of which another one has a part; what that one is related to itself is left out. */
export function withRelated(
  position: Position,
  relation: RelatedPosition['relation'],
  { file, line, column }: Position,
): Position {
  const related = [...(position.related ?? []), { relation, file, line, column }];
  return { ...position, related };
}
