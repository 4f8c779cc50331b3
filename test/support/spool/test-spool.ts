/** Creates a spool with a stream whose records may be dropped, and one whose records may not. */
import { Spool, type SpoolTerms } from '../../../src/spool/spool.ts';
import type { SpoolStream, StreamTerms } from '../../../src/spool/spool-stream.ts';

export interface TestSpool extends AsyncDisposable {
  readonly spool: Spool;
  /** Droppable; its summaries are `dropped COUNT`. */
  readonly logs: SpoolStream;
  readonly usage: SpoolStream;
  /** Each damage that was found. */
  readonly damage: string[];
  /** Records of `logs` that were pushed and could not be written. */
  readonly failed: Buffer[];
}

export type TestSpoolOptions = Pick<SpoolTerms, 'directory'> &
  Partial<SpoolTerms> & { readonly dropping?: Partial<NonNullable<StreamTerms['dropping']>> };

const summary = /^dropped (\d+)$/;

/** Records that a summary replaces; null for a record that is none. */
export function droppedIn(record: Buffer): number | null {
  const [, count] = summary.exec(record.toString()) ?? [];
  return count === undefined ? null : Number(count);
}

export function createTestSpool({ dropping, ...terms }: TestSpoolOptions): TestSpool {
  const damage: string[] = [];
  const failed: Buffer[] = [];
  const spool = new Spool({
    bytesMax: 1024 * 1024,
    readKey: () => Buffer.alloc(32, 7),
    now: Date.now,
    onDamage: ({ reason }) => damage.push(reason),
    ...terms,
  });
  const logs = spool.stream({
    name: 'logs',
    onReadable: () => undefined,
    dropping: {
      mayDrop: () => true,
      summarise: (records) => [
        Buffer.from(
          `dropped ${records.reduce((sum, record) => sum + (droppedIn(record) ?? 1), 0)}`,
        ),
      ],
      onFailure: (records) => failed.push(...records),
      ...dropping,
    },
  });
  const usage = spool.stream({ name: 'usage', onReadable: () => undefined, dropping: null });
  return {
    spool,
    logs,
    usage,
    damage,
    failed,
    [Symbol.asyncDispose]: () => spool[Symbol.asyncDispose](),
  };
}

/** Takes everything that a stream hands out, without releasing it. */
export async function loadAll(stream: SpoolStream): Promise<string[]> {
  const texts: string[] = [];
  for (;;) {
    const loaded = await stream.load();
    if (loaded === null) return texts;
    texts.push(...loaded.records.map(String));
  }
}
