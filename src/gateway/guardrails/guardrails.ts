/** Finds the guardrails that judge a call: those of its config, and the defaults of its workspace. */
import type { Unsealer } from '../../auth/keyring.ts';
import { guardrailSecretsOf } from '../../auth/secret-documents.ts';
import {
  buildGuardrail,
  type CheckTools,
  type Guardrail,
  readInlineGuardrail,
} from '../../guardrails/guardrail.ts';
import type { GuardrailSettings } from '../../model/configs/config-tree.ts';
import { isEmptyGuardrail, namedGuardrail } from '../../model/configs/guardrail-references.ts';
import type { GuardrailActions } from '../../model/guardrails/guardrail.ts';
import type { ConfigurationReads } from '../../store/reads/configuration-reads.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import type { SnapshotCache, SnapshotEntry } from '../callers/snapshot-cache.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

/** Guardrails in the order in which they judge. */
export interface CallGuardrails {
  readonly input: readonly Guardrail[];
  readonly output: readonly Guardrail[];
}

/** A guardrail of the database and the workspace that may use it. */
export interface CachedGuardrail {
  readonly workspaceId: string | null;
  /** Null for a guardrail that does not judge model requests. */
  readonly guardrail: Guardrail | null;
}

export interface GuardrailsOptions {
  readonly reads: Pick<ConfigurationReads, 'findGuardrail'>;
  readonly cache: SnapshotCache<CachedGuardrail>;
  readonly unsealerOf: (organisationId: string) => Promise<Unsealer>;
  readonly tools: CheckTools;
  /** False disables all guardrails (`GUARDRAILS_ENABLED`). */
  readonly isEnabled: boolean;
}

export class Guardrails {
  readonly #options: GuardrailsOptions;
  /** Inline guardrails of configs, prepared once per cached config. */
  readonly #inline = new WeakMap<object, Guardrail>();

  constructor(options: GuardrailsOptions) {
    this.#options = options;
  }

  /**
   * Null when nothing judges; synchronous when all guardrails are cached.
   *
   * @throws GatewayError when a named guardrail does not exist
   */
  of(
    key: GatewayKey,
    settings: GuardrailSettings | null,
  ): CallGuardrails | null | Promise<CallGuardrails> {
    const { input, output } = key.guardrails;
    const hasDefaults = input.length > 0 || output.length > 0;
    if (!this.#options.isEnabled || (settings === null && !hasDefaults)) return null;
    const named = (...fields: (keyof GuardrailSettings)[]): GuardrailReference[] =>
      settings === null
        ? []
        : fields.flatMap((field) => settings[field].map((entry, at) => ({ field, entry, at })));
    const listed = (
      entries: readonly string[],
      field: keyof GuardrailSettings,
    ): GuardrailReference[] => entries.map((entry, at) => ({ field, entry, at }));
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

  #all(
    key: GatewayKey,
    named: readonly GuardrailReference[],
  ): readonly Guardrail[] | Promise<Guardrail[]> {
    const guardrails = named.map(({ field, entry, at }) =>
      typeof entry === 'string' ? this.#find(key, entry) : this.#own(key, entry, `${field}[${at}]`),
    );
    const isLoaded = (one: Guardrail | Promise<Guardrail>): one is Guardrail =>
      !(one instanceof Promise);
    return guardrails.every(isLoaded) ? guardrails : Promise.all(guardrails);
  }

  /**
   * An entry with checks of its own, or with the name of a guardrail.
   *
   * @throws GatewayError for one with neither, which may be stored by an earlier version
   */
  #own(
    key: GatewayKey,
    entry: Readonly<Record<string, unknown>>,
    place: string,
  ): Guardrail | Promise<Guardrail> {
    const cached = this.#inline.get(entry);
    if (cached !== undefined) return cached;
    const reference = namedGuardrail(entry);
    if (reference !== null) return this.#find(key, reference);
    if (isEmptyGuardrail(entry)) {
      const message = `The config has a guardrail without checks in ${place}; add some, or set id to the slug of a guardrail`;
      throw new GatewayError('invalid_config', message, 'x-gateway-config');
    }
    const prepared = buildGuardrail(readInlineGuardrail(entry, place), this.#options.tools);
    this.#inline.set(entry, prepared);
    return prepared;
  }

  #find(key: GatewayKey, reference: string): Guardrail | Promise<Guardrail> {
    const { cache } = this.#options;
    const cacheKey = `${key.organisationId} ${reference}`;
    const cached = cache.peek(cacheKey);
    if (cached !== undefined) return requireUsableGuardrail(cached, key, reference);
    const loading = cache.get(cacheKey, () => this.#load(key.organisationId, reference));
    return loading.then((stored) => requireUsableGuardrail(stored, key, reference));
  }

  async #load(
    organisationId: string,
    reference: string,
  ): Promise<SnapshotEntry<CachedGuardrail> | undefined> {
    const { reads, tools, unsealerOf } = this.#options;
    const row = await reads.findGuardrail(organisationId, reference);
    if (row === undefined) return undefined;
    const stored = { checks: JSON.parse(row.checks) as [] };
    const unsealer = await unsealerOf(organisationId);
    const definition = {
      id: row.slug,
      savedId: row.id,
      checks: guardrailSecretsOf.open(unsealer, row.id, stored).checks as [],
      actions: JSON.parse(row.actions ?? '{}') as GuardrailActions,
    };
    const isOfModels = row.status === 'active' && row.target === 'llm';
    const guardrail = isOfModels ? buildGuardrail(definition, tools) : null;
    const value = { workspaceId: row.workspace_id, guardrail };
    return { organisationId, generation: row.generation, value };
  }
}

interface GuardrailReference {
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

/** @throws GatewayError when the guardrail does not exist, because the request must not pass unjudged */
function requireUsableGuardrail(
  stored: CachedGuardrail | undefined,
  key: GatewayKey,
  reference: string,
): Guardrail {
  const isForeign =
    stored !== undefined &&
    stored.workspaceId !== null &&
    key.workspace !== null &&
    stored.workspaceId !== key.workspace.id;
  if (stored?.guardrail !== undefined && stored.guardrail !== null && !isForeign) {
    return stored.guardrail;
  }
  const quoted = /^[\w-]{1,255}$/.test(reference) ? ` ${reference}` : '';
  const message = `The config names a guardrail${quoted} that does not exist`;
  throw new GatewayError('invalid_config', message, 'x-gateway-config');
}
