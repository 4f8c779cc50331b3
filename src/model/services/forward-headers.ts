/** Checks which request headers may be forwarded or set. */
import type { Fault } from '../wire/fault.ts';

/** Maximum number of names in one list or map of headers. */
export const headerNamesMax = 32;
const nameLengthMax = 64;
const valueLengthMax = 8192;

/** RFC 9110 token. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Why a header is restricted (docs/reference/api.md, Headers). */
type Restriction = 'credentials' | 'cloud metadata' | 'routing' | 'framing' | 'gateway';

/** Names in lower case, with `-` in place of `_`; `*` matches any characters. */
const restricted: Readonly<Record<Restriction, readonly string[]>> = {
  credentials: [
    'authorization',
    'proxy-authorization',
    'proxy-authenticate',
    'cookie',
    'set-cookie',
    'x-api-key',
    'api-key',
    'apikey',
    'ocp-apim-subscription-key',
    'x-goog-api-key',
    'x-amz-security-token',
    'x-auth-token',
    'x-csrf-token',
    'x-user-claims',
    'x-user-jwt',
    '*-token',
    '*-secret',
    '*-api-key',
    '*-password',
  ],
  'cloud metadata': [
    'metadata',
    'metadata-flavor',
    'x-aws-ec2-metadata-token*',
    'x-google-metadata-request',
    'x-ms-*identity*',
    'x-identity-header',
  ],
  routing: [
    'host',
    'forwarded',
    'x-forwarded-*',
    'x-real-ip',
    'x-original-*',
    'x-rewrite-url',
    'x-envoy-*',
    'x-http-method*',
    'x-method*',
    'via',
    'cf-*',
    'true-client-ip',
  ],
  framing: [
    'connection',
    'keep-alive',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'content-length',
    'expect',
    'proxy-connection',
    'http2-settings',
  ],
  gateway: ['x-gateway-*', 'gatewright-*'],
};

/** The only headers of the gateway that carry no authority. */
const alwaysAllowed = new Set(['x-gateway-trace-id', 'x-gateway-span-id']);

const rules = Object.entries(restricted).map(([restriction, names]) => {
  const alternatives = names.map((name) => name.replaceAll('*', '.*'));
  return { restriction, matcher: new RegExp(`^(?:${alternatives.join('|')})$`) };
});

/** Use of a header, which decides which restrictions apply. */
export type HeaderUse =
  /** A caller's header forwarded to a guardrail's webhook or an MCP server: all restrictions. */
  | 'forwarded'
  /** A caller's header forwarded to a model provider, which needs credentials. */
  | 'provider'
  /** A header an administrator sets on requests to their own server. */
  | 'set';

const applying: Readonly<Record<HeaderUse, ReadonlySet<string>>> = {
  forwarded: new Set(Object.keys(restricted)),
  provider: new Set(['cloud metadata', 'framing', 'gateway', 'routing']),
  set: new Set(['cloud metadata', 'framing', 'gateway', 'routing']),
};

/** Returns why a header name is rejected for this use, or null. The message follows the name's path. */
export function headerNameFault(name: string, use: HeaderUse): string | null {
  if (name.length > nameLengthMax) return `has more than ${nameLengthMax} characters`;
  if (!token.test(name)) return 'is not a valid header name';
  const folded = name.toLowerCase().replaceAll('_', '-');
  if (alwaysAllowed.has(folded)) return null;
  const rule = rules.find(
    ({ restriction, matcher }) => applying[use].has(restriction) && matcher.test(folded),
  );
  return rule === undefined ? null : `is a restricted header (${rule.restriction})`;
}

/**
 * Checks a list of header names (`forwardHeaders`): each name, duplicates, at most 32. A path is the
 * index in the list, or empty for the whole list.
 */
export function headerListFaults(names: readonly string[], use: HeaderUse): Fault[] {
  if (names.length > headerNamesMax)
    return [{ path: [], message: `names more than ${headerNamesMax} headers` }];
  const seen = new Set<string>();
  return names.flatMap((name, at) => {
    const fault =
      headerNameFault(name, use) ?? (seen.has(name.toLowerCase()) ? 'is a duplicate' : null);
    seen.add(name.toLowerCase());
    return fault === null ? [] : [{ path: [at], message: fault }];
  });
}

/** Checks a map of header names to values; a path is the name. A fault never contains the value. */
export function headerMapFaults(
  headers: Readonly<Record<string, string>>,
  use: HeaderUse,
): Fault[] {
  const names = Object.keys(headers);
  if (names.length > headerNamesMax) return headerListFaults(names, use);
  const faults = headerListFaults(names, use).map(({ path, message }) => ({
    path: path.map((at) => names[at as number]!),
    message,
  }));
  const values = names.flatMap((name) => {
    const fault = headerValueFault(headers[name]!);
    return fault === null ? [] : [{ path: [name], message: fault }];
  });
  return [...faults, ...values];
}

function headerValueFault(value: string): string | null {
  if (value.length > valueLengthMax) return `has a value longer than ${valueLengthMax} characters`;
  // Visible ASCII, Latin-1, space and tab: a line break would inject a header.
  return /^[\t\x20-\x7e\xa0-\xff]*$/.test(value)
    ? null
    : 'has a value with characters that a header cannot carry';
}
