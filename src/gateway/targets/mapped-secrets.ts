/** Fills the values of secret managers into provider accounts, from the cache if possible. */
import type { MappedField } from '../../auth/mapped-fields.ts';
import type { ManagedSecret } from '../../secret-managers/managed-secret.ts';
import { SecretUnreadable } from '../../secret-managers/managed-secret.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { GatewayProvider } from './gateway-provider.ts';
import { buildAccount, withMappedValues } from './mapped-account.ts';
import type { SecretValueCache } from './secret-value-cache.ts';

export class MappedSecrets {
  readonly #values: Pick<SecretValueCache, 'peek' | 'get'>;
  /** Filled providers with the values that were used. */
  readonly #filled = new WeakMap<GatewayProvider, FilledProvider>();

  constructor(values: Pick<SecretValueCache, 'peek' | 'get'>) {
    this.#values = values;
  }

  /**
   * Returns the provider with its secret values; the same object when it needs none.
   *
   * @throws GatewayError when a value cannot be read, or the workspace may not use it
   */
  fill(provider: GatewayProvider): GatewayProvider | Promise<GatewayProvider> {
    const { mapped } = provider;
    if (mapped === null) return provider;
    const { fields } = mapped.reveal();
    const barred = fields.find(({ isAllowed }) => !isAllowed);
    if (barred !== undefined) throw notAllowed(provider);
    const values = fields.map(({ place }) => this.#values.peek(place));
    if (values.every((value) => value !== undefined)) return this.#with(provider, values);
    return this.#read(provider, fields);
  }

  async #read(provider: GatewayProvider, fields: readonly MappedField[]): Promise<GatewayProvider> {
    const values = await Promise.all(
      fields.map(async ({ place, slug }) => {
        try {
          return this.#values.peek(place) ?? (await this.#values.get(place));
        } catch (error) {
          throw unavailable(provider, slug, error);
        }
      }),
    );
    return this.#with(provider, values);
  }

  #with(provider: GatewayProvider, values: readonly ManagedSecret[]): GatewayProvider {
    const before = this.#filled.get(provider);
    if (before?.values.every((value, at) => value === values[at])) return before.provider;
    const { account, fields, origin } = provider.mapped!.reveal();
    try {
      const built = {
        ...provider,
        ...buildAccount(provider.service, withMappedValues(account, fields, values), origin),
      };
      this.#filled.set(provider, { values, provider: built });
      return built;
    } catch (error) {
      throw unavailable(provider, fields.map(({ slug }) => slug).join(', '), error);
    }
  }
}

interface FilledProvider {
  readonly values: readonly ManagedSecret[];
  readonly provider: GatewayProvider;
}

function notAllowed({ slug }: GatewayProvider): GatewayError {
  const message = `The workspace of the provider @${slug} may not use a secret that its account requires`;
  return new GatewayError('provider_not_allowed', message, 'provider');
}

/** Address and message of the secret manager appear only in logs. */
function unavailable({ slug }: GatewayProvider, reference: string, cause: unknown): GatewayError {
  const isSilence = cause instanceof SecretUnreadable && cause.isUnavailable;
  const why = isSilence
    ? 'its secret manager does not respond'
    : 'its secret manager returned no suitable value';
  const message = `The secret ${reference} of the provider @${slug} cannot be read: ${why}`;
  return new GatewayError('secret_unavailable', message, 'provider', { cause });
}
