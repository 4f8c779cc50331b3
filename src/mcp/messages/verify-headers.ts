/** Determines the protocol era of a request and verifies that its headers agree with its body. */

import type { IncomingHttpHeaders } from 'node:http';
import { digitsOf } from '../../model/json/exact-numbers.ts';
import { isObject } from '../../model/json/read-object.ts';
import { PlaneFault } from './plane-fault.ts';
import type { ClientMessage, ReceivedMessages } from './read-messages.ts';

/** `legacy` has sessions and `initialize`; `modern` has neither. */
export type McpEra = 'legacy' | 'modern';

/** The first version of the modern era. Versions are dates, so texts compare like them. */
export const firstModernVersion = '2026-07-28';
/** The only version with batches, which is assumed when no version is sent. */
const batchVersion = '2025-03-26';
const versionPattern = /^\d{4}-\d{2}-\d{2}$/;
export const versionMember = 'io.modelcontextprotocol/protocolVersion';

/** The parameter that `Mcp-Name` repeats, by method. */
export const nameMembers: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

/** Paths of arguments by the name of the header that repeats them, in lower case without `mcp-param-`. */
export type ParamHeaders = ReadonlyMap<string, readonly string[]>;

export function isModernVersion(version: string | undefined): boolean {
  return version !== undefined && versionPattern.test(version) && version >= firstModernVersion;
}

/** Only requests of the modern era have their version in the body; its server answers which ones it knows. */
function isUnknownVersion(version: string | undefined): boolean {
  return version !== undefined && !versionPattern.test(version);
}

/**
 * `paramHeadersOf` returns the argument headers of a tool.
 *
 * @throws PlaneFault when a header contradicts the body, is missing where the era demands it, or the
 * version has no batches
 */
export function verifyHeaders(
  headers: IncomingHttpHeaders,
  { isBatch, messages }: ReceivedMessages,
  paramHeadersOf: (tool: string) => ParamHeaders | undefined,
): McpEra {
  const version = textOf(headers['mcp-protocol-version']);
  const isModern =
    isModernVersion(version) || messages.some((message) => isModernVersion(metaVersion(message)));
  if (isBatch) {
    requireBatchVersion(version, isModern);
    for (const name of ['mcp-method', 'mcp-name']) {
      if (headers[name] !== undefined) throw mismatch(name, 'a batch has no single value of it');
    }
    return 'legacy';
  }
  const message = messages[0]!;
  verifyMethod(headers, message, isModern);
  verifyName(headers, message, isModern);
  if (!isModern) return isUnknownVersion(metaVersion(message)) ? 'modern' : 'legacy';
  verifyVersion(version, message);
  if (message.method === 'tools/call') {
    verifyArguments(headers, message, paramHeadersOf(String(message.params.name)));
  }
  return 'modern';
}

function requireBatchVersion(version: string | undefined, isModern: boolean): void {
  if (!isModern && (version === undefined || version === batchVersion)) return;
  const message = `Batches exist in version ${batchVersion} only; send one message`;
  throw new PlaneFault('invalid_message', message);
}

function verifyMethod(
  headers: IncomingHttpHeaders,
  message: ClientMessage,
  isModern: boolean,
): void {
  const sent = textOf(headers['mcp-method']);
  if (message.kind === 'response') {
    if (isModern) throw new PlaneFault('invalid_message', 'This version has no client responses');
    if (sent !== undefined) throw mismatch('mcp-method', 'a response has no method');
    return;
  }
  if (sent === undefined && !isModern) return;
  if (sent === undefined) throw mismatch('mcp-method', 'it is missing');
  if (sent !== message.method) throw mismatch('mcp-method', 'it differs from method');
}

function verifyName(headers: IncomingHttpHeaders, message: ClientMessage, isModern: boolean): void {
  const sent = textOf(headers['mcp-name']);
  const member = message.kind === 'response' ? undefined : nameMembers[message.method];
  if (member === undefined) {
    // Other methods may gain a name later; none may contradict a name in the body.
    const own = message.params.name ?? message.params.uri;
    if (sent !== undefined && typeof own === 'string' && decodedHeader(sent) !== own) {
      throw mismatch('mcp-name', 'it differs from the body');
    }
    return;
  }
  if (sent === undefined && !isModern) return;
  if (sent === undefined) throw mismatch('mcp-name', 'it is missing');
  if (decodedHeader(sent) !== message.params[member]) {
    throw mismatch('mcp-name', `it differs from params.${member}`);
  }
}

function verifyVersion(version: string | undefined, message: ClientMessage): void {
  if (version === undefined) throw mismatch('mcp-protocol-version', 'it is missing');
  const own = metaVersion(message);
  if (own === undefined) {
    if (message.kind === 'notification') return;
    const text = `params._meta["${versionMember}"] is missing`;
    throw new PlaneFault('version_missing', text);
  }
  if (own !== version) throw mismatch('mcp-protocol-version', 'it differs from params._meta');
}

function metaVersion({ params }: ClientMessage): string | undefined {
  const { _meta: meta } = params;
  const version = isObject(meta) ? meta[versionMember] : undefined;
  return typeof version === 'string' ? version : undefined;
}

/** Headers of arguments that are sent must repeat the argument; the server checks that none is missing. */
function verifyArguments(
  headers: IncomingHttpHeaders,
  { params }: ClientMessage,
  known: ParamHeaders | undefined,
): void {
  for (const [name, path] of known ?? []) {
    const sent = textOf(headers[`mcp-param-${name}`]);
    if (sent === undefined) continue;
    let value: unknown = params.arguments;
    for (const step of path) value = isObject(value) ? value[step] : undefined;
    const text = decodedHeader(sent);
    const isSame = typeof text === 'string' && isSameArgument(text, value);
    if (!isSame) throw mismatch(`mcp-param-${name}`, `it differs from ${path.join('.')}`);
  }
}

/** Numbers have several forms, of which only exact ones are compared by value. */
function isSameArgument(text: string, value: unknown): boolean {
  const digits = digitsOf(value);
  if (digits === text) return true;
  const number = digits === null ? value : Number(digits);
  if (typeof number !== 'number') {
    return value !== undefined && value !== null && text === String(value);
  }
  const isExact = digits === null || Math.abs(number) <= Number.MAX_SAFE_INTEGER;
  return isExact && text.trim() !== '' && Number(text) === number;
}

/** Decodes `=?base64?…?=`; null for invalid base64. Any other value stands for itself. */
export function decodedHeader(value: string): string | null {
  const encoded = /^=\?base64\?(.*)\?=$/s.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded) return null;
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) ? text : null;
}

function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}

function mismatch(header: string, why: string): PlaneFault {
  return new PlaneFault('header_mismatch', `The header ${header} does not match the body: ${why}`);
}

const headerToken = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;

/** Reads which arguments of a tool have headers from its input schema. */
export function paramHeadersIn(schema: unknown): ParamHeaders {
  const found = new Map<string, readonly string[]>();
  collect(schema, [], found);
  return found;
}

const schemaDepthMax = 16;

function collect(schema: unknown, path: readonly string[], found: Map<string, readonly string[]>) {
  if (!isObject(schema) || !isObject(schema.properties) || path.length > schemaDepthMax) return;
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!isObject(property)) continue;
    const header = property['x-mcp-header'];
    const at = [...path, name];
    // No client can send a header of another name.
    if (typeof header === 'string' && headerToken.test(header)) {
      found.set(header.toLowerCase(), at);
    }
    collect(property, at, found);
  }
}

/** Newest first. */
export const legacyVersions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26'];

/** Whether a legacy client can have sent the messages; a server itself refuses other versions. */
export function isFromLegacyClient(
  headers: IncomingHttpHeaders,
  messages: readonly ClientMessage[],
): boolean {
  const version = textOf(headers['mcp-protocol-version']);
  if (version !== undefined && !legacyVersions.includes(version)) return false;
  return messages.every((message) => metaVersion(message) === undefined);
}

const headerTypes: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean']);

/** Whether a client can send the headers that an input schema demands: valid, unique, of single values. */
export function hasValidParamHeaders(schema: unknown): boolean {
  return hasValidHeadersBelow(schema, 0, new Set());
}

function hasValidHeadersBelow(schema: unknown, depth: number, seen: Set<string>): boolean {
  if (!isObject(schema) || !isObject(schema.properties) || depth > schemaDepthMax) return true;
  return Object.values(schema.properties).every((property) => {
    if (!isObject(property)) return true;
    const { type } = property;
    if (!('x-mcp-header' in property)) return hasValidHeadersBelow(property, depth + 1, seen);
    const header = property['x-mcp-header'];
    if (typeof header !== 'string' || !headerToken.test(header)) return false;
    const isNew = !seen.has(header.toLowerCase());
    seen.add(header.toLowerCase());
    return isNew && headerTypes.has(type);
  });
}
