/** Knows which guardrails judge a call: those of its config, and those that its workspace has for all. */
import {
  buildGuardrail,
  type CheckTools,
  type Guardrail,
  readInlineGuardrail,
} from '../../guardrails/guardrail.ts';
import type { GuardrailSettings } from '../../model/configs/config-tree.ts';
import type { GuardrailActions } from '../../model/guardrails/guardrail.ts';
import type { Database } from '../../store/connection/db.ts';
import * as gatewayReads from '../../store/reads/gateway-reads.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import type { SnapshotCache, SnapshotEntry } from '../callers/snapshot-cache.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

/** In the order in which they judge. */
export interface CallGuardrails {
  readonly input: readonly Guardrail[];
  readonly output: readonly Guardrail[];
}

/** A guardrail of the database, with whose requests it may judge. */
export interface StoredGuardrail {
  readonly workspaceId: string | null;
  /** Null for one that judges no requests for models. */
  readonly guardrail: Guardrail | null;
}

export interface GuardrailsOptions {
  readonly database: Pick<Database, 'readable'>;
  readonly fresh: SnapshotCache<StoredGuardrail>;
  readonly tools: CheckTools;
  /** Whether any judge at all (`GUARDRAILS_ENABLED`). */
  readonly isEnabled: boolean;
}

export class Guardrails {
  readonly #options: GuardrailsOptions;
  /** Those written into configs, ready, for as long as the config is kept. */
  readonly #inline = new WeakMap<object, Guardrail>();

  constructor(options: GuardrailsOptions) {
    this.#options = options;
  }

  /**
   * Null where nothing judges; at once where all are known.
   *
   * @throws GatewayError where one is named that does not exist
   */
  of(
    key: GatewayKey,
    settings: GuardrailSettings | null,
  ): CallGuardrails | null | Promise<CallGuardrails> {
    const { input, output } = key.guardrails;
    const hasDefaults = input.length > 0 || output.length > 0;
    if (!this.#options.isEnabled || (settings === null && !hasDefaults)) return null;
    const named = (...fields: (keyof GuardrailSettings)[]): Named[] =>
      settings === null
        ? []
        : fields.flatMap((field) => settings[field].map((entry, at) => ({ field, entry, at })));
    const listed = (entries: readonly string[], field: keyof GuardrailSettings): Named[] =>
      entries.map((entry, at) => ({ field, entry, at }));
    return both(
      this.#all(key, [
        ...named('before_request_hooks', 'input_guardrails'),
        ...listed(input, 'input_guardrails'),
      ]),
      this.#all(key, [
        ...named('after_request_hooks', 'output_guardrails'),
        ...listed(output, 'output_guardrails'),
      ]),
    );
  }

  #all(key: GatewayKey, named: readonly Named[]): readonly Guardrail[] | Promise<Guardrail[]> {
    const found = named.map(({ field, entry, at }) =>
      typeof entry === 'string' ? this.#find(key, entry) : this.#ready(entry, field, at),
    );
    const isKnown = (one: Guardrail | Promise<Guardrail>): one is Guardrail =>
      !(one instanceof Promise);
    return found.every(isKnown) ? found : Promise.all(found);
  }

  #ready(entry: Readonly<Record<string, unknown>>, field: string, at: number): Guardrail {
    const known = this.#inline.get(entry);
    if (known !== undefined) return known;
    const made = buildGuardrail(readInlineGuardrail(entry, `${field}[${at}]`), this.#options.tools);
    this.#inline.set(entry, made);
    return made;
  }

  #find(key: GatewayKey, reference: string): Guardrail | Promise<Guardrail> {
    const { fresh } = this.#options;
    const place = `${key.organisationId} ${reference}`;
    const known = fresh.peek(place);
    if (known !== undefined) return usable(known, key, reference);
    const loading = fresh.get(place, () => this.#load(key.organisationId, reference));
    return loading.then((stored) => usable(stored, key, reference));
  }

  async #load(
    organisationId: string,
    reference: string,
  ): Promise<SnapshotEntry<StoredGuardrail> | undefined> {
    const { database, tools } = this.#options;
    const row = await gatewayReads.findGuardrail(database.readable, organisationId, reference);
    if (row === undefined) return undefined;
    const definition = {
      id: row.slug,
      checks: JSON.parse(row.checks) as [],
      actions: JSON.parse(row.actions ?? '{}') as GuardrailActions,
    };
    const isOfModels = row.status === 'active' && row.target === 'llm';
    const guardrail = isOfModels ? buildGuardrail(definition, tools) : null;
    const value = { workspaceId: row.workspace_id, guardrail };
    return { organisationId, generation: row.generation, value };
  }
}

interface Named {
  readonly field: keyof GuardrailSettings;
  readonly entry: string | Readonly<Record<string, unknown>>;
  readonly at: number;
}

function both(
  input: CallGuardrails['input'] | Promise<CallGuardrails['input']>,
  output: CallGuardrails['output'] | Promise<CallGuardrails['output']>,
): CallGuardrails | null | Promise<CallGuardrails> {
  if (input instanceof Promise || output instanceof Promise) {
    return Promise.all([input, output]).then(([one, other]) => ({ input: one, output: other }));
  }
  return input.length === 0 && output.length === 0 ? null : { input, output };
}

/** A guardrail that cannot be found lets nothing through. */
function usable(
  stored: StoredGuardrail | undefined,
  key: GatewayKey,
  reference: string,
): Guardrail {
  const isOthers =
    stored !== undefined &&
    stored.workspaceId !== null &&
    key.workspace !== null &&
    stored.workspaceId !== key.workspace.id;
  if (stored?.guardrail !== undefined && stored.guardrail !== null && !isOthers) {
    return stored.guardrail;
  }
  const shown = /^[\w-]{1,255}$/.test(reference) ? ` ${reference}` : '';
  const message = `The config names a guardrail${shown} that does not exist`;
  throw new GatewayError('invalid_config', message, 'x-gateway-config');
}
