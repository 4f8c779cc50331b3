/** Generates changes to a valid request, and applies them: near-valid, hostile and ambiguous requests. */
import fc from 'fast-check';
import type { DrawnValues, Schema, Wrong } from '../../support/interface/generated-values.ts';
import { withWrong } from '../../support/interface/generated-values.ts';
import {
  hostileParts,
  hostileTexts,
  hostileTypes,
  hostileValues,
} from '../../support/network/hostile-texts.ts';

/** A request before it is sent: the parts that edits change. */
export interface RequestDraft {
  readonly method: string;
  /** Path without query. */
  readonly path: string;
  /** Query without `?`. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A JSON value, or bytes that are sent unchanged; undefined without a body. */
  readonly body: unknown;
}

/** One change of a draft; plain data, so that a failing list of changes can be shortened. */
export type Edit =
  | { readonly kind: 'member'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'raw'; readonly name: string; readonly json: string }
  | { readonly kind: 'wrong'; readonly wrong: Wrong }
  | { readonly kind: 'node'; readonly at: number; readonly json: string }
  | { readonly kind: 'body'; readonly bytes: Buffer }
  | { readonly kind: 'headers'; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'query'; readonly text: string }
  | { readonly kind: 'segment'; readonly at: number; readonly text: string }
  | { readonly kind: 'method'; readonly method: string };

/** The facts about a route that edits are drawn from. */
export interface EditableRoute {
  readonly schema: Schema | undefined;
  readonly queries: Readonly<Record<string, Schema>>;
  /** Names of the route's own request headers. */
  readonly headers: readonly string[];
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'];
const editsMax = 4;

/** Headers that every listener reads. */
const commonHeaders = [
  'accept',
  'accept-encoding',
  'if-match',
  'if-none-match',
  'idempotency-key',
  'content-type',
  'cookie',
  'origin',
  'x-gateway-config',
  'x-gateway-metadata',
  'x-gateway-trace-id',
  'mcp-protocol-version',
  'mcp-session-id',
  'last-event-id',
];

const hostileHeaderValues = [
  '',
  '*',
  '"',
  '{}',
  '[]',
  '{"a":{"__proto__":1}}',
  '\u00ff\u00fe',
  'null',
  '-1',
  '1e400',
  'W/"1", "2"',
  ',,,',
  'a=b; a=c',
  'x'.repeat(4_000),
];

const jsonPieces = [...Object.values(hostileValues), '{}', '[]', 'null', 'true', '""', '-1', '1.5'];

/** Draws up to four edits of a request of the route; none leaves the valid request. */
export function editsOf(route: EditableRoute, drawn: DrawnValues): fc.Arbitrary<readonly Edit[]> {
  return fc.array(oneEdit(route, drawn), { maxLength: editsMax });
}

function oneEdit({ schema, queries, headers }: EditableRoute, drawn: DrawnValues) {
  const kinds: fc.Arbitrary<Edit>[] = [
    fc.record({ kind: fc.constant('headers' as const), headers: headerEdits(headers) }),
    fc.record({ kind: fc.constant('query' as const), text: queryText(queries, drawn) }),
    fc.record({
      kind: fc.constant('segment' as const),
      at: fc.nat(5),
      text: fc.constantFrom(...hostileParts),
    }),
    fc.record({ kind: fc.constant('method' as const), method: fc.constantFrom(...methods) }),
  ];
  if (schema !== undefined) kinds.push(...bodyEdits(schema, drawn));
  return fc.oneof(...kinds);
}

function bodyEdits(schema: Schema, drawn: DrawnValues): fc.Arbitrary<Edit>[] {
  const fields = drawn.fieldsOf(schema);
  const wrongs = drawn.wrongs(schema);
  const kinds: fc.Arbitrary<Edit>[] = [
    fc.record({
      kind: fc.constant('node' as const),
      at: fc.nat(60),
      json: fc.constantFrom(...jsonPieces),
    }),
    fc.record({
      kind: fc.constant('body' as const),
      bytes: fc.constantFrom(...Object.values(hostileTexts)),
    }),
  ];
  if (wrongs.length > 0) {
    const wrong = fc.constantFrom(...wrongs);
    kinds.push(wrong.map((one) => ({ kind: 'wrong', wrong: one })));
  }
  if (fields.length > 0) {
    const field = fc.constantFrom(...fields);
    const valid = field.chain(([name, one]) =>
      drawn.right(one, 1).map((value): Edit => ({ kind: 'member', name, value: offline(value) })),
    );
    const raw = fc.record({
      kind: fc.constant('raw' as const),
      name: field.map(([name]) => name),
      json: fc.constantFrom(...jsonPieces),
    });
    // Valid values reach further than refused ones.
    kinds.push(valid, valid, valid, raw);
  }
  return kinds;
}

function headerEdits(own: readonly string[]): fc.Arbitrary<Record<string, string>> {
  const name = fc.constantFrom(...commonHeaders, ...own.map((one) => one.toLowerCase()));
  const value = fc.constantFrom(...hostileHeaderValues);
  return fc.oneof(
    fc.constantFrom(...hostileTypes.map((headers) => ({ ...headers }))),
    fc.tuple(name, value).map(([header, text]) => ({ [header]: text })),
  );
}

function queryText(queries: EditableRoute['queries'], drawn: DrawnValues): fc.Arbitrary<string> {
  const part = fc.constantFrom(...hostileParts);
  const names = Object.keys(queries);
  if (names.length === 0) return part.map((text) => `${text}=1`);
  const hostile = fc
    .tuple(fc.constantFrom(...names), part)
    .map(([name, text]) => `${name}=${text}`);
  const valid = fc
    .constantFrom(...Object.entries(queries))
    .chain(([name, schema]) =>
      drawn.right(schema, 1).map((value) => `${name}=${encodeURIComponent(wellFormed(value))}`),
    );
  return fc.oneof(hostile, valid);
}

function wellFormed(value: unknown): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed();
}

/** Replaces the hosts of generated URLs with names that never resolve, so that no network is reached. */
export function offline(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.replace(/^(https?:\/\/)([\w.-]*[a-z])(?=[:/?#]|$)/i, '$1$2.invalid');
  }
  if (Array.isArray(value)) return value.map(offline);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, offline(one)]));
}

/** Applies edits in order. The body of the result is bytes or undefined. */
export function applyEdits(
  draft: RequestDraft,
  edits: readonly Edit[],
): RequestDraft & { readonly body: Buffer | undefined } {
  const raws: string[] = [];
  const edited = edits.reduce((one, edit) => applyEdit(one, edit, raws), draft);
  return { ...edited, body: bytesOf(edited.body, raws) };
}

/** Stands for raw JSON text until the body is written. */
const markerOf = (at: number): string => `@raw-${at}@`;

function applyEdit(draft: RequestDraft, edit: Edit, raws: string[]): RequestDraft {
  const withMember = (name: string, value: unknown) => ({
    ...draft,
    body: withWrong(draft.body, { path: [name], value, fault: '' }),
  });
  const marked = (json: string) => markerOf(raws.push(json) - 1);
  switch (edit.kind) {
    case 'member':
      return isBytes(draft.body) ? draft : withMember(edit.name, edit.value);
    case 'raw':
      return isBytes(draft.body) ? draft : withMember(edit.name, marked(edit.json));
    case 'wrong':
      return isBytes(draft.body) ? draft : { ...draft, body: withWrong(draft.body, edit.wrong) };
    case 'node':
      return isBytes(draft.body)
        ? draft
        : { ...draft, body: withNode(draft.body, edit.at, marked(edit.json)) };
    case 'body':
      return { ...draft, body: edit.bytes };
    case 'headers':
      return { ...draft, headers: { ...draft.headers, ...edit.headers } };
    case 'query':
      return { ...draft, query: [draft.query, edit.text].filter(Boolean).join('&') };
    case 'segment':
      return { ...draft, path: withSegment(draft.path, edit.at, edit.text) };
    case 'method':
      return { ...draft, method: edit.method };
  }
}

const isBytes = (body: unknown): boolean => typeof body === 'string' || Buffer.isBuffer(body);

/** Replaces the node with this number, in the order in which they are written, modulo their count. */
function withNode(body: unknown, at: number, value: unknown): unknown {
  const count = countNodes(body);
  let left = at % count;
  const walk = (node: unknown): unknown => {
    if (left === 0) {
      left -= 1;
      return value;
    }
    left -= 1;
    if (Array.isArray(node)) return node.map(walk);
    if (typeof node !== 'object' || node === null) return node;
    return Object.fromEntries(Object.entries(node).map(([key, one]) => [key, walk(one)]));
  };
  return walk(body);
}

function countNodes(node: unknown): number {
  if (typeof node !== 'object' || node === null) return 1;
  return Object.values(node).reduce((sum: number, one) => sum + countNodes(one), 1);
}

function withSegment(path: string, at: number, text: string): string {
  const segments = path.split('/').slice(1);
  return `/${segments.with(at % segments.length, text).join('/')}`;
}

function bytesOf(body: unknown, raws: readonly string[]): Buffer | undefined {
  if (body === undefined) return undefined;
  if (Buffer.isBuffer(body)) return body;
  if (typeof body === 'string' && !body.startsWith('@raw-')) return Buffer.from(body);
  const text = raws.reduce(
    (written, json, at) => written.replace(JSON.stringify(markerOf(at)), () => json),
    JSON.stringify(body),
  );
  return Buffer.from(text);
}
