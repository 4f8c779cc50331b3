/** Reads the identity of the machine from the metadata service of its cloud. */
/* Two requests each; the reason against the SDKs of the clouds is in cloud-service.ts. */
import { request } from 'undici';
import { type AwsCredentials, AwsUnavailable } from '../aws/aws-credentials.ts';
import { machineCredentials } from '../aws/machine-credentials.ts';
import { SecretUnreadable } from './managed-secret.ts';

const timeoutMs = 3_000;

/** Outside of a cloud there is no metadata service, and every read times out. */
export class MachineIdentity {
  readonly #metadata: URL;

  constructor(metadata: URL) {
    this.#metadata = metadata;
  }

  /** Reads the credentials of the role of the machine at AWS. @throws AwsUnavailable */
  async awsRole(): Promise<AwsCredentials> {
    return machineCredentials(this.#metadata, async ({ url, method, headers }) => {
      try {
        return await this.#send(method, url, headers);
      } catch (cause) {
        throw new AwsUnavailable((cause as Error).message, true, { cause });
      }
    });
  }

  /** Reads a token of a managed identity at Azure. @throws SecretUnreadable */
  async azureToken(resource: string, clientId: string | null): Promise<unknown> {
    const query = new URLSearchParams({ 'api-version': '2018-02-01', resource });
    if (clientId !== null) query.set('client_id', clientId);
    const path = `/metadata/identity/oauth2/token?${query}`;
    return parsed(await this.#request('GET', path, { metadata: 'true' }));
  }

  /** Reads a token of the service account at Google Cloud. @throws SecretUnreadable */
  async googleToken(): Promise<unknown> {
    const path = '/computeMetadata/v1/instance/service-accounts/default/token';
    return parsed(await this.#request('GET', path, { 'metadata-flavor': 'Google' }));
  }

  async #request(
    method: 'GET' | 'PUT',
    path: string,
    headers: Record<string, string>,
  ): Promise<string> {
    const { status, text } = await this.#send(method, new URL(path, this.#metadata), headers);
    if (status === 200) return text;
    const message = `the metadata service of the machine responds with ${status}`;
    throw new SecretUnreadable(message, status >= 500);
  }

  async #send(
    method: 'GET' | 'PUT' | 'POST',
    url: URL,
    headers: Record<string, string>,
  ): Promise<{ readonly status: number; readonly text: string }> {
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const { statusCode: status, body } = await request(url, { method, headers, signal });
      return { status, text: await body.text() };
    } catch (cause) {
      const message = 'the metadata service of the machine does not respond';
      throw new SecretUnreadable(message, true, { cause });
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SecretUnreadable('the metadata service of the machine returns no JSON', true);
  }
}
