/** Knows the push webhooks of Git hosts: whether one is signed by who shares the secret, and which ref it is about. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Secret } from '../../secret.ts';
import { standardSignature } from './standard-webhook.ts';

export type WebhookForm = 'github' | 'gitlab' | 'gitea' | 'generic' | 'standard';

export interface Webhook {
  readonly headers: IncomingHttpHeaders;
  /** As it was sent: signatures are over bytes. */
  readonly body: Buffer;
}

/** What an accepted webhook says; `isDue` when it may be about what is watched. */
export interface Hint {
  readonly form: WebhookForm;
  readonly isDue: boolean;
}

/** How far the moment in a signed header may be from now, either way. */
const ageMsMax = 300_000;

/** Where each form has its proof; the first that the request carries says which form it is. */
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
 * Null for a webhook without a right proof.
 *
 * @param refs what is watched of Git: names of branches or tags, null for the default branch; none
 *   where every hint counts
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

/** In constant time whatever their lengths. */
function isSame(given: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(right));
}

function hexOf(body: Buffer, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

/** Standard Webhooks, which GitLab sends with a signing token: id, moment and body are signed. */
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

/** The JSON, also where GitHub sends it as a form; undefined where there is none. */
function payloadOf({ headers, body }: Webhook): unknown {
  const text = body.toString('utf8');
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') ?? false;
  try {
    return JSON.parse(isForm ? (new URLSearchParams(text).get('payload') ?? '') : text);
  } catch {
    return undefined;
  }
}

/** A host that tells no ref tells of something else than a push; others may know no more than that there is news. */
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
