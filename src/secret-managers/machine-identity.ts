/** Reads the identity of the machine from the metadata service of its cloud. */
/* Two requests each; the reason against the SDKs of the clouds is in cloud-service.ts. */
import { request } from 'undici';
import { SecretUnreadable } from './managed-secret.ts';

const timeoutMs = 3_000;

/** Outside of a cloud there is no metadata service, and every read times out. */
export class MachineIdentity {
  readonly #metadata: URL;

  constructor(metadata: URL) {
    this.#metadata = metadata;
  }

  /** Reads the credentials of the instance role at AWS. @throws SecretUnreadable */
  async awsRole(): Promise<unknown> {
    const seconds = { 'x-aws-ec2-metadata-token-ttl-seconds': '300' };
    const token = await this.#request('PUT', '/latest/api/token', seconds);
    const headers = { 'x-aws-ec2-metadata-token': token };
    const roles = '/latest/meta-data/iam/security-credentials/';
    const [role = ''] = (await this.#request('GET', roles, headers)).split('\n');
    return parsed(await this.#request('GET', roles + encodeURIComponent(role.trim()), headers));
  }

  /** Reads a token of a managed identity at Azure. @throws SecretUnreadable */
  async azureToken(resource: string, clientId: string | null): Promise<unknown> {
    const query = new URLSearchParams({ 'api-version': '2018-02-01', resource });
    if (clientId !== null) query.set('client_id', clientId);
    const path = `/metadata/identity/oauth2/token?${query}`;
    return parsed(await this.#request('GET', path, { metadata: 'true' }));
  }

  async #request(
    method: 'GET' | 'PUT',
    path: string,
    headers: Record<string, string>,
  ): Promise<string> {
    const url = new URL(path, this.#metadata);
    let status = 0;
    try {
      const response = await request(url, {
        method,
        headers,
        signal: AbortSignal.timeout(timeoutMs),
      });
      status = response.statusCode;
      const text = await response.body.text();
      if (status === 200) return text;
    } catch (cause) {
      const message = 'the metadata service of the machine does not respond';
      throw new SecretUnreadable(message, true, { cause });
    }
    const message = `the metadata service of the machine responds with ${status}`;
    throw new SecretUnreadable(message, status >= 500);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SecretUnreadable('the metadata service of the machine returns no JSON', true);
  }
}
