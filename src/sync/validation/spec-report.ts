/** Tracks the faults reported for one spec, so that none is reported twice. */

import type { Manifest } from '../manifest/manifest.ts';
import { pointerOf } from '../resources/spec-paths.ts';
import type { SourceFault } from '../source/source-files.ts';
import type { Segments } from '../yaml/yaml-position.ts';

/** Forwards faults of one manifest and remembers their paths. */
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

  /** @param written path in the manifest of the faulty value */
  fault(written: Segments, code: string, message: string, fix?: string): void {
    this.#places.push(pointerOf(written));
    this.pass(this.#manifest.place.fault(written, code, message, fix));
  }

  /** Returns the file that contains a value. */
  fileOf(written: Segments): string {
    return this.#manifest.place.at(written).file;
  }

  /** Returns whether a fault was reported for this path or a parent of it. */
  covers(written: Segments): boolean {
    const pointer = `${pointerOf(written)}/`;
    return this.#places.some((place) => pointer.startsWith(`${place}/`));
  }
}
