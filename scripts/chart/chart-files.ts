/** Generates the values schema and the README table of the chart from its values. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml';
import { secretSettingsValues, settingsValues } from './settings-values.ts';

interface Value {
  /** `mysql.tls.mode` */
  readonly path: string;
  readonly byDefault: unknown;
  /** The comment before the value. */
  readonly meaning: string;
}

type Schema = Record<string, unknown>;

/** Text of each generated file by its name in the chart. */
export function chartFiles(valuesYaml: string): Record<'values.schema.json' | 'README.md', string> {
  const document = parseDocument(valuesYaml);
  const values: Value[] = [];
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart gatewright',
    $defs: definitions,
    ...mapSchema(document.contents as YAMLMap, [], values),
  };
  return {
    'values.schema.json': `${JSON.stringify(schema, null, 2)}\n`,
    'README.md': readme(values),
  };
}

function mapSchema(map: YAMLMap, path: readonly string[], values: Value[]): Schema {
  const properties: Record<string, Schema> = {};
  // Reserved by Helm: the switch of a subchart, and values for all charts.
  for (const [index, pair] of map.items.entries()) {
    const key = String((pair.key as { value: unknown }).value);
    properties[key] = pairSchema(pair, commentOf(map, pair, index), [...path, key], values);
  }
  return { type: 'object', additionalProperties: false, properties };
}

/** The parser attaches a comment before the first key of a map to the map. */
function commentOf(map: YAMLMap, pair: Pair, index: number): string {
  const own = (pair.key as { commentBefore?: string | null }).commentBefore;
  return (index === 0 ? (own ?? map.commentBefore) : own) ?? '';
}

function pairSchema(
  { value }: Pair,
  comment: string,
  path: readonly string[],
  values: Value[],
): Schema {
  const lines = comment.split('\n').map((line) => line.trim());
  const tag = lines.find((line) => line.startsWith('@schema '));
  const own = tag === undefined ? {} : (JSON.parse(tag.slice('@schema '.length)) as Schema);
  const meaning = lines
    .filter((line) => !line.startsWith('@schema '))
    .join(' ')
    .trim();
  const description = meaning === '' ? {} : { description: meaning };
  if (isMap(value) && value.items.length > 0 && own.$ref === undefined) {
    values.push({ path: path.join('.'), byDefault: undefined, meaning });
    return { ...description, ...mapSchema(value as YAMLMap, path, values), ...own };
  }
  const byDefault = isScalar(value) ? value.value : (value as { toJSON(): unknown }).toJSON();
  values.push({ path: path.join('.'), byDefault, meaning });
  // Draft 7 ignores keywords beside a reference.
  if (own.$ref !== undefined) return { allOf: [own], ...description };
  return { ...typeOf(byDefault), ...description, ...own };
}

function typeOf(value: unknown): Schema {
  if (typeof value === 'string') return { type: 'string' };
  if (typeof value === 'boolean') return { type: 'boolean' };
  if (typeof value === 'number') return { type: 'integer' };
  if (Array.isArray(value)) return { type: 'array' };
  return { type: 'object', additionalProperties: false };
}

const free = { type: 'object', additionalProperties: true };
const freeList = { type: 'array', items: free };
const strings = { type: 'object', additionalProperties: { type: 'string' } };

const definitions: Record<string, Schema> = {
  strings,
  nameReference: {
    type: 'object',
    additionalProperties: false,
    required: ['name'],
    properties: { name: { type: 'string', minLength: 1 } },
  },
  resources: {
    type: 'object',
    additionalProperties: false,
    properties: { requests: free, limits: free, claims: freeList },
  },
  pod: {
    type: 'object',
    additionalProperties: false,
    properties: {
      annotations: strings,
      labels: strings,
      nodeSelector: strings,
      tolerations: freeList,
      affinity: free,
      topologySpreadConstraints: freeList,
      priorityClassName: { type: 'string' },
      env: freeList,
      envFrom: freeList,
      volumes: freeList,
      volumeMounts: freeList,
    },
  },
  secretKey: {
    type: 'object',
    additionalProperties: false,
    required: ['secret', 'key'],
    properties: {
      secret: { type: 'string', minLength: 1 },
      key: { type: 'string', minLength: 1 },
    },
  },
  settings: settingsValues(),
  secretSettings: secretSettingsValues(),
};

const introduction = 'scripts/chart/introduction.md';

function readme(values: readonly Value[]): string {
  const rows = values.map(({ path, byDefault, meaning }) => {
    const defaultText = byDefault === undefined ? '' : `\`${JSON.stringify(byDefault)}\``;
    return `| \`${path}\` | ${defaultText} | ${meaning} |`.replaceAll('  ', ' ');
  });
  const head = `<!-- made by \`npm run chart\` from values.yaml and ${introduction} -->`;
  const text = readFileSync(resolve(import.meta.dirname, '../..', introduction), 'utf8');
  return [head, text, '| Value | Default | Meaning |', '|---|---|---|', ...rows, '', pods].join(
    '\n',
  );
}

const pods = `\`server.pod\`, \`gateway.pod\` and \`sync.pod\` take \`annotations\`, \`labels\`, \`nodeSelector\`,
\`tolerations\`, \`affinity\`, \`topologySpreadConstraints\`, \`priorityClassName\`, \`env\`, \`envFrom\`, \`volumes\` and \`volumeMounts\` in the forms
of Kubernetes. A spread constraint without a \`labelSelector\` is about the pods of its component.
`;
