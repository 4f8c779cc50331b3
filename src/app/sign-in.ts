/** Knows what signing in is given by the process: settings, proxies, and a log that tells why it fails. */
import { IdentityProvider } from '../auth/identity-provider.ts';
import type { Log } from '../log.ts';
import type { Settings } from '../settings.ts';

/** Null where nobody signs in. */
export function createSignIn({ signIn, proxies }: Pick<Settings, 'signIn' | 'proxies'>, log: Log) {
  if (signIn === null) return null;
  const provider = new IdentityProvider(signIn, proxies);
  return {
    provider,
    settings: signIn,
    onFailure: (error: Error) => {
      // What a provider answered may hold tokens: of causes only what they are is written.
      const { name, code, message } = (error.cause ?? {}) as Partial<Record<string, unknown>>;
      log.warn({ reason: error.message, cause: { name, code, message } }, 'signing in failed');
    },
    [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose](),
  };
}
