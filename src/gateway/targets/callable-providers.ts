/** Lists the providers that the requests of a key can name, and caches them while they are current. */
import type { ConfigurationReads } from '../../store/reads/configuration-reads.ts';
import type { SnapshotCache } from '../callers/snapshot-cache.ts';
import type { ProviderScope } from './providers.ts';

export class CallableProviders {
  readonly #reads: Pick<ConfigurationReads, 'listSlugsOfProviders'>;
  readonly #cache: SnapshotCache<readonly string[]>;

  constructor(
    reads: Pick<ConfigurationReads, 'listSlugsOfProviders'>,
    cache: SnapshotCache<readonly string[]>,
  ) {
    this.#reads = reads;
    this.#cache = cache;
  }

  /** `@` and the slug of each provider, or its id where other workspaces have the same slug. */
  async list({ organisationId, workspaceId }: ProviderScope): Promise<readonly string[]> {
    const cacheKey = `${organisationId} ${workspaceId}`;
    const cached = this.#cache.peek(cacheKey);
    if (cached !== undefined) return cached;
    const read = await this.#cache.get(cacheKey, async () => {
      const { generation, providers } = await this.#reads.listSlugsOfProviders(
        organisationId,
        workspaceId,
      );
      return { organisationId, generation, value: namesOf(providers) };
    });
    return read ?? [];
  }
}

function namesOf(providers: readonly { readonly id: string; readonly slug: string }[]): string[] {
  const bySlug = Map.groupBy(providers, ({ slug }) => slug);
  return providers.map(({ id, slug }) => `@${bySlug.get(slug)!.length > 1 ? id : slug}`);
}
