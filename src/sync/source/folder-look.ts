/** Detects whether a folder has changed since it was read, without reading it again. */
/*
 * While the system reports no change in any folder that was read, a look costs nothing. Once in
 * {@link fullLookMs} every file is checked by `stat`, for changes that may not be reported: writes
 * through hard links from elsewhere, and events beyond the queue limit. Only changed sources are
 * read. A file changed a moment ago is read again in any case, because a later write may leave the
 * same timestamps.
 *
 * This relies on the clock and the change events of this machine, so folders shared with other
 * machines are read at each look.
 */
import { type FSWatcher, realpathSync, type Stats, statfsSync, statSync, watch } from 'node:fs';

/** The result of reading a folder. */
export interface FolderReading {
  readonly digest: string;
  /** Real paths of the folders that were read. */
  readonly folders: readonly string[];
  /** Real paths of the files. */
  readonly files: readonly string[];
}

const fullLookMs = 10_000;
/** Largest timestamp granularity of the file systems below. */
const stepMs = 2_000;
/** The system limits watches for each user, and others need them too. */
const watchedMax = 1_000;

/** Numbers that `statfs` returns for ext2 to ext4, XFS, Btrfs, tmpfs, overlay, ZFS and F2FS. */
const localFileSystems: readonly number[] = [
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010,
];

interface KnownState {
  readonly digest: string;
  readonly places: readonly string[];
  readonly marks: string;
}

export class FolderLook implements Disposable {
  readonly #place: string;
  readonly #read: () => FolderReading;
  readonly #now: () => number;
  #watchers: readonly FSWatcher[] = [];
  /** Null when nothing that was read can be relied on. */
  #known: KnownState | null = null;
  #isTouched = true;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param place absolute path of a folder or file, possibly a link
   * @param now ms since the epoch, by the clock of file timestamps
   */
  constructor(place: string, read: () => FolderReading, now: () => number) {
    this.#place = place;
    this.#read = read;
    this.#now = now;
  }

  /** Returns the digest of the current content. Throws what reading throws. */
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
    // Changes between reading and watching show in the marks.
    if (marksOf(this.#place, this.#known.places)?.text !== marks.text) this.#known = null;
  }

  /** The link at the place may change its target at any time. */
  #isSamePlace({ marks }: KnownState): boolean {
    try {
      return marks.startsWith(`${realpathSync(this.#place)}\n`);
    } catch {
      return false;
    }
  }

  /** Returns false when changes could go unnoticed. */
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

/**
 * Returns the timestamps and sizes of the files, and the newest change; null when a file is gone.
 */
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
