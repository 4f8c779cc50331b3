/** Generates one reference page for each tag of the OpenAPI document. */
import { describeApi } from '../../src/http/openapi/openapi.ts';
import { mountRoutes } from '../../src/http/routes/registry.ts';
import { boundsOf, typeText } from '../../src/sync/authoring/field-facts.ts';
import type { JsonSchema } from '../../src/sync/authoring/json-schema.ts';
import { createIdleRoutes } from './idle-routes.ts';
import type { GeneratedPage } from './manifest-reference.ts';
import { code, escapeText, slugOf, table } from './markdown.ts';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: JsonSchema;
  readonly $ref?: string;
}

type Content = Readonly<
  Record<string, { readonly schema?: JsonSchema; readonly example?: unknown }>
>;

interface Operation {
  readonly tags?: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly description?: string; readonly content?: Content };
  readonly responses: Readonly<
    Record<
      string,
      { readonly description?: string; readonly content?: Content; readonly $ref?: string }
    >
  >;
}

export interface ApiDocument {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

/** An operation with every address that serves it. */
interface Entry {
  readonly method: string;
  readonly paths: string[];
  readonly operation: Operation;
}

const methods = ['get', 'post', 'put', 'patch', 'delete', 'head'];
/** Fields nested deeper are left to the OpenAPI document. */
const depthMax = 4;

export async function readApiDocument(): Promise<ApiDocument> {
  const { guarded, open } = createIdleRoutes();
  const document = await describeApi([...mountRoutes(guarded), ...mountRoutes(open)]);
  return document as unknown as ApiDocument;
}

export function apiPages(document: ApiDocument): GeneratedPage[] {
  const entries = entriesOf(document);
  return document.tags.flatMap(({ name, description }) => {
    const own = entries.filter(({ operation }) => operation.tags?.[0] === name);
    if (own.length === 0) return [];
    const list = own.map((entry) => [
      `[${code(titleOf(entry))}](#${anchorOf(entry)})`,
      escapeText(entry.operation.summary),
    ]);
    const lines = [
      escapeText(description),
      '',
      'Credentials, errors, paging and versions are described in [Admin API](../../api/) and, for the gateway, in [Inference](../../inference/). A server describes itself at `/openapi.json`.',
      '',
      ...table(['operation', 'what it does'], list),
      ...own.flatMap((entry) => sectionOf(entry, document)),
    ];
    return [{ path: `reference/http/${slugOf(name)}`, title: name, markdown: lines.join('\n') }];
  });
}

/** Puts the mounts of one route together; the newest that is listed describes it. */
function entriesOf({ paths }: ApiDocument): Entry[] {
  const entries = new Map<string, Entry>();
  for (const [path, operations] of Object.entries(paths)) {
    for (const method of methods) {
      const operation = operations[method];
      if (operation === undefined) continue;
      const key = `${method} ${path.replace(/^\/(?:admin\/v\d|v\d)(?=\/)/, '')}`;
      const known = entries.get(key);
      if (known === undefined) entries.set(key, { method, paths: [path], operation });
      else {
        const isNewer = path.startsWith('/v2/');
        if (isNewer) known.paths.unshift(path);
        else known.paths.push(path);
        if (isNewer) entries.set(key, { ...known, operation });
      }
    }
  }
  return [...entries.values()];
}

function titleOf({ method, paths }: Entry): string {
  return `${method.toUpperCase()} ${paths[0]}`;
}

/** The anchor that the site generates for the heading. */
function anchorOf(entry: Entry): string {
  return titleOf(entry)
    .toLowerCase()
    .replaceAll(/[^a-z0-9 _-]/g, '')
    .replaceAll(' ', '-');
}

function sectionOf(entry: Entry, document: ApiDocument): string[] {
  const { operation, paths } = entry;
  const { parameters = [], requestBody, responses, security = [] } = operation;
  const named = parameters.map(
    (one) => document.components.parameters[one.$ref?.split('/').at(-1) ?? ''] ?? one,
  );
  const resolve = (schema: JsonSchema): JsonSchema => resolved(schema, document);
  const credentials = [...new Set(security.flatMap((one) => Object.keys(one)))];
  const others = paths.slice(1).map(code).join(', ');
  return [
    `## ${code(titleOf(entry))}`,
    '',
    escapeText(operation.description ?? `${operation.summary}.`),
    '',
    ...(others === '' ? [] : [`Also at ${others}.`, '']),
    `Credentials: ${credentials.length === 0 ? 'none' : credentials.map(code).join(', ')}.`,
    '',
    ...table(
      ['parameter', 'in', 'type', 'meaning'],
      named.map(({ name, in: place, required, description = '', schema = {} }) => [
        `${code(name)}${required === true ? ' (required)' : ''}`,
        place,
        typeCell(schema, resolve),
        escapeText(description),
      ]),
    ),
    ...bodyOf('Request', requestBody?.content, document),
    ...Object.entries(responses)
      .filter(([status]) => /^2/.test(status))
      .flatMap(([status, { content }]) => bodyOf(`Response ${status}`, content, document)),
    statusLine(responses),
    '',
  ];
}

function statusLine(responses: Operation['responses']): string {
  const refusals = Object.keys(responses).filter((status) => /^[345]/.test(status));
  return refusals.length === 0 ? '' : `Other responses: ${refusals.join(', ')}.`;
}

function bodyOf(label: string, content: Content | undefined, document: ApiDocument): string[] {
  const [form] = Object.entries(content ?? {});
  if (form === undefined) return [];
  const [type, { schema = {}, example }] = form;
  const rows = fieldRows(schema, document, '', 1, new Set());
  const sample =
    example === undefined ? [] : ['```json', JSON.stringify(example, null, 2), '```', ''];
  const whole = rows.length > 0 ? '' : `: ${typeCell(schema, (one) => resolved(one, document))}`;
  return [
    `${label}, ${code(type)}${whole}`,
    '',
    ...table(['field', 'type', 'meaning'], rows),
    ...sample,
  ];
}

/** A row for each field; `seen` holds the schemas above, which may contain themselves. */
function fieldRows(
  given: JsonSchema,
  document: ApiDocument,
  prefix: string,
  depth: number,
  seen: ReadonlySet<JsonSchema>,
): string[][] {
  const maps = mapsIn(given, document).filter((map) => !seen.has(map));
  const inside = new Set([...seen, ...maps]);
  const rows = new Map<string, string[][]>();
  for (const { properties = {}, required = [] } of maps) {
    for (const [name, field] of Object.entries(properties as Record<string, JsonSchema>)) {
      if (rows.has(name)) continue;
      const path = `${prefix}${name}`;
      const isRequired = maps.length === 1 && (required as string[]).includes(name);
      const whole = resolved(field, document);
      const meaning = String(field.description ?? whole.description ?? '');
      const own = [
        `${code(path)}${isRequired ? ' (required)' : ''}`,
        typeCell(field, (one) => resolved(one, document)),
        escapeText(meaning),
      ];
      const below =
        depth === depthMax ? [] : fieldRows(field, document, `${path}.`, depth + 1, inside);
      rows.set(name, [own, ...below]);
    }
  }
  return [...rows.values()].flat();
}

/** The maps that a value may be or contain as items. */
function mapsIn(given: JsonSchema, document: ApiDocument): JsonSchema[] {
  const schema = resolved(given, document);
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((word) => (schema[word] ?? []) as JsonSchema[]);
  const items = schema.items === undefined ? [] : [schema.items as JsonSchema];
  const inside = [...parts, ...items].flatMap((one) => mapsIn(one, document));
  return schema.properties === undefined ? inside : [schema, ...inside];
}

function resolved(schema: JsonSchema, { components }: ApiDocument): JsonSchema {
  if (typeof schema.$ref !== 'string') return schema;
  return components.schemas[schema.$ref.split('/').at(-1)!] ?? schema;
}

function typeCell(schema: JsonSchema, resolve: (schema: JsonSchema) => JsonSchema): string {
  const texts = [typeText(schema, resolve), boundsOf(resolve(schema))];
  return escapeText(texts.filter((text) => text !== null).join('; '));
}
