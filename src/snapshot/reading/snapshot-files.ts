/** Keeps a copy of the snapshot in files: packs that never change, and an index that is replaced as a whole. */
import { randomBytes } from 'node:crypto';
import { SnapshotRefused } from '../format/snapshot-refused.ts';
import type { HeldObject, SnapshotContents } from './live-snapshot.ts';
import {
  decodeIndex,
  decodePack,
  encodeIndex,
  encodePack,
  type PackIndex,
  type PackName,
} from './pack-file.ts';
import type { FetchObjects } from './read-update.ts';

/** A folder or a bucket. */
export interface FileStore {
  /** For errors: `the folder /var/lib/gatewright`. */
  readonly description: string;
  /** Null when there is no such file. */
  read(name: string): Promise<Buffer | null>;
  /** Replaces the file as a whole, or leaves it as it was; durable when it resolves. */
  write(name: string, bytes: Buffer): Promise<void>;
  delete(name: string): Promise<void>;
}

/** A copy that was read from files. */
export interface FiledSnapshot {
  readonly sealedHead: Buffer;
  readonly fetch: FetchObjects;
}

const indexName = 'head';
/** More packs are merged. */
const packsMax = 12;
/** Reads are repeated when another process merges packs at the same time. */
const readsMax = 3;

export class SnapshotFiles {
  readonly #store: FileStore;
  readonly #nameIndex: (contents: SnapshotContents) => string;
  /** Packs that the index names, with the etags of their objects. */
  #packs = new Map<string, { readonly bytes: number; readonly etags: ReadonlySet<string> }>();
  readonly #stored = new Set<string>();
  /** False after a failure, when objects may be missing that no later update names. */
  #isComplete = false;

  /** @param nameIndex returns the name under which the index of a snapshot is written */
  constructor(
    store: FileStore,
    nameIndex: (contents: SnapshotContents) => string = () => indexName,
  ) {
    this.#store = store;
    this.#nameIndex = nameIndex;
  }

  /** Null when there is no copy. @throws SnapshotRefused */
  async load(): Promise<FiledSnapshot | null> {
    for (let reads = 1; ; reads += 1) {
      const index = await readIndex(this.#store);
      if (index === null) return null;
      const packs = await readPacks(this.#store, index.packs);
      if (packs !== null) {
        this.#know(index.packs, packs);
        const objects = new Map(packs.flat().map(({ etag, sealed }) => [etag, sealed]));
        return { sealedHead: index.sealedHead, fetch: async () => objects };
      }
      if (reads === readsMax) {
        throw new SnapshotRefused('torn', `a pack is missing in ${this.#store.description}`);
      }
    }
  }

  /** Names of the packs that the index names. */
  get packNames(): ReadonlySet<string> {
    return new Set(this.#packs.keys());
  }

  /** Writes what is new, then the index. Files of the previous copy are deleted afterwards. */
  async save(contents: SnapshotContents, changed: Iterable<HeldObject> | null): Promise<void> {
    const candidates = this.#isComplete && changed !== null ? changed : contents.objects;
    const fresh = new Map<string, HeldObject>();
    for (const one of candidates) if (!this.#stored.has(one.etag)) fresh.set(one.etag, one);
    this.#isComplete = false;
    const merged = this.#packs.size >= packsMax ? this.#packsToMerge() : [];
    const packs = [...this.#packs].filter(([name]) => !merged.includes(name));
    const moved = merged.length === 0 ? [] : this.#objectsIn(contents, merged);
    for (const one of moved) fresh.set(one.etag, one);
    const added = await this.#writePack(contents.sequence, [...fresh.values()]);
    const names: PackName[] = packs.map(([name, { bytes }]) => ({ name, bytes }));
    if (added !== null) names.push({ name: added.name, bytes: added.bytes });
    const index = encodeIndex({ packs: names, sealedHead: contents.sealedHead });
    await this.#store.write(this.#nameIndex(contents), index);
    this.#packs = new Map(packs);
    if (added !== null) {
      const etags = new Set(fresh.keys());
      this.#packs.set(added.name, { bytes: added.bytes, etags });
    }
    this.#remember();
    this.#isComplete = true;
    for (const name of merged) await this.#store.delete(name);
  }

  #know(names: readonly PackName[], packs: readonly HeldObject[][]): void {
    this.#packs = new Map(
      names.map(({ name, bytes }, at) => {
        return [name, { bytes, etags: new Set(packs[at]!.map(({ etag }) => etag)) }];
      }),
    );
    this.#remember();
    this.#isComplete = false;
  }

  #remember(): void {
    this.#stored.clear();
    for (const { etags } of this.#packs.values()) for (const etag of etags) this.#stored.add(etag);
  }

  /** All but the largest, and the largest too once the others are half of it: most of it is garbage then. */
  #packsToMerge(): string[] {
    const bySize = [...this.#packs].toSorted(([, a], [, b]) => a.bytes - b.bytes);
    const [largest] = bySize.splice(-1);
    const others = bySize.reduce((sum, [, { bytes }]) => sum + bytes, 0);
    const names = bySize.map(([name]) => name);
    return others * 2 < largest![1].bytes ? names : [...names, largest![0]];
  }

  #objectsIn({ objects }: SnapshotContents, packs: readonly string[]): HeldObject[] {
    const etags = packs.map((name) => this.#packs.get(name)!.etags);
    return objects.filter(({ etag }) => etags.some((set) => set.has(etag)));
  }

  async #writePack(sequence: number, objects: readonly HeldObject[]): Promise<PackName | null> {
    if (objects.length === 0) return null;
    const name = `pack-${sequence}-${randomBytes(4).toString('hex')}`;
    const bytes = encodePack(objects);
    await this.#store.write(name, bytes);
    return { name, bytes: bytes.length };
  }
}

/** Null when there is none. @throws SnapshotRefused */
async function readIndex(store: FileStore): Promise<PackIndex | null> {
  const bytes = await store.read(indexName);
  const name = `the file ${indexName} in ${store.description}`;
  return bytes === null ? null : decodeIndex(bytes, name);
}

/** The objects of each pack; null when a pack is missing. @throws SnapshotRefused */
async function readPacks(
  store: FileStore,
  packs: readonly PackName[],
): Promise<HeldObject[][] | null> {
  const found: HeldObject[][] = [];
  for (const { name, bytes } of packs) {
    const read = await store.read(name);
    if (read === null) return null;
    const described = `the file ${name} in ${store.description}`;
    if (read.length !== bytes) throw new SnapshotRefused('torn', `${described} is truncated`);
    found.push(decodePack(read, described));
  }
  return found;
}
