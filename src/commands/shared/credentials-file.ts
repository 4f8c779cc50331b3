/** Knows the credentials.json that commands and clients reach a deployment by: its fields, reading, writing. */
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { Failure } from '../../failure.ts';
import type { Account, Tenant } from '../../store/bootstrap.ts';

/** What a client of the Admin API needs of it; a file written by hand may hold no more. */
export const ClientCredentials = z.object({
  /** Base of the `/v1` plane; ends in `/v1`. */
  baseUrl: z.url(),
  /** Base of the `/v2` and `/admin/v2` planes. */
  adminBaseUrl: z.url(),
  authUrl: z.url(),
  tsgId: z.string().regex(/^\d{10}$/, 'must have 10 digits'),
  clientId: z.string().min(1),
  clientSecret: z.string().min(1),
});

/** The whole document, everything in the clear: it is secret as a whole. */
export const Credentials = ClientCredentials.extend({
  iamUrl: z.url(),
  organisationApiKey: z.string().min(1),
  /** Base of inference, for clients of model providers; ends in `/v1`. Absent in older files. */
  inferenceUrl: z.url().optional(),
});

/** Where `gatewright up` keeps the credentials of its `home`. */
export function credentialsPathOf(home: string): string {
  return join(home, 'credentials.json');
}

/**
 * The file's text. `url` is where the server is reached, without a path:
 * `https://gateway.example.com`; `inferenceUrl` where inference is, with its `/v1`.
 */
export function credentialsText(
  url: string,
  tenant: Omit<Account, 'organisationId'> & Partial<Pick<Tenant, 'organisationApiKey'>>,
  inferenceUrl?: string,
): string {
  const origin = url.replace(/\/+$/, '');
  const document: Omit<z.infer<typeof Credentials>, 'organisationApiKey'> = {
    baseUrl: `${origin}/v1`,
    adminBaseUrl: origin,
    authUrl: origin,
    iamUrl: origin,
    tsgId: tenant.tsgId,
    clientId: tenant.clientId,
    clientSecret: tenant.clientSecret.reveal(),
  };
  const organisationApiKey = tenant.organisationApiKey?.reveal();
  return `${JSON.stringify({ ...document, organisationApiKey, inferenceUrl }, null, 2)}\n`;
}

/** What to do, told at the end of a failure. */
export interface CredentialsAdvice {
  readonly missing: string;
  readonly damaged: string;
}

/** @throws Failure (invalid input) naming the file, the fields at fault, and the advice */
export function readCredentials<T>(
  path: string,
  schema: z.ZodType<T>,
  advice: CredentialsAdvice,
): T {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    const message = `the credentials file ${path} ${reason}.\n${advice.missing}`;
    throw new Failure('invalidInput', message, { cause: error });
  }
  const parsed = schema.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  const fields = new Set(parsed.error.issues.map(({ path: keys }) => keys.join('.') || 'JSON'));
  const what = `${[...fields].join(', ')} missing or wrong`;
  throw new Failure(
    'invalidInput',
    `${path} is not a credentials file: ${what}.\n${advice.damaged}`,
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export interface CredentialsFile extends AsyncDisposable {
  write(text: string): Promise<void>;
}

/**
 * Makes the file, readable by its owner only, before there is anything to put into it, so that
 * credentials are never made that cannot be kept. Throws a Failure when it exists or cannot be made.
 */
export async function createCredentialsFile(path: string): Promise<CredentialsFile> {
  try {
    const file = await open(path, 'wx', 0o600);
    return {
      write: async (text) => {
        await file.writeFile(text);
        await file.sync();
      },
      [Symbol.asyncDispose]: () => file.close(),
    };
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = exists
      ? 'it exists already; move it away or choose another --file'
      : (error as Error).message;
    throw new Failure('invalidInput', `Cannot write ${path}: ${reason}.`, { cause: error });
  }
}
