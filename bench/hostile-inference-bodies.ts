/** Builds the most expensive bodies that the inference API accepts, of every shape, for each of its routes. */
import type { HostileBody } from '../test/support/network/hostile-bodies.ts';

/** Slightly below the default bounds, to leave room for the surrounding body. */
const bytes = 31 * 1024 * 1024;
const values = 198_000;
const escapes = 990_000;
const keys = 19_800;
const nesting = 90;

export interface InferenceRoute {
  readonly path: string;
  /** Members at which a shape is placed, each within a body that is valid otherwise. */
  readonly places: Readonly<Record<string, (value: string) => string>>;
}

export interface InferenceBody extends HostileBody {
  readonly contentType: string;
}

const user = (content: string): string => `{"role":"user","content":${content}}`;
const tool = (parameters: string): string =>
  `{"type":"function","function":{"name":"f","parameters":${parameters}}}`;
const around =
  (before: string, after = '}') =>
  (value: string): string =>
    before + value + after;

export const inferenceRoutes: readonly InferenceRoute[] = [
  {
    path: '/chat/completions',
    places: {
      messages: around('{"model":"m","messages":'),
      content: around(`{"model":"m","messages":[{"role":"user","content":`, '}]}'),
      parameters: (value) => `{"model":"m","messages":[${user('"a"')}],"tools":[${tool(value)}]}`,
      metadata: around(`{"model":"m","messages":[${user('"a"')}],"metadata":`),
      unknown: around(`{"model":"m","messages":[${user('"a"')}],"unknown":`),
    },
  },
  {
    path: '/messages',
    places: {
      messages: around('{"model":"m","max_tokens":9,"messages":'),
      content: around('{"model":"m","max_tokens":9,"messages":[{"role":"user","content":', '}]}'),
      schema: around(
        `{"model":"m","max_tokens":9,"messages":[${user('"a"')}],"tools":[{"name":"f","input_schema":`,
        '}]}',
      ),
    },
  },
  {
    path: '/responses',
    places: {
      input: around('{"model":"m","store":false,"input":'),
      content: around(
        '{"model":"m","store":false,"input":[{"type":"message","role":"user","content":',
        '}]}',
      ),
      parameters: around(
        '{"model":"m","store":false,"input":"a","tools":[{"type":"function","name":"f","parameters":',
        '}]}',
      ),
    },
  },
  { path: '/completions', places: { prompt: around('{"model":"m","prompt":') } },
  { path: '/embeddings', places: { input: around('{"model":"m","input":') } },
  { path: '/conversations', places: { items: around('{"items":') } },
  { path: '/vector_stores', places: { metadata: around('{"name":"a","metadata":') } },
  { path: '/evals', places: { source: around('{"name":"a","data_source_config":') } },
  { path: '/messages/batches', places: { requests: around('{"requests":') } },
];

function list(item: string, valuesEach = 1): string {
  const count = Math.min(
    Math.floor(values / valuesEach),
    Math.floor(bytes / (Buffer.byteLength(item) + 1)),
  );
  return `[${Array.from({ length: count }, () => item).join(',')}]`;
}

function named(value: string, padding = ''): string {
  return `{${Array.from({ length: keys }, (_, at) => `"${padding}${at}":${value}`).join(',')}}`;
}

const call =
  '{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}';
const text = (type: string): string => `{"type":"${type}","text":"a"}`;

/** JSON texts by shape, built when they are first needed. */
export const inferenceShapes: Readonly<Record<string, () => string>> = {
  numbers: () => list('0'),
  texts: () => list('"a"'),
  'long texts': () => list(`"${'a'.repeat(Math.floor(bytes / values) - 4)}"`),
  'empty maps': () => list('{}'),
  maps: () => list('{"a":0}', 2),
  'maps with ids': () => list('{"id":"a","file_id":"b"}', 3),
  messages: () => list(user('"a"'), 3),
  parts: () => list(user(`[${text('text')}]`), 6),
  'parts of one message': () => list(text('text'), 3),
  'tool calls': () => list(call, 9),
  items: () =>
    list(`{"type":"message","id":"x","role":"user","content":[${text('input_text')}]}`, 8),
  'one message with many parts': () => `[${user(list(text('text'), 3))}]`,
  'one item with many parts': () =>
    `[{"type":"message","role":"user","content":${list(text('input_text'), 3)}}]`,
  'deep lists': () => list('['.repeat(nesting) + ']'.repeat(nesting), nesting),
  'deep maps': () => list(`${'{"content":'.repeat(nesting)}0${'}'.repeat(nesting)}`, nesting + 1),
  'texts far down': () => `${'['.repeat(nesting)}${list('"a"')}${']'.repeat(nesting)}`,
  'many keys': () => named('0'),
  'long keys': () => named('0', 'k'.repeat(Math.floor(bytes / keys) - 12)),
  'long text': () => `"${'a'.repeat(bytes)}"`,
  'long text of words': () => `"${'a '.repeat(bytes / 2)}"`,
  'long text of escapes': () => `"${'\\n'.repeat(escapes)}${'a'.repeat(bytes - 2 * escapes)}"`,
  'long text beyond ASCII': () => `"${'\u00e9'.repeat(bytes / 2)}"`,
  'long text of pairs': () => `"${'\u{1f600}'.repeat(bytes / 4)}"`,
  'long text in base64': () => `"data:text/plain;base64,${'YWJj'.repeat(bytes / 4 - 100)}"`,
  'long JSON in a text': () => `"[${'{\\"a\\":1},'.repeat(escapes / 3)}0]"`,
  'blanks between values': () => `${' '.repeat(bytes)}0`,
  'indented values': () => list(`0${' '.repeat(Math.floor(bytes / values) - 4)}`),
};

export function inferenceBody(route: InferenceRoute, place: string, shape: string): InferenceBody {
  return {
    name: `${shape} as ${place}`,
    text: route.places[place]!(inferenceShapes[shape]!()),
    contentType: 'application/json',
  };
}
