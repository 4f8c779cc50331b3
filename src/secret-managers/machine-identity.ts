/** Knows who the machine is that the gateway runs on, as the metadata service of its cloud says. */
import { request } from 'undici';
import { SecretUnreadable } from './kept-secret.ts';

const timeoutMs = 3_000;

/** Of one machine; where there is no such service, nothing answers. */
export class MachineIdentity {
  readonly #metadata: URL;

  constructor(metadata: URL) {
    this.#metadata = metadata;
  }

  /** Credentials of the role of an instance at AWS. @throws SecretUnreadable */
  async awsRole(): Promise<unknown> {
    const seconds = { 'x-aws-ec2-metadata-token-ttl-seconds': '300' };
    const token = await this.#ask('PUT', '/latest/api/token', seconds);
    const headers = { 'x-aws-ec2-metadata-token': token };
    const roles = '/latest/meta-data/iam/security-credentials/';
    const [role = ''] = (await this.#ask('GET', roles, headers)).split('\n');
    return parsed(await this.#ask('GET', roles + encodeURIComponent(role.trim()), headers));
  }

  /** A token of a managed identity at Azure. @throws SecretUnreadable */
  async azureToken(resource: string, clientId: string | null): Promise<unknown> {
    const query = new URLSearchParams({ 'api-version': '2018-02-01', resource });
    if (clientId !== null) query.set('client_id', clientId);
    const path = `/metadata/identity/oauth2/token?${query}`;
    return parsed(await this.#ask('GET', path, { metadata: 'true' }));
  }

  async #ask(
    method: 'GET' | 'PUT',
    path: string,
    headers: Record<string, string>,
  ): Promise<string> {
    const url = new URL(path, this.#metadata);
    let status = 0;
    try {
      const answer = await request(url, {
        method,
        headers,
        signal: AbortSignal.timeout(timeoutMs),
      });
      status = answer.statusCode;
      const text = await answer.body.text();
      if (status === 200) return text;
    } catch (cause) {
      const message = 'the metadata service of the machine does not answer';
      throw new SecretUnreadable(message, true, { cause });
    }
    const message = `the metadata service of the machine answers ${status}`;
    throw new SecretUnreadable(message, status >= 500);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SecretUnreadable('the metadata service of the machine answers no JSON', true);
  }
}
