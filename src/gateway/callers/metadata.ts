/** Merges the metadata of workspace, key and request, in that order of precedence. */

import { isObject } from '../../model/json/read-object.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { ReadHeader } from './exchange.ts';
import type { GatewayKey } from './gateway-key.ts';

const valueCharsMax = 128;
const keysMax = 100;
const headerCharsMax = 8 * 1024;

export type Metadata = Readonly<Record<string, unknown>>;

const none: Metadata = {};

/**
 * The workspace takes precedence over the key, and the key over the request: its header, then `bodyMetadata`,
 * which only prompt requests send.
 *
 * @throws GatewayError for metadata that are too large or not an object of scalars
 */
export function metadataOf(
  key: GatewayKey,
  header: ReadHeader,
  user: unknown,
  bodyMetadata?: unknown,
): Metadata {
  const sent = header('metadata');
  const fromHeader =
    sent === null ? none : requireMetadata(jsonOf(sent), 'x-gateway-metadata', sent.length);
  const fromBody =
    bodyMetadata === undefined || bodyMetadata === null
      ? none
      : requireMetadata(bodyMetadata, 'metadata');
  const isNamed = typeof user === 'string' && user.length <= valueCharsMax;
  if (sent === null && fromBody === none && !isNamed) return ownMetadata(key);
  return { ...(isNamed ? { _user: user } : none), ...fromBody, ...fromHeader, ...ownMetadata(key) };
}

const ownByKey = new WeakMap<GatewayKey, Metadata>();

/** Cached per key, because most requests have no metadata of their own. */
function ownMetadata(key: GatewayKey): Metadata {
  const cached = ownByKey.get(key);
  if (cached !== undefined) return cached;
  const own = { ...key.metadata, ...key.workspace?.metadata };
  ownByKey.set(key, own);
  return own;
}

/** `param` names the source of the metadata, which has `chars` characters. */
function requireMetadata(value: unknown, param: string, chars = 0): Metadata {
  const entries = isObject(value) ? Object.entries(value) : [];
  const isValid =
    isObject(value) &&
    chars <= headerCharsMax &&
    entries.length <= keysMax &&
    entries.every(([, item]) => typeof item !== 'object' && String(item).length <= valueCharsMax);
  if (isValid) return value as Metadata;
  const message = `${param} must be a JSON object of at most ${keysMax} strings of at most ${valueCharsMax} characters`;
  throw new GatewayError('invalid_request', message, param);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
