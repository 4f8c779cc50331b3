/** Knows what is known about a request beside its parameters: metadata of workspace, key and request, in that order. */

import { GatewayError } from '../transfer/gateway-error.ts';
import type { ReadHeader } from './exchange.ts';
import type { GatewayKey } from './gateway-key.ts';

const valueCharsMax = 128;
const keysMax = 100;
const headerCharsMax = 8 * 1024;

export type Metadata = Readonly<Record<string, unknown>>;

const none: Metadata = {};

/**
 * What the workspace says counts before what the key says, and that before the request: its header, then
 * what stands in the body of one of a prompt (`said`).
 */
export function metadataOf(
  key: GatewayKey,
  header: ReadHeader,
  user: unknown,
  said?: unknown,
): Metadata {
  const sent = header('metadata');
  const given = sent === null ? none : sound(jsonOf(sent), 'x-gateway-metadata', sent.length);
  const beside = said === undefined || said === null ? none : sound(said, 'metadata');
  const isNamed = typeof user === 'string' && user.length <= valueCharsMax;
  if (sent === null && beside === none && !isNamed) return ownMetadata(key);
  return { ...(isNamed ? { _user: user } : none), ...beside, ...given, ...ownMetadata(key) };
}

const ownByKey = new WeakMap<GatewayKey, Metadata>();

/** For the many requests of a key that say nothing of themselves. */
function ownMetadata(key: GatewayKey): Metadata {
  const known = ownByKey.get(key);
  if (known !== undefined) return known;
  const own = { ...key.metadata, ...key.workspace?.metadata };
  ownByKey.set(key, own);
  return own;
}

/** `place` is where it stands; it is `chars` long there. */
function sound(value: unknown, place: string, chars = 0): Metadata {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const entries = isObject ? Object.entries(value) : [];
  const isSound =
    isObject &&
    chars <= headerCharsMax &&
    entries.length <= keysMax &&
    entries.every(([, item]) => typeof item !== 'object' && String(item).length <= valueCharsMax);
  if (isSound) return value as Metadata;
  const message = `${place} must be a JSON object of at most ${keysMax} texts of at most ${valueCharsMax} characters`;
  throw new GatewayError('invalid_request', message, place);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
