/**
 * Answers requests for secrets of realtime sessions, in the forms of OpenAI and Google. No provider is asked for one:
 * it would permit talking to the provider past limits and guardrails (docs/reference/realtime.md, Secrets).
 */
import type { Exchange } from '../callers/exchange.ts';
import type { SecretApi, SessionSecrets } from '../callers/session-secrets.ts';
import type { RequestContext } from '../calls/request-context.ts';
import { sendObject } from '../objects/send-object.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { Params } from '../transfer/read-body.ts';

/** A request for a secret, without its form. */
interface SecretRequest {
  readonly api: SecretApi;
  readonly model: string | null;
  readonly expiresAtMs: number;
  /** The response in the form of the request. */
  readonly bodyOf: (secret: string) => object;
}

/** Reads a request; `now` in milliseconds since the epoch. */
type ReadRequest = (params: Params, now: number) => SecretRequest;

const secondMs = 1_000;
const secondsUsual = 600;
const secondsOfSession = 60;
const secondsMin = 10;
const secondsMax = 7_200;

const readers: ReadonlyMap<string, ReadRequest> = new Map<string, ReadRequest>([
  ['/realtime/client_secrets', readClientSecret],
  ['/realtime/sessions', readSession],
  ['/v1alpha/auth_tokens', readAuthToken],
]);

export function isSecretRequest({ request: { method }, path }: Exchange): boolean {
  return method === 'POST' && readers.has(path);
}

/** @throws GatewayError for settings that the secret cannot hold */
export function serveSessionSecret(
  context: RequestContext,
  secrets: Pick<SessionSecrets, 'issue'>,
): Promise<void> {
  const { path, params, now, key, header } = context.exchange;
  const requested = readers.get(path)!(params, now);
  const secret = secrets.issue(key, header, requested);
  return sendObject(context, { body: requested.bodyOf(secret) });
}

function readClientSecret(params: Params, now: number): SecretRequest {
  requireMembers(params, ['expires_after', 'session'], '');
  const session = memberOf(params, 'session', '');
  const expiry = memberOf(params, 'expires_after', '');
  requireMembers(session, ['type', 'model'], 'session.');
  requireMembers(expiry, ['anchor', 'seconds'], 'expires_after.');
  if (session.type !== undefined && session.type !== 'realtime') {
    throw fault('session.type', 'must be realtime');
  }
  const model = textOf(session.model, 'session.model');
  const expiresAtMs = now + secondsIn(expiry.seconds) * secondMs;
  return openAiSecret(model, expiresAtMs, (secret) => ({
    ...secret,
    session: { type: 'realtime', object: 'realtime.session', model },
  }));
}

/** The older form, whose body is the settings of the session. */
function readSession(params: Params, now: number): SecretRequest {
  requireMembers(params, ['model'], '');
  const model = textOf(params.model, 'model');
  const expiresAtMs = now + secondsOfSession * secondMs;
  return openAiSecret(model, expiresAtMs, (secret) => ({
    object: 'realtime.session',
    model,
    client_secret: secret,
  }));
}

/** `bodyOf` receives the secret and when it expires, in seconds since the epoch. */
function openAiSecret(
  model: string | null,
  expiresAtMs: number,
  bodyOf: (secret: { readonly value: string; readonly expires_at: number }) => object,
): SecretRequest {
  const expires_at = Math.floor(expiresAtMs / secondMs);
  return {
    api: 'openai',
    model,
    expiresAtMs,
    bodyOf: (value) => bodyOf({ value, expires_at }),
  };
}

function readAuthToken(params: Params, now: number): SecretRequest {
  const { newSessionExpireTime: newSession, expireTime } = params;
  requireMembers(params, ['newSessionExpireTime', 'expireTime', 'bidiGenerateContentSetup'], '');
  const holder = memberOf(params, 'bidiGenerateContentSetup', '');
  const inner = holder.setup === undefined ? holder : memberOf(holder, 'setup', '');
  requireMembers(inner, ['model'], 'bidiGenerateContentSetup.');
  const named = textOf(inner.model, 'bidiGenerateContentSetup.model');
  const name = newSession === undefined ? 'expireTime' : 'newSessionExpireTime';
  return {
    api: 'gemini',
    model: named === null ? null : named.replace(/^models\//, ''),
    expiresAtMs: timeIn(newSession ?? expireTime, name, now),
    bodyOf: (secret) => ({ name: secret }),
  };
}

/** A secret has no room for other settings, which would be lost without a word. */
function requireMembers(params: Params, known: readonly string[], path: string): void {
  const unknown = Object.keys(params).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw fault(`${path}${unknown}`, 'cannot be part of a secret; send it when the session is open');
}

function memberOf(params: Params, name: string, path: string): Params {
  const value = params[name];
  if (value === undefined || value === null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Params;
  throw fault(`${path}${name}`, 'must be an object');
}

function textOf(value: unknown, param: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' && value !== '' && value.length <= 256) return value;
  throw fault(param, 'must be the name of a model');
}

function secondsIn(value: unknown): number {
  if (value === undefined) return secondsUsual;
  const isWithin =
    Number.isSafeInteger(value) &&
    (value as number) >= secondsMin &&
    (value as number) <= secondsMax;
  if (isWithin) return value as number;
  throw fault(
    'expires_after.seconds',
    `must be a whole number from ${secondsMin} to ${secondsMax}`,
  );
}

function timeIn(value: unknown, param: string, now: number): number {
  if (value === undefined) return now + secondsOfSession * secondMs;
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (time > now && time <= now + secondsMax * secondMs) return time;
  throw fault(param, `must be a time within the next ${secondsMax / 3_600} hours`);
}

function fault(param: string, what: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${what}`, param);
}
