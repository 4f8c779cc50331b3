/** Lists the definitions of servers again before calls and after changes, once for all callers who wait. */
import { detach } from '../../detached.ts';
import { type Definition, readDefinition } from '../../model/mcp/definition.ts';
import type { DefinitionPolicy } from '../../model/mcp/definition-state.ts';
import type { DefinitionPlace } from '../../store/mcp/mcp-definitions.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import type { ListedType } from './list-definitions.ts';
import type { ServerPins } from './server-pins.ts';

/** The server whose definitions are checked. */
export interface CheckedServer {
  readonly id: string;
  readonly organisationId: string;
  readonly integrationId: string;
  readonly pins: ServerPins;
}

/** A list that was read now. */
export interface CheckedList {
  readonly names: ReadonlySet<string>;
}

export interface DefinitionChecksOptions {
  readonly note: (place: DefinitionPlace, definitions: readonly Definition[]) => void;
}

/** Age of a list that suffices for a call: with `block` every call is preceded by a list. */
const ageMaxMs: Readonly<Record<DefinitionPolicy, number>> = {
  observe: Number.POSITIVE_INFINITY,
  hide: 60_000,
  block: 0,
};
/** A server that reports changes without end causes one list in this interval. */
const changeIntervalMs = 1_000;
const entriesMax = 10_000;

interface Entry {
  /** Milliseconds since the epoch; null before the first list and after a change. */
  checkedAt: number | null;
  /** Number of reported changes. */
  changes: number;
  /** Whether a change causes no list before the interval ends. */
  isPaced: boolean;
  /** Whether a change was reported meanwhile. */
  isDue: boolean;
  running: Promise<CheckedList> | null;
  /** Begins when the running list has ended. */
  queued: Promise<CheckedList> | null;
}

export class DefinitionChecks {
  readonly #options: DefinitionChecksOptions;
  /** By server and type. */
  readonly #entries = new Map<string, Entry>();

  constructor(options: DefinitionChecksOptions) {
    this.#options = options;
  }

  /**
   * Lists the definitions again unless the last list is recent enough; null when it is. The list of
   * another caller serves if it began after this call arrived.
   *
   * @throws what `list` throws
   */
  async check(
    server: CheckedServer,
    type: ListedType,
    now: number,
    list: () => Promise<RpcObject>,
  ): Promise<CheckedList | null> {
    const entry = this.#entryOf(server, type);
    const ageMs = entry.checkedAt === null ? Number.POSITIVE_INFINITY : now - entry.checkedAt;
    if (ageMs < ageMaxMs[server.pins.policy]) return null;
    if (entry.running === null) return await this.#start(entry, server, type, now, list);
    entry.queued ??= entry.running
      .catch(() => undefined)
      .then(() => this.#start(entry, server, type, now, list));
    try {
      return await entry.queued;
    } catch {
      // It may have failed for a reason of the caller who began it, such as an ended session.
      return this.#note(server, type, await list());
    }
  }

  /** Lists the definitions again because the server says that they have changed. */
  noteChange(
    server: CheckedServer,
    type: ListedType,
    now: number,
    list: () => Promise<RpcObject>,
  ): void {
    const entry = this.#entryOf(server, type);
    entry.checkedAt = null;
    entry.changes += 1;
    entry.isDue = true;
    if (entry.isPaced) return;
    entry.isPaced = true;
    entry.isDue = false;
    // A failure has no consequence: the next call lists again.
    const work = this.#start(entry, server, type, now, list).catch(() => undefined);
    detach('listing changed definitions of an MCP server', work);
    const timer = setTimeout(() => {
      entry.isPaced = false;
      if (entry.isDue) this.noteChange(server, type, now + changeIntervalMs, list);
    }, changeIntervalMs);
    timer.unref();
  }

  #start(
    entry: Entry,
    server: CheckedServer,
    type: ListedType,
    now: number,
    list: () => Promise<RpcObject>,
  ): Promise<CheckedList> {
    const { changes } = entry;
    const running = list()
      .then((result) => {
        if (entry.changes === changes) entry.checkedAt = now;
        return this.#note(server, type, result);
      })
      .finally(() => {
        if (entry.running === running) entry.running = null;
      });
    entry.running = running;
    entry.queued = null;
    return running;
  }

  #note(server: CheckedServer, type: ListedType, result: RpcObject): CheckedList {
    const { organisationId, integrationId, pins } = server;
    this.#options.note({ organisationId, integrationId }, pins.examine(result).seen);
    const items = result[`${type}s`] as readonly unknown[];
    const names = items.flatMap((item) => readDefinition(type, item)?.name ?? []);
    return { names: new Set(names) };
  }

  #entryOf({ id }: CheckedServer, type: ListedType): Entry {
    const key = `${id} ${type}`;
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = {
        checkedAt: null,
        changes: 0,
        isPaced: false,
        isDue: false,
        running: null,
        queued: null,
      };
      this.#entries.set(key, entry);
      if (this.#entries.size > entriesMax) {
        this.#entries.delete(this.#entries.keys().next().value!);
      }
    }
    return entry;
  }
}
