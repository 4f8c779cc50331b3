/** Knows whether a folder has changed since it was read, without reading it again. */
/*
 * A look costs nothing while the system tells of no change in any folder that was read, and a `stat` of
 * each file once in {@link fullLookMs}, for what it may not tell: writes into files that are linked from
 * elsewhere, and changes beyond what it can queue. Only what these find is read. What has changed a
 * moment ago is read again in any case, because a later write may leave the same marks.
 *
 * All this rests on the clock of this machine and on its telling of changes, so that folders that other
 * machines share are read at each look.
 */
import { type FSWatcher, realpathSync, type Stats, statfsSync, statSync, watch } from 'node:fs';

/** What a reading came to. */
export interface FolderReading {
  readonly digest: string;
  /** Real paths of the folders that were read. */
  readonly folders: readonly string[];
  /** Real paths of the files. */
  readonly files: readonly string[];
}

const fullLookMs = 10_000;
/** Times of files are kept in steps, of up to this on the file systems below. */
const stepMs = 2_000;
/** The system has a bound on what it watches for a user, which others need, too. */
const watchedMax = 1_000;

/** Of ext2 to ext4, XFS, Btrfs, tmpfs, overlay, ZFS and F2FS, by the numbers that `statfs` gives them. */
const localFileSystems: readonly number[] = [
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010,
];

interface Known {
  readonly digest: string;
  readonly places: readonly string[];
  readonly marks: string;
}

export class FolderLook implements Disposable {
  readonly #place: string;
  readonly #read: () => FolderReading;
  readonly #now: () => number;
  #watchers: readonly FSWatcher[] = [];
  /** Null where nothing of what was read can be relied on. */
  #known: Known | null = null;
  #isTouched = true;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param place absolute path of a folder or file, which may be a link
   * @param now milliseconds since the epoch, by the clock that files are dated by
   */
  constructor(place: string, read: () => FolderReading, now: () => number) {
    this.#place = place;
    this.#read = read;
    this.#now = now;
  }

  /** The digest of what stands there now. Throws what reading it throws. */
  digest(): string {
    const now = this.#now();
    const known = this.#known;
    const isRecent = Math.abs(now - this.#lookedAt) < fullLookMs;
    if (known !== null && !this.#isTouched && isRecent && this.#isSamePlace(known)) {
      return known.digest;
    }
    this.#isTouched = false;
    this.#lookedAt = now;
    if (known !== null && marksOf(this.#place, known.places)?.text === known.marks) {
      return known.digest;
    }
    this.#known = null;
    const { digest, folders, files } = this.#read();
    this.#keep(digest, folders, files, now);
    return digest;
  }

  [Symbol.dispose](): void {
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers = [];
    this.#known = null;
  }

  #keep(
    digest: string,
    folders: readonly string[],
    files: readonly string[],
    readAt: number,
  ): void {
    const marks = marksOf(this.#place, [...folders, ...files]);
    const isSettled = marks !== null && marks.newestAt < readAt - stepMs;
    if (!isSettled || !this.#watch(folders.length > 0 ? folders : files)) return;
    this.#known = { digest, places: [...folders, ...files], marks: marks.text };
    // What changed between the reading and the watching shows in the marks.
    if (marksOf(this.#place, this.#known.places)?.text !== marks.text) this.#known = null;
  }

  /** The link at the place may lead elsewhere from one moment to the next. */
  #isSamePlace({ marks }: Known): boolean {
    try {
      return marks.startsWith(`${realpathSync(this.#place)}\n`);
    } catch {
      return false;
    }
  }

  /** False where changes could go unseen. */
  #watch(places: readonly string[]): boolean {
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers = [];
    if (places.length > watchedMax) return false;
    const touch = (): void => {
      this.#isTouched = true;
    };
    const watchers: FSWatcher[] = [];
    this.#watchers = watchers;
    try {
      for (const place of places) {
        if (!localFileSystems.includes(statfsSync(place).type)) return false;
        watchers.push(watch(place, { persistent: false }, touch).on('error', touch));
      }
      return true;
    } catch {
      return false;
    }
  }
}

/** What changes with each of the places, and when the newest of them changed; null when one is gone. */
function marksOf(
  place: string,
  places: readonly string[],
): { readonly text: string; readonly newestAt: number } | null {
  const lines: string[] = [];
  let newestAt = 0;
  try {
    lines.push(realpathSync(place));
    for (const one of places) {
      const { dev, ino, size, mtimeMs, ctimeMs }: Stats = statSync(one);
      lines.push(`${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`);
      newestAt = Math.max(newestAt, ctimeMs);
    }
  } catch {
    return null;
  }
  return { text: lines.join('\n'), newestAt };
}
