/** Creates the identity provider client for sign-in and logs its failures. */
import { IdentityProvider } from '../auth/identity-provider.ts';
import type { Log } from '../log.ts';
import type { Settings } from '../settings.ts';

/** Null when sign-in is off. */
export function createSignIn({ signIn, proxies }: Pick<Settings, 'signIn' | 'proxies'>, log: Log) {
  if (signIn === null) return null;
  const provider = new IdentityProvider(signIn, proxies);
  return {
    provider,
    settings: signIn,
    onFailure: (error: Error) => {
      // The response of a provider may contain tokens: only name, code and message of causes are logged.
      const { name, code, message } = (error.cause ?? {}) as Partial<Record<string, unknown>>;
      log.warn({ reason: error.message, cause: { name, code, message } }, 'signing in failed');
    },
    [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose](),
  };
}
