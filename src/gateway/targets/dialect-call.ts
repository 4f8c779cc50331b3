/** Builds path, headers and body of a call in the dialect of its provider. */
import type { TargetSettings } from '../../model/configs/config-tree.ts';
import type { Slices } from '../../slices.ts';
import { type Dialect, type DialectRequest, NotServed } from '../../upstream/dialects/dialect.ts';
import type { TargetRequest } from '../callers/exchange.ts';
import { changeBody } from '../transfer/changed-body.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

/** The account that a call is sent with. */
interface CalledAccount {
  /** Account fields by their names in a config. */
  readonly account: TargetSettings['account'];
  readonly credential: string | null;
  /** Names in lower case; take precedence over all other headers. */
  readonly headers: Readonly<Record<string, string>>;
}

/** @throws GatewayError when the provider has no such path, or its account lacks a field */
export function pathIn(dialect: Dialect, request: DialectRequest): string {
  try {
    return dialect.pathOf(request);
  } catch (thrown) {
    if (!(thrown instanceof NotServed)) throw thrown;
    const { message, field } = thrown;
    throw new GatewayError(field === null ? 'not_found' : 'provider_missing', message, field);
  }
}

/** Returns the same bytes where the dialect changes no member. */
export function* bodyIn(
  dialect: Dialect,
  request: DialectRequest,
  body: Buffer | null,
  { isJson }: Pick<TargetRequest, 'isJson'>,
): Slices<Buffer | null> {
  if (body === null || !isJson) return body;
  const changes = dialect.changesOf?.(request) ?? null;
  return changes === null ? body : yield* changeBody(body, changes);
}

/** Request headers that are forwarded to every provider. */
const passedHeaders = ['content-type', 'accept', 'idempotency-key', 'traceparent', 'tracestate'];

export function headersFor(
  dialect: Dialect,
  { account, credential, headers: own }: CalledAccount,
  settings: TargetSettings,
  exchange: TargetRequest,
): Record<string, string> {
  const given = exchange.request.headers;
  const headers: Record<string, string> = { ...dialect.usualHeaders };
  const key = exchange.sentKey.reveal();
  const isOwnAccount = credential !== null && credential === exchange.credential;
  const withAccount = (isOwnAccount && dialect.passedWithOwnAccount) || [];
  const forwarded = [
    ...dialect.passedHeaders,
    ...withAccount,
    ...forwardedNames(settings, exchange),
  ];
  for (const names of [passedHeaders, forwarded]) {
    for (const name of names) {
      const value = given[name];
      if (typeof value === 'string' && !value.includes(key)) headers[name] = value;
    }
  }
  // The body was read as JSON, so no other type may be claimed for it.
  if (exchange.isJson) headers['content-type'] = 'application/json';
  const bytes = exchange.streamedBody?.bytes ?? null;
  if (bytes !== null) headers['content-length'] = String(bytes);
  Object.assign(headers, dialect.accountHeaders(account));
  if (credential !== null) Object.assign(headers, dialect.credentialHeaders(credential));
  return Object.assign(headers, own);
}

function forwardedNames(
  { forwardHeaders }: TargetSettings,
  { params }: TargetRequest,
): readonly string[] {
  const names = forwardHeaders?.map((name) => name.toLowerCase()) ?? [];
  // Events of a compressed stream could not be metered, judged or recorded.
  return params.stream === true ? names.filter((name) => name !== 'accept-encoding') : names;
}
