/** Compares what two translations make of one conversation, with what a format says in several ways as one. */
import type { Json, ProviderName } from './conversation.ts';

/** One place at which they differ. */
export interface Difference {
  /** Members by name, list elements as `[]`. */
  readonly path: string;
  /** Absent for a member that is missing. */
  readonly ours?: unknown;
  readonly theirs?: unknown;
}

/** Members of requests that the comparison leaves out; they depend on the transport. */
const ofTransport = new Set(['model', 'stream', 'stream_options', 'anthropic_version']);

type Reading = Readonly<Record<ProviderName, (name: string, value: unknown) => unknown>>;

const listOfText = (value: unknown): unknown =>
  typeof value === 'string' ? [{ type: 'text', text: value }] : value;

function isOneText(value: unknown): value is readonly [{ readonly text: string }] {
  return Array.isArray(value) && value.length === 1 && value[0]?.type === 'text';
}

/** By provider: one way to say what its format lets be said in several. */
const readings: Reading = {
  openai: (name, value) => {
    if (name === 'arguments' && typeof value === 'string') return JSON.parse(value);
    if (name === 'content' && isOneText(value) && !('cache_control' in value[0])) {
      return value[0].text;
    }
    return value;
  },
  anthropic: (name, value) => (name === 'content' || name === 'system' ? listOfText(value) : value),
  gemini: (_name, value) => value,
  converse: (_name, value) => value,
};

const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());

/** Gemini takes names of members in either case. */
function inOneCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOneCase);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [camelCase(name), inOneCase(member)]),
  );
}

export function normalRequest(provider: ProviderName, body: Json): Json {
  const entries = Object.entries(body).filter(([name]) => !ofTransport.has(name));
  const request: unknown = JSON.parse(
    JSON.stringify(Object.fromEntries(entries)),
    (name, value) => readings[provider](name, value) ?? undefined,
  );
  return (provider === 'gemini' ? inOneCase(request) : request) as Json;
}

export function differencesOf(ours: unknown, theirs: unknown, path = ''): Difference[] {
  if (Array.isArray(ours) && Array.isArray(theirs)) {
    const length = Math.max(ours.length, theirs.length);
    return Array.from({ length }).flatMap((_none, at) =>
      differencesOf(ours[at], theirs[at], `${path}[]`),
    );
  }
  if (isObject(ours) && isObject(theirs)) {
    const names = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
    return [...names].flatMap((name) =>
      differencesOf(ours[name], theirs[name], path === '' ? name : `${path}.${name}`),
    );
  }
  if (Object.is(ours, theirs)) return [];
  return [
    {
      path,
      ...(ours === undefined ? {} : { ours }),
      ...(theirs === undefined ? {} : { theirs }),
    },
  ];
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
