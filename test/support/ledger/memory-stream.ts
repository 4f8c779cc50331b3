/** Streams of records in memory that outlive the simulated processes which write them. */
import type { JournalStream } from '../../../src/ledger/journal/usage-journal.ts';

interface ProcessRecords {
  records: Buffer[];
  readonly isDead: () => boolean;
}

export class MemoryDisk {
  readonly #processes: ProcessRecords[] = [];

  /** All records as one text. */
  get bytes(): string {
    return this.#processes.flatMap(({ records }) => records).join('\n');
  }

  /** The stream of one process, which hands out what dead processes wrote as well. Dead processes write nothing. */
  open(isDead: () => boolean): JournalStream {
    const own: ProcessRecords = { records: [], isDead };
    this.#processes.push(own);
    const loaded = new Set<Buffer>();
    return {
      append: async (bytes) => {
        if (isDead()) throw new Error('the process is dead');
        own.records.push(bytes);
      },
      load: async () => {
        const readable = this.#processes.filter((one) => one === own || one.isDead());
        const records = readable.flatMap((one) => one.records).filter((one) => !loaded.has(one));
        for (const one of records) loaded.add(one);
        return records.length === 0 || isDead() ? null : { place: new Set(records), records };
      },
      release: (place) => {
        if (isDead()) return;
        const released = place as ReadonlySet<Buffer>;
        for (const one of this.#processes) {
          one.records = one.records.filter((bytes) => !released.has(bytes));
        }
      },
    };
  }
}
