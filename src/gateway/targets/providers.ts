/** Finds the providers of workspaces by the name in a request, and caches them while they are current. */
import type { Unsealer } from '../../auth/keyring.ts';
import type { ConfigurationReads } from '../../store/reads/configuration-reads.ts';
import { providerSubjects, readTerms } from '../callers/limit-terms.ts';
import type { SnapshotCache, SnapshotEntry } from '../callers/snapshot-cache.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { type GatewayProvider, readProvider } from './gateway-provider.ts';
import type { MappedSecrets } from './mapped-secrets.ts';

export interface ProvidersOptions {
  readonly reads: Pick<ConfigurationReads, 'listProviders' | 'listBudgets'>;
  /** Returns the unsealer for the secrets of an organisation. */
  readonly unsealerOf: (organisationId: string) => Promise<Unsealer>;
  readonly cache: Pick<SnapshotCache<GatewayProvider>, 'peek' | 'get'>;
  readonly secrets: Pick<MappedSecrets, 'fill'>;
}

/** The tenant in which a name is looked up. */
export interface ProviderScope {
  readonly organisationId: string;
  /** Null when neither key nor config belongs to a workspace; the slug must then be unique. */
  readonly workspaceId: string | null;
}

export class Providers {
  readonly #options: ProvidersOptions;

  constructor(options: ProvidersOptions) {
    this.#options = options;
  }

  /**
   * `name` is `@` with a slug or id.
   *
   * @throws GatewayError when the provider does not exist or is ambiguous, or when one of its secrets cannot be read
   */
  find(scope: ProviderScope, name: string): GatewayProvider | Promise<GatewayProvider> {
    const { cache, secrets } = this.#options;
    const reference = name.slice(1);
    const cacheKey = `${scope.organisationId} ${scope.workspaceId} ${reference}`;
    const cached = cache.peek(cacheKey);
    if (cached !== undefined) return secrets.fill(cached);
    const loading = cache.get(cacheKey, () => this.#load(scope, reference));
    return loading.then((provider) => {
      if (provider === undefined) throw unknownProvider(name);
      return secrets.fill(provider);
    });
  }

  async #load(
    { organisationId, workspaceId }: ProviderScope,
    reference: string,
  ): Promise<SnapshotEntry<GatewayProvider> | undefined> {
    const { reads, unsealerOf } = this.#options;
    const { generation, providers } = await reads.listProviders(
      organisationId,
      workspaceId,
      reference,
    );
    const [reached, other] = providers;
    if (reached === undefined) return undefined;
    if (other !== undefined) {
      const message = `Several workspaces have a provider @${reached.provider.slug}; name it by its id`;
      throw new GatewayError('provider_unknown', message, 'provider');
    }
    const unsealer = await unsealerOf(organisationId);
    const terms = await readTerms(reads, organisationId, providerSubjects(reached));
    return { organisationId, generation, value: { ...readProvider(reached, unsealer), terms } };
  }
}

/** The message repeats the name only if it has the form of a name. */
export function unknownProvider(name: string): GatewayError {
  const quoted = /^@?[\w.-]{1,255}$/.test(name) ? ` ${name}` : '';
  return new GatewayError('provider_unknown', `There is no provider${quoted}`, 'provider');
}
