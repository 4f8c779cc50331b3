/** Reads secrets of OAuth clients from secret managers. */
import { findBarredField, type MappedField } from '../../auth/mapped-fields.ts';
import type { SecretValueCache } from '../../gateway/targets/secret-value-cache.ts';
import { SecretUnreadable, textOf } from '../../secret-managers/managed-secret.ts';
import { OAuthFault } from './oauth-fault.ts';
import { shortUrl } from './oauth-http.ts';

export class ClientSecrets {
  readonly #values: Pick<SecretValueCache, 'peek' | 'get'>;

  constructor(values: Pick<SecretValueCache, 'peek' | 'get'>) {
    this.#values = values;
  }

  /**
   * Returns the value for one endpoint.
   *
   * @throws OAuthFault when it cannot be read, or may not be used there
   */
  async read(field: MappedField, endpoint: string): Promise<string> {
    const { slug, place, secretKey, isAllowed } = field;
    if (!isAllowed) throw new OAuthFault(`its workspace may not use the secret ${slug}`);
    if (URL.canParse(endpoint) && findBarredField([field], endpoint) !== undefined) {
      const message = `the secret ${slug} may not be sent to ${shortUrl(endpoint)}; see its allowed_hosts`;
      throw new OAuthFault(message);
    }
    try {
      return textOf(this.#values.peek(place) ?? (await this.#values.get(place)), secretKey);
    } catch (cause) {
      const isSilence = cause instanceof SecretUnreadable && cause.isUnavailable;
      const why = isSilence
        ? 'its secret manager does not respond'
        : 'its secret manager returned no suitable value';
      throw new OAuthFault(`the secret ${slug} cannot be read: ${why}`, null, { cause });
    }
  }
}
