/** Knows what has been told about one spec, so that nothing is told twice. */

import type { Manifest } from '../manifest/manifest.ts';
import { pointerOf } from '../resources/spec-paths.ts';
import type { SourceFault } from '../source/source-files.ts';
import type { Segments } from '../yaml/yaml-position.ts';

/** Passes faults of one manifest on and remembers their places. */
export class SpecReport {
  readonly #manifest: Manifest;
  readonly #tell: (fault: SourceFault) => void;
  readonly #places: string[] = [];
  #isFaulty = false;

  constructor(manifest: Manifest, tell: (fault: SourceFault) => void) {
    this.#manifest = manifest;
    this.#tell = tell;
  }

  get isFaulty(): boolean {
    return this.#isFaulty;
  }

  readonly pass = (fault: SourceFault): void => {
    this.#isFaulty = true;
    this.#tell(fault);
  };

  /** @param written keys that lead through the manifest to what is at fault */
  fault(written: Segments, code: string, message: string, fix?: string): void {
    this.#places.push(pointerOf(written));
    this.pass(this.#manifest.place.fault(written, code, message, fix));
  }

  /** The file in which a value stands. */
  fileOf(written: Segments): string {
    return this.#manifest.place.at(written).file;
  }

  /** Whether a fault was told of this place or of one that holds it. */
  covers(written: Segments): boolean {
    const pointer = `${pointerOf(written)}/`;
    return this.#places.some((place) => pointer.startsWith(`${place}/`));
  }
}
