/** Reads and writes Secrets and ConfigMaps; every write names the version it replaces. */
import type { V1ConfigMap } from '@kubernetes/client-node/dist/gen/models/V1ConfigMap.js';
import type { V1Secret } from '@kubernetes/client-node/dist/gen/models/V1Secret.js';
import type { KubeClient } from './kube-client.ts';
import { type KubeRefusal, nullOnRefusal } from './kube-errors.ts';

export interface KubeObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    /** Changes with every write; the API rejects a write that names another version. */
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  /** Base64 in a Secret, text in a ConfigMap. */
  readonly data?: Readonly<Record<string, string>>;
}

/** The API rejects a write whose version is not the current one. */
export type ObjectVersion = Pick<KubeObject['metadata'], 'uid' | 'resourceVersion'>;

export interface NewSecret {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Base64. */
  readonly data: Readonly<Record<string, string>>;
}

const pageSize = 500;

const isNotFound = ({ status }: KubeRefusal): boolean => status === 404;
const isConflict = ({ status }: KubeRefusal): boolean => status === 409;

/** Null when there is none. */
export async function getObject(
  { core }: KubeClient,
  kind: 'secrets' | 'configmaps',
  namespace: string,
  name: string,
): Promise<KubeObject | null> {
  const call =
    kind === 'secrets'
      ? core.readNamespacedSecret({ namespace, name })
      : core.readNamespacedConfigMap({ namespace, name });
  const object = await nullOnRefusal<V1Secret | V1ConfigMap>(isNotFound, call);
  return object && kubeObjectOf(object);
}

/**
 * Applies fields of a ConfigMap by server-side apply and takes over fields of other managers. Without a
 * version the ConfigMap is created if absent. Null when the current version is not the named one.
 */
export async function applyConfigMap(
  client: KubeClient,
  { namespace, name, data }: Pick<NewSecret, 'namespace' | 'name' | 'data'>,
  version: ObjectVersion | null,
  fieldManager: string,
): Promise<KubeObject | null> {
  const object = await nullOnRefusal(
    isConflict,
    client.core.patchNamespacedConfigMap(
      {
        namespace,
        name,
        fieldManager,
        force: true,
        body: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { namespace, name, ...version },
          data,
        },
      },
      client.patchOptions('ServerSideApply'),
    ),
  );
  return object && kubeObjectOf(object);
}

/** All Secrets of a namespace that have these labels. */
export async function listSecrets(
  { core }: KubeClient,
  namespace: string,
  labels: Readonly<Record<string, string>>,
): Promise<KubeObject[]> {
  const labelSelector = Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
  const secrets: KubeObject[] = [];
  let next: string | undefined;
  do {
    const page = await core.listNamespacedSecret({
      namespace,
      labelSelector,
      limit: pageSize,
      ...(next === undefined ? {} : { _continue: next }),
    });
    secrets.push(...page.items.map(kubeObjectOf));
    next = page.metadata?._continue || undefined;
  } while (next !== undefined);
  return secrets;
}

/** Null when a Secret of that name exists. */
export async function createSecret(
  { core }: KubeClient,
  secret: NewSecret,
  fieldManager: string,
): Promise<KubeObject | null> {
  const { namespace } = secret;
  const created = await nullOnRefusal(
    ({ reason }) => reason === 'AlreadyExists',
    core.createNamespacedSecret({ namespace, body: manifestOf(secret), fieldManager }),
  );
  return created && kubeObjectOf(created);
}

/**
 * Applies fields of a Secret by server-side apply. False, and nothing written, when the current version
 * is not the named one.
 */
export async function applySecret(
  client: KubeClient,
  secret: NewSecret,
  version: ObjectVersion,
  fieldManager: string,
): Promise<boolean> {
  const { namespace, name } = secret;
  const manifest = manifestOf(secret);
  return await isWritten(
    client.core.patchNamespacedSecret(
      {
        namespace,
        name,
        fieldManager,
        force: true,
        body: { ...manifest, metadata: { ...manifest.metadata, ...version } },
      },
      client.patchOptions('ServerSideApply'),
    ),
  );
}

/** Removes one key, and the Secret with its last key. False as for {@link applySecret}. */
export async function removeKey(
  client: KubeClient,
  secret: KubeObject,
  key: string,
): Promise<boolean> {
  const { namespace, name, uid, resourceVersion } = secret.metadata;
  const hasOthers = Object.keys(secret.data ?? {}).some((other) => other !== key);
  if (!hasOthers) {
    const preconditions = { uid, resourceVersion };
    return await isWritten(
      client.core.deleteNamespacedSecret({ namespace, name, body: { preconditions } }),
    );
  }
  const body = { metadata: { uid, resourceVersion }, data: { [key]: null } };
  return await isWritten(
    client.core.patchNamespacedSecret({ namespace, name, body }, client.patchOptions('MergePatch')),
  );
}

async function isWritten(call: Promise<unknown>): Promise<boolean> {
  const done = call.then(() => true);
  return (
    (await nullOnRefusal((refusal) => isConflict(refusal) || isNotFound(refusal), done)) ?? false
  );
}

function manifestOf({ namespace, name, labels, annotations, data }: NewSecret) {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { namespace, name, labels, annotations },
    data,
  };
}

/** Copies the fields that gatewright uses; the API always sends the identity. */
function kubeObjectOf({ metadata = {}, data }: V1Secret | V1ConfigMap): KubeObject {
  const { name = '', namespace = '', uid = '', resourceVersion = '' } = metadata;
  const { labels, annotations } = metadata;
  return {
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
    ...(data === undefined ? {} : { data }),
  };
}
