/** Knows what is needed of a process to ask providers for all that they keep. */
import type { Keyring } from '../auth/keyring.ts';
import type { Clock } from '../clock.ts';
import { openProviderLists } from '../gateway/provider-lists.ts';
import type { Log } from '../log.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';

export function createProviderLists(parts: {
  readonly settings: Pick<Settings, 'inference' | 'trustedHosts'>;
  readonly database: Pick<Database, 'readable'>;
  readonly unsealerOf: Keyring['unsealerOf'];
  readonly clock: Clock;
  readonly log: Log;
}): ReturnType<typeof openProviderLists> {
  const { settings, database, unsealerOf, clock, log } = parts;
  const { inference, trustedHosts } = settings;
  return openProviderLists({
    ...{ database, unsealerOf, clock, trustedHosts, mayBeItself: inference.signsInAsItself },
    onSecretFailure: (err, reference) =>
      log.warn({ err, reference }, 'a secret could not be read from its manager'),
  });
}
