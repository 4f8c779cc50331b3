/** Verifies push webhooks of Git hosts and reads the ref that they concern. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Secret } from '../../secret.ts';
import { standardSignature } from './standard-webhook.ts';

export type WebhookForm = 'github' | 'gitlab' | 'gitea' | 'generic' | 'standard';

export interface Webhook {
  readonly headers: IncomingHttpHeaders;
  /** The raw body: signatures cover the bytes. */
  readonly body: Buffer;
}

/** An accepted webhook; `isDue` if it may concern the watched source. */
export interface Hint {
  readonly form: WebhookForm;
  readonly isDue: boolean;
}

/** Maximum difference between a signed timestamp and now, in both directions. */
const ageMsMax = 300_000;

/** The header with the signature of each form; the first one present selects the form. */
const proofs: readonly {
  readonly form: WebhookForm;
  readonly header: string;
  readonly isRight: (given: string, hook: Webhook, secret: string, now: number) => boolean;
}[] = [
  {
    form: 'gitea',
    header: 'x-gitea-signature',
    isRight: (given, { body }, secret) => isSame(given, hexOf(body, secret)),
  },
  {
    form: 'github',
    header: 'x-hub-signature-256',
    isRight: (given, { body }, secret) => isSame(given, `sha256=${hexOf(body, secret)}`),
  },
  { form: 'standard', header: 'webhook-signature', isRight: isRightByStandard },
  {
    form: 'gitlab',
    header: 'x-gitlab-token',
    isRight: (given, _, secret) => isSame(given, secret),
  },
  {
    form: 'generic',
    header: 'x-gatewright-signature-256',
    isRight: (given, { body }, secret) => isSame(given, `sha256=${hexOf(body, secret)}`),
  },
];

/**
 * Returns null for a webhook without a valid signature.
 *
 * @param refs watched Git branches or tags, null for the default branch; an empty list accepts
 *   every hint
 * @param now milliseconds since the epoch
 */
export function readWebhook(
  hook: Webhook,
  secret: Secret,
  refs: readonly (string | null)[],
  now: number,
): Hint | null {
  const proof = proofs.find(({ header }) => typeof hook.headers[header] === 'string');
  if (proof === undefined) return null;
  const { form, header, isRight } = proof;
  if (!isRight(String(hook.headers[header]), hook, secret.reveal(), now)) return null;
  const payload = payloadOf(hook);
  const isOfHost = form === 'github' || form === 'gitea' || form === 'gitlab';
  return { form, isDue: concerns(payload, refs, isOfHost) };
}

/** Compares in constant time, whatever the lengths. */
function isSame(given: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(right));
}

function hexOf(body: Buffer, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

/** Standard Webhooks, which GitLab uses with a signing token: id, timestamp and body are signed. */
function isRightByStandard(
  given: string,
  { headers, body }: Webhook,
  secret: string,
  now: number,
): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp } = headers;
  if (typeof id !== 'string' || typeof timestamp !== 'string') return false;
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(Number(timestamp) * 1000 - now) > ageMsMax) return false;
  const right = standardSignature({ id, timestamp, body }, secret);
  return given.split(' ', 8).some((one) => isSame(one, right));
}

/** Returns the JSON payload, also when GitHub sends it as a form; undefined when there is none. */
function payloadOf({ headers, body }: Webhook): unknown {
  const text = body.toString('utf8');
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') ?? false;
  try {
    return JSON.parse(isForm ? (new URLSearchParams(text).get('payload') ?? '') : text);
  } catch {
    return undefined;
  }
}

/**
 * A Git host that names no ref reports something other than a push. Generic senders may know only
 * that there is news.
 */
function concerns(payload: unknown, refs: readonly (string | null)[], isOfHost: boolean): boolean {
  const ref = textAt(payload, 'ref');
  if (ref === undefined) return !isOfHost;
  if (refs.length === 0) return true;
  const byDefault =
    textAt(payload, 'repository', 'default_branch') ?? textAt(payload, 'project', 'default_branch');
  return refs.some((wanted) => {
    const name = wanted ?? byDefault;
    return name === undefined || [name, `refs/heads/${name}`, `refs/tags/${name}`].includes(ref);
  });
}

function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return typeof found === 'string' ? found : undefined;
}
