/** Knows Secrets and ConfigMaps as the API of Kubernetes keeps them, and the few things done to them. */
import { type KubeClient, nullWhere } from './kube-client.ts';

export interface KubeObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    /** Changes with every write; a write that names another is refused. */
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  /** Base64 in a Secret, text in a ConfigMap. */
  readonly data?: Readonly<Record<string, string>>;
}

/** A write that names another than the one that is there is refused. */
export type ObjectVersion = Pick<KubeObject['metadata'], 'uid' | 'resourceVersion'>;

export interface NewSecret {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Base64. */
  readonly data: Readonly<Record<string, string>>;
}

const pageItems = '500';

/** Null when there is none. */
export function getObject(
  client: KubeClient,
  kind: 'secrets' | 'configmaps',
  namespace: string,
  name: string,
): Promise<KubeObject | null> {
  const path = `${pathOf(kind, namespace)}/${name}`;
  return nullWhere(({ status }) => status === 404, client.request({ method: 'GET', path }));
}

/**
 * Applies fields of a ConfigMap on the server's side, over whoever else has written them. Null where it
 * is not, any more, the version that is named; without one it is made where there is none.
 */
export function applyConfigMap(
  client: KubeClient,
  { namespace, name, data }: Pick<NewSecret, 'namespace' | 'name' | 'data'>,
  version: ObjectVersion | null,
  fieldManager: string,
): Promise<KubeObject | null> {
  return nullWhere(
    ({ status }) => status === 409,
    client.request({
      method: 'PATCH',
      path: `${pathOf('configmaps', namespace)}/${name}`,
      query: { fieldManager, force: 'true' },
      contentType: 'application/apply-patch+yaml',
      body: {
        ...{ apiVersion: 'v1', kind: 'ConfigMap' },
        ...{ metadata: { namespace, name, ...version }, data },
      },
    }),
  );
}

/** Those of a namespace whose labels are these. */
export async function listSecrets(
  client: KubeClient,
  namespace: string,
  labels: Readonly<Record<string, string>>,
): Promise<KubeObject[]> {
  const labelSelector = Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
  const found: KubeObject[] = [];
  let next = '';
  do {
    const page = (await client.request({
      method: 'GET',
      path: pathOf('secrets', namespace),
      query: { labelSelector, limit: pageItems, ...(next === '' ? {} : { continue: next }) },
    })) as { items: KubeObject[]; metadata: { continue?: string } };
    // What is in a list does not name what it is a list of.
    found.push(...page.items);
    next = page.metadata.continue ?? '';
  } while (next !== '');
  return found;
}

/** Null where there is one of that name already. */
export function createSecret(
  client: KubeClient,
  secret: NewSecret,
  fieldManager: string,
): Promise<KubeObject | null> {
  return nullWhere(
    ({ reason }) => reason === 'AlreadyExists',
    client.request({
      method: 'POST',
      path: pathOf('secrets', secret.namespace),
      query: { fieldManager },
      body: bodyOf(secret),
    }),
  );
}

/**
 * Applies fields of a Secret on the server's side. False where it is not, any more, the version that
 * is named; then nothing is written.
 */
export function applySecret(
  client: KubeClient,
  secret: NewSecret,
  version: ObjectVersion,
  fieldManager: string,
): Promise<boolean> {
  const body = bodyOf(secret);
  return unlessMoved(
    client.request({
      method: 'PATCH',
      path: `${pathOf('secrets', secret.namespace)}/${secret.name}`,
      query: { fieldManager, force: 'true' },
      contentType: 'application/apply-patch+yaml',
      body: { ...body, metadata: { ...body.metadata, ...version } },
    }),
  );
}

/** Removes one key, and the Secret with its last. False as in {@link applySecret}. */
export function removeKey(client: KubeClient, secret: KubeObject, key: string): Promise<boolean> {
  const { namespace, name, uid, resourceVersion } = secret.metadata;
  const path = `${pathOf('secrets', namespace)}/${name}`;
  const others = Object.keys(secret.data ?? {}).filter((one) => one !== key);
  return unlessMoved(
    others.length === 0
      ? client.request({
          method: 'DELETE',
          path,
          body: {
            kind: 'DeleteOptions',
            apiVersion: 'v1',
            preconditions: { uid, resourceVersion },
          },
        })
      : client.request({
          method: 'PATCH',
          path,
          contentType: 'application/merge-patch+json',
          body: { metadata: { uid, resourceVersion }, data: { [key]: null } },
        }),
  );
}

async function unlessMoved(asked: Promise<unknown>): Promise<boolean> {
  const done = asked.then(() => true);
  return (await nullWhere<true>(({ status }) => status === 409 || status === 404, done)) ?? false;
}

function bodyOf({ namespace, name, labels, annotations, data }: NewSecret) {
  return {
    ...{ apiVersion: 'v1', kind: 'Secret', type: 'Opaque' },
    metadata: { namespace, name, labels, annotations },
    data,
  };
}

function pathOf(kind: 'secrets' | 'configmaps', namespace: string): string {
  return `/api/v1/namespaces/${namespace}/${kind}`;
}
