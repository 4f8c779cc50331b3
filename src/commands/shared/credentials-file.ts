/** Knows the credentials.json that commands and clients reach a deployment by. */
import { open } from 'node:fs/promises';
import { Failure } from '../../failure.ts';
import type { Tenant } from '../../store/bootstrap.ts';

/** Everything in the clear: this document is secret as a whole. */
export interface CredentialsDocument {
  /** Base of the `/v1` plane; ends in `/v1`. */
  readonly baseUrl: string;
  /** Base of the `/v2` and `/admin/v2` planes. */
  readonly adminBaseUrl: string;
  readonly authUrl: string;
  readonly iamUrl: string;
  readonly tsgId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly organisationApiKey: string;
}

/** `url` is where the server is reached, without a path: `https://gateway.example.com`. */
export function credentialsDocument(
  url: string,
  tenant: Omit<Tenant, 'organisationId'>,
): CredentialsDocument {
  const origin = url.replace(/\/+$/, '');
  return {
    baseUrl: `${origin}/v1`,
    adminBaseUrl: origin,
    authUrl: origin,
    iamUrl: origin,
    tsgId: tenant.tsgId,
    clientId: tenant.clientId,
    clientSecret: tenant.clientSecret.reveal(),
    organisationApiKey: tenant.organisationApiKey.reveal(),
  };
}

export interface CredentialsFile extends AsyncDisposable {
  write(document: CredentialsDocument): Promise<void>;
}

/**
 * Makes the file, readable by its owner only, before there is anything to put into it, so that
 * credentials are never made that cannot be kept. Throws a Failure when it exists or cannot be made.
 */
export async function createCredentialsFile(path: string): Promise<CredentialsFile> {
  try {
    const file = await open(path, 'wx', 0o600);
    return {
      write: async (document) => {
        await file.writeFile(`${JSON.stringify(document, null, 2)}\n`);
        await file.sync();
      },
      [Symbol.asyncDispose]: () => file.close(),
    };
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = exists
      ? 'it exists already; move it away or choose another --output'
      : (error as Error).message;
    throw new Failure('invalidInput', `Cannot write ${path}: ${reason}.`, { cause: error });
  }
}
