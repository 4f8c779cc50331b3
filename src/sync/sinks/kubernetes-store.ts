/** Reads, claims and removes the Secrets of one owner in a cluster. */
import { createHash } from 'node:crypto';
import { Failure } from '../../failure.ts';
import type { KubeClient } from '../../kube/kube-client.ts';
import { KubeUnreachable } from '../../kube/kube-errors.ts';
import {
  applySecret,
  createSecret,
  getObject,
  type KubeObject,
  listSecrets,
  type NewSecret,
  removeKey,
} from '../../kube/kube-objects.ts';
import { Secret } from '../../secret.ts';
import type { KubernetesPlace } from '../resources/secret-target.ts';
import { type RepeatWriteOptions, repeatWrite } from './repeat-write.ts';
import { ownerTag, type SinkOwner } from './sink-set.ts';

/** How the settings permit the use of a cluster. */
export interface KubernetesGrant {
  /** Connects on first use. @throws Failure when the cluster is not accessible */
  readonly connect: () => Promise<KubeClient>;
  /** The namespaces that manifests may use. */
  readonly namespaces: readonly string[];
}

/**
 * Purposes of Secrets besides that of the key: a value that is pending, kept aside, or about to be
 * deleted.
 */
export type SecretPurpose = 'pending' | 'kept' | 'leaving';

/**
 * Field manager prefix; for a value the key is appended, so that each value is applied separately.
 */
const manager = 'gatewright';
/** The key in the data of such a Secret. */
export const workKey = 'value';

const ownerName = 'gatewright.dev/owner';
const workName = 'gatewright.dev/work';
const placeName = 'gatewright.dev/place';
const fenceName = 'gatewright.dev/fence';
const writesMax = 5;

export class KubernetesStore {
  readonly #grant: KubernetesGrant;
  readonly #owner: string;
  readonly #tag: string;

  constructor(grant: KubernetesGrant, owner: SinkOwner) {
    this.#grant = grant;
    this.#owner = `${owner.organisationId}/${owner.owner}`;
    this.#tag = ownerTag(owner);
  }

  get namespaces(): readonly string[] {
    return this.#grant.namespaces;
  }

  /** @throws Failure when the settings do not list the namespace */
  assertGranted(namespace: string): void {
    const refusal = namespaceRefusal(this.#grant, namespace);
    if (refusal !== null) throw new Failure('invalidInput', refusal.message);
  }

  connect(): Promise<KubeClient> {
    return this.#grant.connect();
  }

  /** Labels of every Secret of this owner. */
  labels(of?: {
    readonly work?: SecretPurpose;
    readonly place?: KubernetesPlace;
  }): Record<string, string> {
    return {
      'app.kubernetes.io/managed-by': 'gatewright',
      [ownerName]: this.#tag,
      ...(of?.work === undefined ? {} : { [workName]: of.work }),
      ...(of?.place === undefined ? {} : { [placeName]: hashOf(of.place) }),
    };
  }

  annotations(): Record<string, string> {
    return { [ownerName]: this.#owner };
  }

  isOwn({ metadata: { labels, annotations } }: KubeObject): boolean {
    return labels?.[ownerName] === this.#tag && annotations?.[ownerName] === this.#owner;
  }

  /** @throws Failure for a Secret that does not belong to this owner */
  assertOwn(secret: KubeObject): void {
    if (this.isOwn(secret)) return;
    const { namespace, name, annotations } = secret.metadata;
    const owner = annotations?.[ownerName];
    const whose = owner === undefined ? 'was not made by gatewright' : `belongs to ${owner}`;
    throw new Failure(
      'refusedByGuard',
      `the Secret ${name} of namespace ${namespace} ${whose} and is left as it is; delete it, or give \
secretOutput another name`,
    );
  }

  async get({ namespace, name }: KubernetesPlace): Promise<KubeObject | null> {
    return await getObject(await this.connect(), 'secrets', namespace, name);
  }

  /** Lists the Secrets of this owner with the labels. */
  async list(namespace: string, labels: Readonly<Record<string, string>>): Promise<KubeObject[]> {
    this.assertGranted(namespace);
    const found = await listSecrets(await this.connect(), namespace, labels);
    return found.filter((secret) => this.isOwn(secret));
  }

  /**
   * Writes a value under a key of a Secret of this owner, creating the Secret if necessary.
   *
   * @param over the present value that may be replaced; null when there must be none
   * @throws Failure when another value was written meanwhile, or the Secret is not this owner's
   */
  async write(place: KubernetesPlace, value: Secret, over: Secret | null): Promise<void> {
    this.assertGranted(place.namespace);
    const client = await this.connect();
    const { namespace, name, key } = place;
    const common = {
      namespace,
      name,
      labels: this.labels(),
      annotations: this.annotations(),
    };
    await repeatWrite(writing(name), async () => {
      // The Secret is claimed empty first, so that a Secret created by others meanwhile is never
      // written.
      const secret =
        (await this.get(place)) ?? (await createSecret(client, { ...common, data: {} }, manager));
      if (secret === null) return false;
      this.assertOwn(secret);
      const now = valueIn(secret, place)?.reveal();
      if (now === value.reveal()) return true;
      if (now !== undefined && now !== over?.reveal()) throw occupied(place);
      const { uid, resourceVersion } = secret.metadata;
      const applied = { ...common, data: { [key]: inBase64(value) } };
      return await applySecret(client, applied, { uid, resourceVersion }, `${manager}/${key}`);
    });
  }

  /**
   * Creates an auxiliary Secret; idempotent for the same value. @throws Failure when it has another
   */
  async writeWork(
    work: SecretPurpose,
    of: KubernetesPlace,
    fence: number,
    value: Secret,
  ): Promise<KubernetesPlace> {
    this.assertGranted(of.namespace);
    const name = `gatewright-${work}-${hashOf(of)}-${this.#tag}-${fence}`;
    const place = { namespace: of.namespace, name, key: workKey };
    const secret: NewSecret = {
      namespace: of.namespace,
      name,
      labels: { ...this.labels({ work, place: of }), [fenceName]: `${fence}` },
      annotations: { ...this.annotations(), [placeName]: `${of.namespace}/${of.name}/${of.key}` },
      data: { [workKey]: inBase64(value) },
    };
    await repeatWrite(writing(name), async () => {
      if ((await createSecret(await this.connect(), secret, manager)) !== null) return true;
      const found = await this.get(place);
      if (found === null) return false;
      if (valueIn(found, place)?.reveal() === value.reveal()) return true;
      const message = `the Secret ${name} of namespace ${of.namespace} already exists`;
      throw new Failure('refusedByGuard', message);
    });
    return place;
  }

  /** Removes a value from a Secret of this owner if it is still present. */
  async remove(place: KubernetesPlace, value: Secret): Promise<void> {
    await repeatWrite(writing(place.name), async () => {
      const secret = await this.get(place);
      if (secret === null || !this.isOwn(secret)) return true;
      if (valueIn(secret, place)?.reveal() !== value.reveal()) return true;
      return await removeKey(await this.connect(), secret, place.key);
    });
  }
}

/** Null for a namespace that the settings list. */
export function namespaceRefusal(
  { namespaces }: KubernetesGrant,
  namespace: string,
): { readonly message: string; readonly fix: string } | null {
  if (namespaces.includes(namespace)) return null;
  const named =
    namespaces.length === 0 ? 'which is not set' : `which names ${namespaces.join(', ')}`;
  return {
    message: `the namespace ${namespace} is not in GATEWRIGHT_KUBERNETES_NAMESPACES, ${named}`,
    fix: 'use a listed namespace, or have this one added to the setting',
  };
}

/** Returns the value of a key; null when there is none. */
export function valueIn(secret: KubeObject, place: KubernetesPlace): Secret | null {
  const data = secret.data?.[place.key];
  if (data === undefined) return null;
  const { namespace, name, key } = place;
  const origin = `kubernetesSecret:${namespace}/${name}/${key}`;
  return new Secret(Buffer.from(data, 'base64').toString('utf8').trim(), origin);
}

/** Returns the purpose of an auxiliary Secret; null for the Secret of a key. */
export function workOf({ metadata: { labels = {}, annotations = {} } }: KubeObject) {
  const work = labels[workName];
  if (work === undefined) return null;
  const [namespace = '', name = '', key = ''] = annotations[placeName]?.split('/') ?? [];
  return { work, fence: Number(labels[fenceName]), of: { namespace, name, key } };
}

function writing(name: string): RepeatWriteOptions {
  return {
    what: `the Secret ${name}`,
    attemptsMax: writesMax,
    isLost: (error) => error instanceof KubeUnreachable,
  };
}

function hashOf({ namespace, name, key }: KubernetesPlace): string {
  return createHash('sha256').update(`${namespace}/${name}/${key}`).digest('hex').slice(0, 12);
}

function inBase64(value: Secret): string {
  return Buffer.from(value.reveal()).toString('base64');
}

function occupied({ namespace, name, key }: KubernetesPlace): Failure {
  return new Failure(
    'retryable',
    `another value was written to the key ${key} of the Secret ${name} of namespace ${namespace} meanwhile; \
run it again`,
  );
}
