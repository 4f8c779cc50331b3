/** Combines all sinks that a run may deliver to. */
import { createHash } from 'node:crypto';
import { Failure } from '../../failure.ts';
import type { DesiredResource } from '../resources/resource-set.ts';
import type { SecretTarget } from '../resources/secret-target.ts';
import type { LeavingValue, SinkValue, ValueSet, ValueSink } from './value-sink.ts';

/** A sink for each form of `secretOutput` that the settings permit. */
export type SinkTable = { readonly file: ValueSink } & Partial<
  Record<SecretTarget['sink'], ValueSink>
>;

/** The owner of the values in a sink. */
export interface SinkOwner {
  readonly organisationId: string;
  readonly owner: string;
}

/**
 * Creates the sinks of one owner, without the file sink. Called for every cycle, so it must not
 * connect.
 */
export type OpenSinks = (owner: SinkOwner) => Omit<SinkTable, 'file'>;

/** 12 hexadecimal digits that identify the owner in names. */
export function ownerTag({ organisationId, owner }: SinkOwner): string {
  return createHash('sha256').update(`${organisationId}\n${owner}`).digest('hex').slice(0, 12);
}

/** The values found, and why some sinks could not be read. */
export interface Listing<T> {
  readonly found: readonly T[];
  readonly failures: readonly Failure[];
}

export class SinkSet {
  readonly #table: SinkTable;
  readonly #all: readonly ValueSink[];

  constructor(table: SinkTable) {
    this.#table = table;
    this.#all = [...new Set(Object.values(table))];
  }

  /** @throws Failure when the settings permit no such sink */
  of(desired: DesiredResource): ValueSink {
    const { sink } = desired.secretOutput!;
    const found = this.#table[sink];
    if (found !== undefined) return found;
    const { file, line, column } = desired.position;
    const message = `secretOutput.${sink} needs ${settingsOf[sink]}, which is not set`;
    throw new Failure('invalidInput', `${file}:${line}:${column}: ${message}`);
  }

  /** Reads the values of each key, in order; a Failure for a place that cannot be read. */
  async read(keys: readonly DesiredResource[]): Promise<readonly (ValueSet | Failure)[]> {
    const looked = new Map<DesiredResource, ValueSet | Failure>();
    const bySink = new Map<ValueSink, DesiredResource[]>();
    for (const key of keys) {
      try {
        const sink = this.of(key);
        const own = bySink.get(sink);
        if (own === undefined) bySink.set(sink, [key]);
        else own.push(key);
      } catch (error) {
        looked.set(key, failureOf(error));
      }
    }
    const all = [...bySink].map(async ([sink, own]) => {
      const sets = await sink.read(own);
      for (const [at, key] of own.entries()) looked.set(key, sets[at]!);
    });
    await Promise.all(all);
    return keys.map((key) => looked.get(key)!);
  }

  /** Lists every value that may belong to a key. */
  list(): Promise<Listing<SinkValue>> {
    return this.#gather((sink) => sink.list());
  }

  listLeaving(): Promise<Listing<LeavingValue>> {
    return this.#gather((sink) => sink.listLeaving());
  }

  async #gather<T>(ask: (sink: ValueSink) => Promise<readonly T[]>): Promise<Listing<T>> {
    const found: T[] = [];
    const failures: Failure[] = [];
    for (const sink of this.#all) {
      try {
        found.push(...(await ask(sink)));
      } catch (error) {
        failures.push(failureOf(error));
      }
    }
    return { found, failures };
  }
}

/** The setting that permits each form. */
const settingsOf: Readonly<Record<SecretTarget['sink'], string>> = {
  file: 'GATEWRIGHT_SECRETS_DIR',
  kubernetesSecret: 'GATEWRIGHT_KUBERNETES_NAMESPACES',
  vault: 'GATEWRIGHT_VAULT_ADDRESS',
};

function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  throw error;
}
