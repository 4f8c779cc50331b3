/** Finds the endpoint of a request in the closed list of all endpoints, and what its path names. */
import { cloudEndpoints } from './cloud-endpoints.ts';
import type { ListedEndpoint } from './endpoint.ts';
import { geminiEndpoints } from './gemini-endpoints.ts';
import type { MeteringName } from './metering.ts';
import { modelEndpoints } from './model-endpoints.ts';
import { storedEndpoints } from './stored-endpoints.ts';

export const allEndpoints: readonly ListedEndpoint[] = [
  ...modelEndpoints,
  ...geminiEndpoints,
  ...cloudEndpoints,
  ...storedEndpoints,
];

/** Endpoints that canonical requests reach. */
const servedEndpoints = allEndpoints.filter(({ servedAs }) => servedAs === null);

/** An endpoint with the words of its path; placeholders begin with a brace. */
interface Template {
  readonly endpoint: ListedEndpoint;
  readonly words: readonly string[];
  /** Whether the last word stands for all remaining segments. */
  readonly isOpen: boolean;
}

type Method = string | undefined;

const templates: readonly Template[] = servedEndpoints
  .filter(({ path }) => canonicalPath(path) === path)
  .map((endpoint) => {
    const words = wordsOf(endpoint.path);
    return { endpoint, words, isOpen: words.at(-1)!.endsWith('+}') };
  })
  // Words take precedence over placeholders.
  .toSorted((one, other) => placeholders(one) - placeholders(other));

/**
 * The path of an endpoint in a request that has arrived. `/v1beta/models/{model+}:generateContent` has the model in
 * the middle of a word, which gemini-target.ts moves to the body, as cloud-target.ts does for Bedrock. Where the body
 * decides, the placeholder has a word before `model`: `/model/{embedding_model+}/invoke` is `/model/embedding/invoke`.
 */
function canonicalPath(path: string): string {
  return path
    .replace(/\/\{model\+\}(?=[:/])/, '')
    .replace(/\{([a-z]+)_model\+\}(?=\/)/, (_, word: string) => word);
}

/** Whether an endpoint has the path of another one, from which its body distinguishes it. */
export function isChosenByBody({ path }: Pick<ListedEndpoint, 'path'>): boolean {
  return /\{[a-z]+_model\+\}/.test(path);
}

/** The path of an endpoint as clients send it. */
export function publicPath(path: string): string {
  return isRootedPath(path) ? path : `/v1${path}`;
}

/** Whether a path of the catalogue is not below `/v1`. */
export function isRootedPath(path: string): boolean {
  return rootedPrefixes.some((prefix) => path.startsWith(prefix));
}

/** Begins paths of Amazon Bedrock. */
export const bedrockPrefix = '/model/';

/** Begins paths of Gemini, which are not below `/v1`. */
export const geminiPrefix = '/v1beta/';

/** Begins paths of Cohere's second version. */
const coherePrefix = '/v2/';

/** Google's WebSockets, and what it serves in no other version. */
const rootedPrefixes = [geminiPrefix, bedrockPrefix, coherePrefix, '/ws/', '/v1alpha/'];

function placeholders({ words }: Template): number {
  return words.filter(isPlaceholder).length;
}

export function isPlaceholder(word: string): boolean {
  return word.startsWith('{');
}

export function wordsOf(path: string): string[] {
  return path.split('/').slice(1);
}

/** Endpoints without placeholders, by path for each method: most requests need one look-up. */
const fixed: Readonly<Record<string, ReadonlyMap<string, ListedEndpoint>>> = Object.fromEntries(
  ['GET', 'POST', 'DELETE'].map((method) => [
    method,
    new Map(
      servedEndpoints
        .filter((one) => one.method === method && !canonicalPath(one.path).includes('{'))
        .map((one) => [canonicalPath(one.path), one]),
    ),
  ]),
);
const byFirstWord = Map.groupBy(templates, ({ words }) => words[0]!);

/** Null for a request that is not in the catalogue; `path` in its canonical form. */
export function endpointAt(method: Method, path: string): ListedEndpoint | null {
  return (
    fixed[listedMethod(method)]?.get(path) ?? templateOf(method, wordsOf(path))?.endpoint ?? null
  );
}

/** HEAD is served like GET. */
function listedMethod(method: Method): string {
  return method === 'HEAD' ? 'GET' : (method ?? '');
}

/** Finds the template of segments, whose words may have other letter cases. */
export function templateOf(method: Method, segments: readonly string[]): Template | null {
  const listed = listedMethod(method);
  const some = byFirstWord.get((segments[0] ?? '').toLowerCase()) ?? [];
  return (
    some.find(({ endpoint, words, isOpen }) => {
      if (endpoint.method !== listed) return false;
      if (isOpen ? segments.length < words.length : segments.length !== words.length) return false;
      return words.every((word, at) => isPlaceholder(word) || word === segments[at]!.toLowerCase());
    }) ?? null
  );
}

/** Returns the model that a canonical path names, decoded; null for none. */
export function modelInPath({ path: template }: ListedEndpoint, path: string): string | null {
  if (!canonicalPath(template).includes('{model')) return null;
  const at = wordsOf(template).findIndex((word) => word.startsWith('{model'));
  const segments = wordsOf(path);
  const named = template.endsWith('+}') ? segments.slice(at) : segments.slice(at, at + 1);
  return decodeURIComponent(named.join('/'));
}

/** Returns how a request is metered; a request that is not in the catalogue is `unbounded` if it may call a model. */
export function meteringAt(
  method: Method,
  path: string,
  params: Readonly<Record<string, unknown>>,
): MeteringName {
  const endpoint = endpointAt(method, path);
  if (endpoint === null) return method === 'POST' ? 'unbounded' : 'nothing';
  const { metering, storedMembers, path: template } = endpoint;
  if (storedMembers === null) return metering;
  const names = Object.keys(params);
  // Without members it creates an empty object, or continues an existing one.
  if (names.length === 0) return template.includes('{id}') ? metering : 'nothing';
  return names.every((name) => storedMembers.includes(name)) ? 'nothing' : metering;
}

const names = new Map(
  servedEndpoints
    .filter(({ name }) => name !== 'other')
    .map(({ path, name }) => [canonicalPath(path), name]),
);
const paths = new Map(
  servedEndpoints.map(({ path, name }): [string, string] => [name, path]).toReversed(),
);

/** Names of endpoints in logs, metrics and policies. */
export const endpointNames: readonly string[] = [...new Set(names.values()), 'other'];

/** `/v1/chat/completions`; `/v1/*` for an endpoint without a name, whose path may contain ids of a caller. */
export function endpointRoute(name: string): string {
  const path = paths.get(name);
  return path === undefined || name === 'other' ? '/v1/*' : publicPath(path);
}

/** Maps a path below `/v1` to one of a few names, which bounds the number of metric labels. */
export function endpointOf(path: string): string {
  return (
    names.get(path) ?? names.get(withoutModel(path)) ?? names.get(lenientPath(path)) ?? 'other'
  );
}

/** `/v1beta/models/m:generateContent` and `/model/m/converse` as {@link canonicalPath}. */
function withoutModel(path: string): string {
  return path
    .replace(/^(\/v1beta\/models)\/.+(:[A-Za-z]+)$/, '$1$2')
    .replace(/^\/model\/.+(?=\/converse(?:-stream)?$)/, '/model');
}

/** Paths that others report may be spelled in any way. */
function lenientPath(path: string): string {
  const decoded = path.includes('%') ? decodedPath(path) : path;
  return decoded.replace(/\/+$/, '').toLowerCase();
}

function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
