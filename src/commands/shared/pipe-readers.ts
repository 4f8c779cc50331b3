/**
 * Detects that the readers of a pipe have exited. A program learns that only from its next write, which
 * for one that waits for news may never come (`status --watch | head`).
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Reading end of a pipe in a process: `/proc/312/fd/0`. */
type ReadingEnd = string;

/** Readers of the pipe behind a descriptor, as far as /proc shows them; elsewhere none are known. */
export class PipeReaders {
  readonly #pipe: string | null;
  #ends: readonly ReadingEnd[];

  constructor(descriptor: number | undefined) {
    const link = descriptor === undefined ? null : linkOf(`/proc/self/fd/${descriptor}`);
    this.#pipe = link?.startsWith('pipe:') === true ? link : null;
    this.#ends = this.#pipe === null ? [] : readingEndsOf(this.#pipe);
  }

  /** False when no reader was ever visible: it may run as another user or in another container. */
  haveExited(): boolean {
    const pipe = this.#pipe;
    if (pipe === null || this.#ends.length === 0) return false;
    if (this.#ends.some((end) => linkOf(end) === pipe)) return false;
    // A reader may have passed its end on to another process.
    this.#ends = readingEndsOf(pipe);
    return this.#ends.length === 0;
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function readingEndsOf(pipe: string): ReadingEnd[] {
  const processes = namesIn('/proc').filter((name) => /^\d+$/.test(name));
  return processes.flatMap((id) =>
    namesIn(`/proc/${id}/fd`)
      .filter((name) => linkOf(`/proc/${id}/fd/${name}`) === pipe && isReadingEnd(id, name))
      .map((name) => `/proc/${id}/fd/${name}`),
  );
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The last digit of the flags is the access mode, which is 0 for reading. */
function isReadingEnd(id: string, name: string): boolean {
  try {
    return /^flags:\s*\d*[048]$/m.test(readFileSync(`/proc/${id}/fdinfo/${name}`, 'utf8'));
  } catch {
    return false;
  }
}
