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

/** Paths that respond to POST with JSON. */
export type PostablePath = {
  [Path in keyof paths]: paths[Path] extends { post: object } ? Path : never;
}[keyof paths];

/** The body of a successful POST of the path. */
export type PostedOf<Path extends PostablePath> = paths[Path] extends { post: infer Operation }
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

/** Reads what concerns the whole organisation, whichever workspace is shown. @throws RequestFailed */
export async function readWhole<Path extends ReadablePath>(
  path: Path,
  query: Query,
): Promise<BodyOf<Path>> {
  const response = await send('GET', addressOf(path, query), undefined, noWorkspace);
  return response.json() as Promise<BodyOf<Path>>;
}

/** Sends what concerns the whole organisation, whichever workspace is shown. @throws RequestFailed */
export async function postWhole<Path extends PostablePath>(
  path: Path,
  body: unknown,
): Promise<PostedOf<Path>> {
  const response = await send('POST', path, body, noWorkspace);
  return response.json() as Promise<PostedOf<Path>>;
}

/** A record with the version that a change of it must name. */
export interface TaggedRecord<Body> {
  readonly body: Body;
  readonly tag: string;
}

/** @throws RequestFailed */
export async function readTagged(address: string): Promise<TaggedRecord<Record<string, unknown>>> {
  const response = await send('GET', address, undefined, {});
  const body = (await response.json()) as Record<string, unknown>;
  return { body, tag: response.headers.get('etag') ?? '' };
}

/** Sends a change of the record with this tag; 412 when it has another one now. @throws RequestFailed */
export async function replaceTagged(address: string, body: unknown, tag: string): Promise<void> {
  await send('PUT', address, body, { 'if-match': tag });
}

/** Removes the header of the workspace. */
const noWorkspace = { 'gatewright-workspace': '' } as const;

async function send(
  method: string,
  address: string,
  body: unknown,
  extra: Readonly<Record<string, string>>,
): Promise<Response> {
  const chosen = { 'gatewright-workspace': workspace.value };
  const headers: Record<string, string> = { accept: 'application/json', ...chosen, ...extra };
  if (headers['gatewright-workspace'] === '') delete headers['gatewright-workspace'];
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
