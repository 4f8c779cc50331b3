/** Calls the public Admin API with the session of the browser. */
import { signal } from '@preact/signals';
import type { paths } from '../../generated/api.d.ts';

/** Paths that respond to GET with JSON. */
export type ReadablePath = {
  [Path in keyof paths]: paths[Path] extends { get: object } ? Path : never;
}[keyof paths];

type JsonOf<Operation> = Operation extends {
  responses: { 200: { content: { 'application/json': infer Body } } };
}
  ? Body
  : never;

/** The body of a successful GET of the path. */
export type BodyOf<Path extends ReadablePath> = paths[Path] extends { get: infer Operation }
  ? JsonOf<Operation>
  : never;

/** The rows of the list at the path. */
export type RowOf<Path extends ReadablePath> =
  BodyOf<Path> extends { data: readonly (infer Row)[] } ? Row : never;

export type Query = Readonly<Record<string, string | number | undefined>>;

/** Describes why a request failed, in the words of the server where it responded. */
export class RequestFailed extends Error {
  /** HTTP status, or 0 when the server could not be reached. */
  readonly status: number;
  readonly code: string;
  constructor(status: number, message: string, code = '') {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Whether the last request found no valid session. The app then shows the page for signing in. */
export const isSignedOut = signal(false);

/** Slug of the workspace whose resources are shown; empty for the whole organisation. */
export const workspace = signal('');

interface CachedReply {
  readonly tag: string;
  readonly body: unknown;
}
/** Replies with an entity tag, by address, so that an unchanged one costs no body. */
const replies = new Map<string, CachedReply>();
const repliesMax = 50;

/**
 * Fills `{name}` in a path from `parts` and appends the query. Members that are undefined or empty are
 * left out.
 */
export function addressOf(
  path: string,
  query: Query = {},
  parts: Readonly<Record<string, string>> = {},
): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parts[name]!));
  const members = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(members.map(([name, value]) => [name, String(value)]));
  return members.length === 0 ? filled : `${filled}?${search}`;
}

/** Returns the parsed body of a GET. @throws RequestFailed */
export async function read<Path extends ReadablePath>(
  path: Path,
  query: Query = {},
  parts: Readonly<Record<string, string>> = {},
): Promise<BodyOf<Path>> {
  const address = addressOf(path, query, parts);
  const key = `${workspace.value} ${address}`;
  const cached = replies.get(key);
  const headers: Record<string, string> = {};
  if (cached !== undefined) headers['if-none-match'] = cached.tag;
  const response = await send('GET', address, undefined, headers);
  if (response.status === 304 && cached !== undefined) return cached.body as BodyOf<Path>;
  const body = await response.json();
  const tag = response.headers.get('etag');
  if (tag !== null) {
    if (replies.size >= repliesMax) replies.delete(replies.keys().next().value!);
    replies.set(key, { tag, body });
  }
  return body;
}

/**
 * Sends a change and returns the parsed response. Under the same `idempotencyKey` a repeated request
 * returns the first response again. @throws RequestFailed
 */
export async function change<Body = unknown>(
  method: 'POST' | 'PUT' | 'DELETE',
  address: string,
  body?: unknown,
  idempotencyKey?: string,
): Promise<Body> {
  const headers: Record<string, string> = {};
  if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
  const response = await send(method, address, body, headers);
  return response.json() as Promise<Body>;
}

async function send(
  method: string,
  address: string,
  body: unknown,
  extra: Readonly<Record<string, string>>,
): Promise<Response> {
  const headers: Record<string, string> = { accept: 'application/json', ...extra };
  if (workspace.value !== '') headers['gatewright-workspace'] = workspace.value;
  if (body !== undefined) headers['content-type'] = 'application/json';
  const text = body === undefined ? null : JSON.stringify(body);
  const options: RequestInit = { method, headers, body: text, cache: 'no-store' };
  const response = await fetch(address, options).catch(() => {
    throw new RequestFailed(0, 'The server does not respond.');
  });
  if (response.ok || response.status === 304) return response;
  if (response.status === 401) isSignedOut.value = true;
  throw await failureOf(response);
}

async function failureOf(response: Response): Promise<RequestFailed> {
  const { status } = response;
  const body: unknown = await response.json().catch(() => null);
  const { error = body } = (body ?? {}) as { error?: unknown };
  const { message, code } = (error ?? {}) as { message?: unknown; code?: unknown };
  const text = typeof message === 'string' ? message : `The server responded with ${status}.`;
  return new RequestFailed(status, text, typeof code === 'string' ? code : '');
}
