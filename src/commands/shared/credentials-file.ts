/** Reads and writes credentials.json, with which commands and clients connect to a deployment. */
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { Failure } from '../../failure.ts';
import type { BootstrappedAccount, BootstrappedTenant } from '../../store/bootstrap.ts';

/** The fields that a client of the Admin API needs; hand-written files may contain only these. */
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

/** The complete document in plain text: the whole file is secret. */
export const Credentials = ClientCredentials.extend({
  iamUrl: z.url(),
  organisationApiKey: z.string().min(1),
  /** Base URL of inference for OpenAI-compatible clients; ends in `/v1`. Absent in older files. */
  inferenceUrl: z.url().optional(),
});

/** Path of the credentials in the home of `gatewright up`. */
export function credentialsPathOf(home: string): string {
  return join(home, 'credentials.json');
}

/**
 * Renders the file. `url` is the address of the server without a path: `https://gateway.example.com`;
 * `inferenceUrl` ends in `/v1`.
 */
export function credentialsText(
  url: string,
  tenant: Omit<BootstrappedAccount, 'organisationId'> &
    Partial<Pick<BootstrappedTenant, 'organisationApiKey'>>,
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

/** Advice at the end of an error message. */
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
 * Creates the file, readable by its owner only, before the credentials exist, so that credentials are
 * never created that cannot be stored.
 *
 * @throws Failure when the file exists or cannot be created
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
