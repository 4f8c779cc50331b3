/** Records the definitions that servers show to callers, so that every replica compares with the newest ones. */
import { detach } from '../../detached.ts';
import type { Definition } from '../../model/mcp/definition.ts';
import type { DefinitionPlace } from '../../store/mcp/mcp-definitions.ts';
import type { GatewayRecords } from '../../store/records/gateway-records.ts';

export interface DefinitionRecorderOptions {
  readonly records: Pick<GatewayRecords, 'storeSeenDefinitions'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Reports an error; what was to be recorded is lost until the server shows it again. */
  readonly onFault: (error: unknown) => void;
}

/** Definitions of one integration that wait to be written. */
interface Waiting {
  readonly place: DefinitionPlace;
  readonly definitions: Map<string, Definition>;
  /** Number of writes without a pause. */
  writes: number;
}

/** Interval of the first writes. */
const intervalMs = 500;
const quickWritesMax = 20;
/** Interval for a server that changes its definitions with every list. */
const slowIntervalMs = 30_000;
/** Definitions of one write; a server can show any number of new ones. */
const definitionsMax = 200;
const integrationsMax = 1_000;

export class DefinitionRecorder implements AsyncDisposable {
  readonly #options: DefinitionRecorderOptions;
  /** By integration; an entry without definitions remains while the next write must wait. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #writing = new Set<Promise<void>>();

  constructor(options: DefinitionRecorderOptions) {
    this.#options = options;
  }

  /** Returns at once; the definitions are written soon. */
  note(place: DefinitionPlace, definitions: readonly Definition[]): void {
    if (definitions.length === 0) return;
    const key = `${place.organisationId} ${place.integrationId}`;
    const waiting = this.#waiting.get(key);
    if (waiting === undefined && this.#waiting.size >= integrationsMax) return;
    const entry = waiting ?? { place, definitions: new Map<string, Definition>(), writes: 0 };
    for (const one of definitions) {
      if (entry.definitions.size < definitionsMax) {
        entry.definitions.set(`${one.type} ${one.name}`, one);
      }
    }
    if (waiting !== undefined) return;
    this.#waiting.set(key, entry);
    this.#write(key, entry);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const entry of this.#waiting.values()) this.#start(entry);
    this.#waiting.clear();
    await Promise.all(this.#writing);
  }

  /** Writes now, and again after the interval when more has arrived by then. */
  #write(key: string, entry: Waiting): void {
    this.#start(entry);
    entry.writes += 1;
    const pauseMs = entry.writes < quickWritesMax ? intervalMs : slowIntervalMs;
    const timer = setTimeout(() => {
      if (this.#waiting.get(key) !== entry) return;
      if (entry.definitions.size === 0) this.#waiting.delete(key);
      else this.#write(key, entry);
    }, pauseMs);
    timer.unref();
  }

  #start({ place, definitions }: Waiting): void {
    if (definitions.size === 0) return;
    const taken = [...definitions.values()];
    definitions.clear();
    const { records, now } = this.#options;
    const writing = records
      .storeSeenDefinitions({ place, definitions: taken, at: now() })
      .catch((error) => this.#options.onFault(error))
      .finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
    detach('recording definitions of an MCP server', writing);
  }
}
