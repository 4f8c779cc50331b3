/** Knows what follows from the chart's values: the schema that refuses others, and the table of its README. */
import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml';
import { secretSettingsValues, settingsValues } from './settings-values.ts';

interface Value {
  /** `mysql.tls.mode` */
  readonly path: string;
  readonly byDefault: unknown;
  /** The comment before it. */
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
  // Helm's own: whether a subchart is wanted, and what is handed to all charts.
  for (const [index, pair] of map.items.entries()) {
    const key = String((pair.key as { value: unknown }).value);
    properties[key] = pairSchema(pair, commentOf(map, pair, index), [...path, key], values);
  }
  return { type: 'object', additionalProperties: false, properties };
}

/** The parser gives a comment before the first key of a map to the map. */
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
  // Beside a reference draft 7 sees nothing.
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

function readme(values: readonly Value[]): string {
  const rows = values.map(({ path, byDefault, meaning }) => {
    const shown = byDefault === undefined ? '' : `\`${JSON.stringify(byDefault)}\``;
    return `| \`${path}\` | ${shown} | ${meaning} |`.replaceAll('  ', ' ');
  });
  return [introduction, '| Value | Default | Meaning |', '|---|---|---|', ...rows, '', pods].join(
    '\n',
  );
}

const introduction = `<!-- made by \`npm run chart\` from values.yaml -->
# Chart gatewright

The control plane of gatewright, and the daemon that keeps it equal to manifests in Git, on a cluster of
your own. Everything runs in one namespace, without rights on the cluster and under the restricted Pod
Security profile.

## Install

\`\`\`sh
kubectl create namespace gatewright
kubectl --namespace gatewright create secret generic gatewright \\
  --from-literal=master-key="$(openssl rand -base64 32)" \\
  --from-literal=username=gatewright --from-literal=password='PASSWORD'
helm --namespace gatewright install gw charts/gatewright --wait \\
  --set masterKey.existingSecret=gatewright \\
  --set mysql.host=mysql.example.com --set mysql.existingSecret=gatewright
helm --namespace gatewright test gw
\`\`\`

The database has to exist and the user may do all in it, or, with \`migrations.existingSecret\`, only read
and write rows. Keep a copy of the master key elsewhere: nothing opens the data without it. For a trial
without a database, leave \`mysql.host\` out and add \`--set mysql.embedded.enabled=true\`.

## Sync

\`sync.enabled\` runs the daemon, which takes manifests from Git (\`sync.source\`), a ConfigMap
(\`sync.configMap\`, one file a key) or any volume (\`sync.sourceVolume.source\`), and reaches the server of
this release with an account of its own. Without more it has no rights and no token.

\`\`\`yaml
sync:
  enabled: true
  source: https://git.example.com/gateway.git#main:prod
  git: {existingSecret: git, keys: {token: token}}
  kubernetes: {enabled: true, namespaces: [gatewright, apps]}
  vault: {address: https://vault.example.com:8200, paths: [secret/support], kubernetesRole: gatewright}
  secretSettings:
    GATEWRIGHT_NOTIFY_URL: {secret: chat, key: url}
\`\`\`

- \`sync.kubernetes.enabled\` makes a Role and a RoleBinding in each namespace that is listed: Secrets (get, list,
  create, patch, delete) for \`secretOutput.kubernetesSecret\` and \`valueFrom.kubernetesSecret\`, ConfigMaps (get) for
  \`valueFrom.kubernetesConfigMap\`. Whoever installs needs these rights, or turns \`createRoles\` off and has them given.
  The token lies in the container of the daemon only.
- \`sync.kubernetes.status\` shows the state of each workspace in the ConfigMap \`NAME-sync-status\`, and each change of it as an
  Event: \`kubectl describe configmap NAME-sync-status\`. \`sync.kubernetes.lease\` has several pods choose by the Lease
  \`NAME-sync\` who leads, which stays after \`helm uninstall\`: \`kubectl delete lease NAME-sync\`.
- \`sync.vault\` signs in with a token of the pod's account that is for Vault only, with an AppRole, or with a token of a
  Secret.

With \`mode: all-in-one\` sync runs in each pod of the server, as a container of its own beside it; one of them leads.

## A cluster without a way out

\`gatewright images --values values.yaml\` lists the images that are used, with digests where the values have them, and
\`--registry registry.example.com\` where their copies have to lie: \`global.imageRegistry\` moves every image there. The
chart itself is in the image of the program, in \`/opt/gatewright/charts\`, and goes into the same registry:
\`helm package charts/gatewright && helm push gatewright-0.1.0.tgz oci://registry.example.com/charts\`.
\`customCA\` adds authorities of yours to those that
every pod trusts, for Git as well. \`proxy\` is the way of sync to whatever is outside; the API of Kubernetes, the
database and the server of the release are reached straight. \`networkPolicy.enabled\` closes everything else.

## What is refused

What contradicts itself or is misspelled is refused before anything is sent, with the value at fault and
what to do. No rendering looks at the cluster or at chance: it is the same, byte for byte, wherever it is
made, so Argo CD and Flux see no difference where there is none.

## Values
`;

const pods = `\`server.pod\` and \`sync.pod\` take \`annotations\`, \`labels\`, \`nodeSelector\`, \`tolerations\`, \`affinity\`,
\`topologySpreadConstraints\`, \`priorityClassName\`, \`env\`, \`envFrom\`, \`volumes\` and \`volumeMounts\` in the forms
of Kubernetes. A spread constraint without a \`labelSelector\` is about the pods of its component.
`;
