/** Reduces the definition of a tool, prompt or resource to one canonical text and its SHA-256. */
import { createHash } from 'node:crypto';
import { digitsOf } from '../json/exact-numbers.ts';
import { isObject } from '../json/read-object.ts';
import type { McpCapabilityFacts } from './mcp-discovery.ts';
import type { McpCapabilityType } from './mcp-integration.ts';

/** A definition as a server lists it. */
export interface Definition {
  readonly type: McpCapabilityType;
  /** Identifies it at its server: the name, of a resource the address. */
  readonly name: string;
  /** Canonical JSON. */
  readonly text: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
}

/** Members that are pinned, by type. */
const pinnedMembers: Readonly<Record<McpCapabilityType, readonly string[]>> = {
  tool: ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations', 'icons'],
  prompt: ['name', 'title', 'description', 'arguments', 'icons'],
  resource: ['uri', 'name', 'title', 'description', 'mimeType', 'annotations', 'icons'],
  resource_template: [
    'uriTemplate',
    'name',
    'title',
    'description',
    'mimeType',
    'annotations',
    'icons',
  ],
};

const identifyingMember: Readonly<Record<McpCapabilityType, string>> = {
  tool: 'name',
  prompt: 'name',
  resource: 'uri',
  resource_template: 'uriTemplate',
};

const foldedMembers = new Map(
  Object.entries(pinnedMembers).map(([type, members]) => [type, new Set(members.map(folded))]),
);

/** Bytes of a name that the database stores. */
const nameBytesMax = 1020;
/** Deeper values cannot be compared. */
const depthMax = 100;

/**
 * Null for an item that cannot be pinned: without a name, or nested too deeply.
 *
 * Members whose name differs from a pinned one only in letter case are part of the definition, because
 * some clients read them as that member.
 */
export function readDefinition(type: McpCapabilityType, item: unknown): Definition | null {
  if (!isObject(item)) return null;
  const name = item[identifyingMember[type]];
  if (typeof name !== 'string' || name === '' || Buffer.byteLength(name) > nameBytesMax)
    return null;
  const members = foldedMembers.get(type)!;
  const pinned = Object.fromEntries(
    Object.entries(item).filter(
      ([member, value]) => members.has(folded(member)) && value !== null && value !== undefined,
    ),
  );
  const text = canonicalJson(pinned, 0);
  return text === null ? null : { type, name, text, digest: digestOf(text) };
}

/** The definition of a capability that a client has reported. */
export function definitionOfFacts(
  type: McpCapabilityType,
  name: string,
  facts: McpCapabilityFacts,
): Definition | null {
  return readDefinition(type, {
    ...facts,
    name,
    inputSchema: facts.input_schema,
    outputSchema: facts.output_schema,
    uriTemplate: facts.uri_template,
    mimeType: facts.mime_type,
  });
}

/** One digest of a set of definitions: of their types, names and digests. */
export function digestOfSet(
  definitions: Iterable<{
    readonly type: string;
    readonly name: string;
    readonly digest: string | null;
  }>,
): string {
  const entries = [...definitions].map(({ type, name, digest }) => [type, name, digest]);
  return digestOf(JSON.stringify(entries.map((entry) => JSON.stringify(entry)).toSorted()));
}

function digestOf(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

function folded(member: string): string {
  return member.normalize('NFKC').toLowerCase().trim();
}

/** Keys in the order of their code units, no blanks; null when the value is nested too deeply. */
function canonicalJson(value: unknown, depth: number): string | null {
  if (depth > depthMax) return null;
  if (Array.isArray(value)) {
    const items = value.map((item) => canonicalJson(item, depth + 1));
    return items.includes(null) ? null : `[${items.join(',')}]`;
  }
  const digits = digitsOf(value);
  // Stored definitions have numbers as JavaScript writes them.
  if (digits !== null) return JSON.stringify(Number(digits));
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const members = Object.keys(value)
    .toSorted()
    .map((key) => {
      const text = canonicalJson(value[key], depth + 1);
      return text === null ? null : `${JSON.stringify(key)}:${text}`;
    });
  return members.includes(null) ? null : `{${members.join(',')}}`;
}
