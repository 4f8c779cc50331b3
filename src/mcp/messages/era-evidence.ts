/** Reads from the response of a server which protocol era it speaks. */
import { isObject } from '../../model/json/read-object.ts';
import type { RpcObject } from './read-messages.ts';
import { firstModernVersion, isModernVersion } from './verify-headers.ts';

/** The description that a server of the modern era gives of itself. */
export interface ServerDiscovery {
  readonly capabilities: RpcObject;
  readonly info: RpcObject;
  readonly instructions: string | null;
}

export interface EraEvidence {
  readonly era: 'legacy' | 'modern';
  /** The version of the modern era that the gateway shares with the server; null for none. */
  readonly version: string | null;
  /** Null when the server refused to describe itself. */
  readonly discovery: ServerDiscovery | null;
}

const serverMember = 'io.modelcontextprotocol/serverInfo';
const unsupportedVersionCode = -32022;
/** Header mismatch, missing capability, unsupported version: codes that exist in the modern era only. */
const modernCodes: ReadonlySet<unknown> = new Set([-32020, -32021, unsupportedVersionCode]);
const unnamed: RpcObject = { name: 'unknown', version: 'unknown' };

const legacy: EraEvidence = { era: 'legacy', version: null, discovery: null };

const [invalidParams, unknownMethod] = [-32602, -32601];

/**
 * Whether the response to a legacy request may come from a server of the modern era, which also misses
 * members of `_meta` and does not know `initialize`.
 */
export function mayRefuseLegacy(status: number, message: unknown): boolean {
  if (isModernError(message)) return true;
  if (!isObject(message) || !isObject(message.error)) return false;
  const { code } = message.error;
  return (status === 400 && code === invalidParams) || (status === 404 && code === unknownMethod);
}

/** Whether the message is an error that only a server of the modern era sends. */
function isModernError(message: unknown): boolean {
  return isObject(message) && isObject(message.error) && modernCodes.has(message.error.code);
}

/** Reads the response to `server/discover`. Everything but an answer or an error of the modern era means legacy. */
export function eraEvidence(message: unknown): EraEvidence {
  if (!isObject(message)) return legacy;
  const { result, error } = message;
  if (isObject(result)) {
    const versions = versionsIn(result.supportedVersions);
    if (!versions.some(isModernVersion)) return legacy;
    return { era: 'modern', version: sharedVersion(versions), discovery: discoveryIn(result) };
  }
  if (!isModernError(message) || !isObject(error)) return legacy;
  const { code, data } = error;
  if (code !== unsupportedVersionCode) {
    return { era: 'modern', version: firstModernVersion, discovery: null };
  }
  const versions = isObject(data) ? versionsIn(data.supported) : [];
  if (!versions.some(isModernVersion)) return legacy;
  return { era: 'modern', version: sharedVersion(versions), discovery: null };
}

function versionsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
}

function sharedVersion(versions: readonly string[]): string | null {
  return versions.includes(firstModernVersion) ? firstModernVersion : null;
}

function discoveryIn(result: RpcObject): ServerDiscovery {
  const { capabilities, instructions, _meta: meta } = result;
  const info = isObject(meta) ? meta[serverMember] : undefined;
  return {
    capabilities: isObject(capabilities) ? capabilities : {},
    info: isObject(info) ? info : unnamed,
    instructions: typeof instructions === 'string' ? instructions : null,
  };
}
