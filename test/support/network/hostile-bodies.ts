/**
 * Builds the most expensive request bodies: of the maximum size, in every shape, at every field.
 */
import { z } from 'zod';
import { bodyLimitsOf } from '../../../src/http/input/input.ts';
import type { Route } from '../../../src/http/routes/route.ts';
import { type BodyLimits, keysMax } from '../../../src/model/json/body-limits.ts';

export interface HostileBody {
  readonly name: string;
  readonly text: string;
}

type Schema = Record<string, unknown>;
type Path = readonly string[];

/** Levels of a body at which values are placed. */
const fieldDepthMax = 3;
/** Slightly below the maximum nesting of the reader. */
const nesting = 55;

/**
 * Every shape as the body of a route and at every field, as large as the limits of the route
 * permit. With `first`, one shape for each place in turn, beginning with this one.
 */
export function hostileBodies(
  route: Pick<Route<never>, 'body' | 'bodyType' | 'bodyLimits'>,
  first?: number,
): HostileBody[] {
  const limits = bodyLimitsOf(route);
  if (route.bodyType === 'form') return hostileForms(limits);
  const schema = z.toJSONSchema(route.body!, { io: 'input', unrepresentable: 'any' }) as Schema;
  const shapes = Object.entries(hostileValues(limits));
  return [[], ...fieldsOf(schema, [])].flatMap((path, place) => {
    const chosen = first === undefined ? shapes : [shapes[(first + place) % shapes.length]!];
    return chosen.map(([shape, text]) => ({
      name: path.length === 0 ? `${shape} as body` : `${shape} at ${path.join('.')}`,
      text: holding(path, text),
    }));
  });
}

/** JSON texts slightly below the limits, to leave room for the surrounding body. */
function hostileValues({ bytesMax, valuesMax }: BodyLimits): Record<string, string> {
  const values = Math.max(1, valuesMax - 50);
  const bytes = bytesMax - 500;
  const keys = keysMax - 20;
  const list = (item: string, valuesEach = 1): string => {
    const count = Math.min(Math.floor(values / valuesEach), Math.floor(bytes / (item.length + 1)));
    return `[${Array.from({ length: count }, () => item).join(',')}]`;
  };
  const named = (value: string, padding = ''): string =>
    Array.from({ length: keys }, (_, at) => `"${padding}${at}":${value}`).join(',');
  const each = Math.max(0, Math.floor(values / keys) - 1);
  return {
    'a list of numbers': list('0'),
    'a list of texts': list('"a"'),
    'a list of empty maps': list('{}'),
    'a list of lists': list(`${'['.repeat(nesting)}${']'.repeat(nesting)}`, nesting),
    'a list of maps': list('{"key":"model","value":[0],"name":0,"type":"x"}', 6),
    'a list of long texts': list(`"${'a'.repeat(Math.floor(bytes / values) - 4)}"`),
    'a map of numbers': `{${named('0')}}`,
    'a map of texts': `{${named('"a"')}}`,
    'a map of long names': `{${named('0', 'n'.repeat(Math.floor(bytes / keys) - 12))}}`,
    'a map of lists': `{${named(`[${Array.from({ length: each }, () => '0').join(',')}]`)}}`,
    'a map of maps': `{${named(`{${Array.from({ length: each }, (_, at) => `"${at}":0`).join(',')}}`)}}`,
    'one name again and again': `{${Array.from({ length: keys }, () => '"name":0').join(',')}}`,
    'a long text': `"${'a'.repeat(bytes)}"`,
    'a long text of escapes': `"${'\\n'.repeat(bytes / 2)}"`,
    'a long text of pairs': `"${'\u{1f600}'.repeat(bytes / 4)}"`,
    'a long address': `"https://${'a.'.repeat(bytes / 2 - 20)}example"`,
    'long white space': `${' '.repeat(bytes)}0`,
    'a long number': '9'.repeat(bytes),
  };
}

function hostileForms({ bytesMax, valuesMax }: BodyLimits): HostileBody[] {
  const field = 'scope=tsg_id%3A';
  const names = Array.from({ length: valuesMax }, (_, at) => `${'n'.repeat(100)}${at}=1`);
  return [
    { name: 'many names', text: names.join('&') },
    { name: 'one name again and again', text: 'scope=a&'.repeat(valuesMax - 1) },
    { name: 'a long value', text: field + '1'.repeat(bytesMax - field.length) },
    { name: 'a long value of escapes', text: field + '%41'.repeat(bytesMax / 3 - 10) },
    { name: 'separators', text: '&'.repeat(bytesMax) },
  ];
}

function fieldsOf(schema: Schema, path: Path): Path[] {
  if (path.length >= fieldDepthMax) return [];
  const found = [schema, ...((schema.anyOf as Schema[] | undefined) ?? [])].flatMap((option) => {
    const properties = (option.properties ?? {}) as Record<string, Schema>;
    const named = Object.entries(properties).flatMap(([key, value]) => [
      [...path, key],
      ...fieldsOf(value, [...path, key]),
    ]);
    const { items } = option as { items?: Schema };
    return items === undefined ? named : [...named, ...fieldsOf(items, [...path, '0'])];
  });
  return found;
}

/** A body with only one value at a path; `0` is the item of a list with one item. */
function holding(path: Path, text: string): string {
  return path.reduceRight(
    (inner, key) => (key === '0' ? `[${inner}]` : `{"${key}":${inner}}`),
    text,
  );
}

/** A document that is valid or fails late, and costs as much as the limits permit. */
export interface CostlyDocument extends HostileBody {
  readonly path: string;
}

/** Bodies of `POST` that pass the schema and reach the rules behind it. */
export function costlyDocuments(): CostlyDocument[] {
  return [...costlyConfigs(), ...costlyGuardrails(), ...costlyOthers()].map((document) => ({
    ...document,
    text: JSON.stringify(document.body),
  }));
}

interface GeneratedBody {
  readonly name: string;
  readonly path: string;
  readonly body: unknown;
}

/** Repeats up to the size limit of documents, with this many values each. */
function times<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

/** Patterns with the maximum permitted cost. */
const costlyPatterns: readonly string[] = [
  '.{980}'.repeat(2),
  `^${times(45, (at) => `${String.fromCharCode(0x4e00 + at)}?`).join('')}$`,
  `(?i)[${times(2, (at) => `A-${String.fromCharCode(0xffff - at)}`).join('')}]`,
  '\\pL'.repeat(60),
  `[${'\\pL\\pN'.repeat(25)}]`,
  '\\pL|\\pN|'.repeat(25),
  `^(?:${times(250, (at) => `${String.fromCharCode(0x4e00 + at)}a`).join('|')})$`,
  'x{0,1000}',
];

function costlyConfigs(): GeneratedBody[] {
  const post = { path: '/v1/configs' };
  const pattern = (at: number) => `${costlyPatterns[at % costlyPatterns.length]}${at}`;
  const hosted = (at: number) => ({ custom_host: `https://h${at}.example.com/v1`, weight: 0.5 });
  const conditions = (query: (at: number) => unknown) => ({
    strategy: {
      mode: 'conditional',
      default: 't0',
      conditions: times(1000, (at) =>
        Object.fromEntries([
          ['query', query(at)],
          ['then', `t${at}`],
        ]),
      ),
    },
    targets: times(1000, (at) => ({ name: `t${at}`, provider: 'openai' })),
  });
  const configs: Record<string, unknown> = {
    'many targets': { targets: times(100, () => ({ targets: times(50, hosted) })) },
    'many headers': {
      targets: times(100, () => ({
        targets: times(5, () => ({ forward_headers: times(32, (at) => `x-header-name-${at}`) })),
      })),
    },
    'many conditions': conditions((at) => ({ 'metadata.user': { $eq: `u${at}` } })),
    'many costly patterns': conditions((at) => ({ 'metadata.user': { $regex: pattern(at) } })),
    'many small patterns': conditions((at) => ({ 'metadata.user': { $regex: `^u${at}` } })),
    'costly inline checks': {
      targets: times(100, (at) => ({
        input_guardrails: times(2, (which) => ({
          regexMatch: { rule: pattern(2 * at + which) },
        })),
      })),
    },
    'many inline checks': {
      targets: times(50, () => ({
        input_guardrails: times(60, () => ({ contains: { words: ['a'], operator: 'any' } })),
      })),
    },
    'many unknown guardrails': {
      targets: times(90, (at) => ({
        input_guardrails: times(100, (which) => `g${at}-${which}`),
        output_guardrails: times(100, (which) => `h${at}-${which}`),
      })),
    },
    'free-form data': { override_params: { list: times(19_000, (at) => at) } },
    'long free-form text': { override_params: { text: 'a"'.repeat(340_000) } },
  };
  return Object.entries(configs).map(([name, config]) => ({
    ...post,
    name: `config with ${name}`,
    body: { name, config },
  }));
}

function costlyGuardrails(): GeneratedBody[] {
  const check = (id: string, parameters: (at: number) => unknown) =>
    times(100, (at) => ({ id, parameters: parameters(at) }));
  const lists: Record<string, unknown> = {
    'patterns as long as they may be': check('default.regexMatch', () => ({
      rule: '.{1000}'.repeat(140),
    })),
    'costly patterns': check('default.regexMatch', (at) => ({
      rule: `${costlyPatterns[at % costlyPatterns.length]}${at}`,
    })),
    'costly replacements': check('default.regexReplace', (at) => ({
      rule: `/${costlyPatterns[at % costlyPatterns.length]}${at}/gi`,
    })),
    'costly metadata patterns': check('default.requiredMetadataKeyValuePairs', (at) => ({
      metadataPairs: { a: times(25, (which) => `${costlyPatterns[which % 8]}${at}.${which}`) },
      matchType: 'regex',
    })),
    'patterns that take long to measure': check('default.requiredMetadataKeyValuePairs', (at) => ({
      metadataPairs: { a: times(9, (which) => `${'a|'.repeat(500)}x{999}{9}${at}.${which}`) },
      matchType: 'regex',
    })),
    'a schema of costly patterns': check('default.jsonSchema', (at) => ({
      schema: {
        properties: { a: { pattern: `${costlyPatterns[at % costlyPatterns.length]}${at}` } },
        patternProperties: Object.fromEntries(times(40, (which) => [`^s${at}${which}$`, {}])),
      },
    })),
    'schemas as text': check('default.jsonSchema', () => ({
      schema: `${'{"not":'.repeat(900)}{"pattern":"("}${'}'.repeat(900)}`,
    })),
    'long words': check('default.contains', () => ({ words: times(190, () => 'a'.repeat(40)) })),
    'many addresses': check('default.jwt', () => ({
      headerKey: 'x',
      jwksUri: times(300, () => 'https://a.example').join(','),
    })),
    'addresses without end': check('default.jwt', () => ({
      headerKey: 'x',
      jwksUri: ','.repeat(9000),
    })),
    'many headers': check('default.webhook', () => ({
      webhookURL: 'https://a.example',
      headers: Object.fromEntries(times(32, (at) => [`x-header-${at}`, 'v'.repeat(200)])),
      forwardHeaders: times(32, (at) => `x-header-name-${at}`),
    })),
    'a schema': check('default.jsonSchema', () => ({
      schema: { properties: Object.fromEntries(times(60, (at) => [`p${at}`, { type: 'string' }])) },
    })),
  };
  return Object.entries(lists).map(([name, checks]) => ({
    path: '/v1/guardrails',
    name: `guardrail with ${name}`,
    body: { name, checks, actions: { deny: true } },
  }));
}

function costlyOthers(): GeneratedBody[] {
  const key = { name: 'k', scopes: ['configs.read'] };
  return [
    {
      name: 'API key with much metadata',
      path: '/v1/api-keys/organisation/service',
      body: { ...key, defaults: { metadata: { list: times(4900, () => ({})) } } },
    },
    {
      name: 'API key with many scopes',
      path: '/v1/api-keys/organisation/service',
      body: { ...key, scopes: times(4900, (at) => `scope.${at}`) },
    },
    {
      name: 'policy with many values',
      path: '/v1/policies/usage-limits',
      body: {
        conditions: times(45, () => ({ key: 'model', value: times(420, (at) => `model-${at}`) })),
        group_by: times(50, (at) => ({ key: `metadata.k${at}` })),
        type: 'cost',
        credit_limit: 1,
      },
    },
    {
      name: 'MCP integration with many configurations',
      path: '/v1/mcp-integrations',
      body: {
        name: 'm',
        url: 'https://a.example',
        auth_type: 'none',
        transport: 'http',
        configurations: {
          custom_headers: Object.fromEntries(times(32, (at) => [`x-h-${at}`, 'v'.repeat(7000)])),
          other: times(4800, () => ({})),
        },
      },
    },
    {
      name: 'workspace with much metadata',
      path: '/v1/admin/workspaces',
      body: {
        name: 'w',
        defaults: { metadata: Object.fromEntries(times(980, (at) => [`k${at}`, 'v'.repeat(200)])) },
      },
    },
  ];
}
