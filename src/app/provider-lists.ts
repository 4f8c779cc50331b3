/** Lists all objects that providers store, for deletion and export jobs. */
import type { Keyring } from '../auth/keyring.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';
import type { CountedRows } from './counted-rows.ts';

interface ProviderListsParts {
  readonly settings: Pick<Settings, 'inference' | 'trustedHosts'>;
  readonly database: Pick<Database, 'readable'>;
  readonly unsealerOf: Keyring['unsealerOf'];
  readonly clock: Clock;
  readonly log: Log;
  readonly noteSecretRead: CountedRows['noteSecretRead'];
}

type Lists = Awaited<ReturnType<typeof openLists>>;

/** The code is loaded on first use, because most processes never need it. */
export function createProviderLists(parts: ProviderListsParts): Lists {
  let opened: Promise<Lists> | null = null;
  return {
    async *pages(of, signal) {
      opened ??= openLists(parts);
      yield* (await opened).pages(of, signal);
    },
    has: async (of, signal) => {
      opened ??= openLists(parts);
      return (await opened).has(of, signal);
    },
    read: async (of, signal) => {
      opened ??= openLists(parts);
      return (await opened).read(of, signal);
    },
    lines: async (of, signal) => {
      opened ??= openLists(parts);
      return (await opened).lines(of, signal);
    },
    [Symbol.asyncDispose]: async () => {
      await (await opened)?.[Symbol.asyncDispose]();
    },
  };
}

async function openLists(parts: ProviderListsParts) {
  const { settings, database, unsealerOf, clock, log, noteSecretRead } = parts;
  const { openProviderLists } = await import('../gateway/objects/provider-lists.ts');
  const { inference, trustedHosts } = settings;
  return openProviderLists({
    database,
    unsealerOf,
    clock,
    trustedHosts,
    mockUpstreamHost: inference.mockUpstreamHost,
    aws: inference.aws,
    azurePod: inference.azurePod,
    mayBeItself: inference.signsInAsItself,
    onSecretRead: (place) => noteSecretRead(place, 'jobs'),
    onSecretFailure: (err, reference) =>
      log.warn({ err, reference }, 'a secret could not be read from its manager'),
  });
}
