/** Writes JSON Schemas of the kinds of Kubernetes, made from the API description in its Go module. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { goModule } from './go-programs.ts';

const kubernetesVersion = 'v1.34.4';
const cache = resolve(import.meta.dirname, '../../.cache');
const target = join(cache, `kubernetes-schemas-${kubernetesVersion}`);

interface Definition {
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly format?: string;
  readonly type?: string;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Definition>>;
  readonly items?: Definition;
  readonly additionalProperties?: Definition;
  readonly required?: readonly string[];
}

/** Where kubeconform finds the schema of a kind. */
export const schemaLocation = join(target, '{{ .ResourceKind }}{{ .KindSuffix }}.json');

/** Prepares the schemas once for a clone. Returns why they are not available, or null. */
export function missingSchemas(): string | null {
  if (existsSync(target)) return null;
  const { folder, missing } = goModule('k8s.io/kubernetes', kubernetesVersion);
  if (missing !== null) return missing;
  const text = readFileSync(join(folder, 'api/openapi-spec/swagger.json'), 'utf8');
  const { definitions } = JSON.parse(text) as { definitions: Record<string, Definition> };
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(`${target}-`);
  try {
    write(draft, definitions);
    renameSync(draft, target);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return null;
}

function write(folder: string, definitions: Readonly<Record<string, Definition>>): void {
  const strict = Object.entries(definitions).map(([name, one]) => [name, strictSchema(one)]);
  const all = { definitions: Object.fromEntries(strict) };
  writeFileSync(join(folder, 'definitions.json'), JSON.stringify(all));
  for (const [name, one] of Object.entries(definitions)) {
    for (const { group, version, kind } of one['x-kubernetes-group-version-kind'] ?? []) {
      const suffix = group === '' ? version : `${group.split('.')[0]}-${version}`;
      const file = `${kind.toLowerCase()}-${suffix}.json`;
      const reference = { $ref: `definitions.json#/definitions/${name}` };
      writeFileSync(join(folder, file), JSON.stringify(reference));
    }
  }
}

/** Refuses unknown fields, which the API server would drop. */
function strictSchema(definition: Definition): object {
  const { format, $ref, properties, items, additionalProperties, required, type } = definition;
  if ($ref !== undefined) return { $ref };
  if (format === 'int-or-string') return { type: ['integer', 'string'] };
  const isClosed =
    properties !== undefined && definition['x-kubernetes-preserve-unknown-fields'] !== true;
  return {
    type,
    properties:
      properties &&
      Object.fromEntries(
        Object.entries(properties).map(([name, one]) => [name, strictSchema(one)]),
      ),
    required,
    items: items && strictSchema(items),
    additionalProperties: isClosed
      ? false
      : additionalProperties && strictSchema(additionalProperties),
  };
}
