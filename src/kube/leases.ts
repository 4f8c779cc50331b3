/** Knows Leases of Kubernetes: a name that one process writes into at a time. */
import { type KubeClient, KubeRefusal } from './kube-client.ts';
import { microTime } from './kube-events.ts';
import type { ObjectVersion } from './kube-objects.ts';

export interface LeaseSpec {
  /** '' for nobody. */
  readonly holderIdentity?: string | null;
  readonly leaseDurationSeconds?: number | null;
  /** As the API writes times. */
  readonly acquireTime?: string | null;
  readonly renewTime?: string | null;
  readonly leaseTransitions?: number | null;
}

export interface KubeLease {
  readonly metadata: ObjectVersion;
  readonly spec?: LeaseSpec;
}

export interface LeasePlace {
  readonly namespace: string;
  readonly name: string;
}

/** What a holder says of itself. */
export interface LeaseHolding {
  readonly identity: string;
  readonly durationSeconds: number;
  readonly transitions: number;
  /** Both ms since the epoch, for people: nobody judges by them. */
  readonly acquiredAt: number;
  readonly renewedAt: number;
}

const apiVersion = 'coordination.k8s.io/v1';

/** Null when there is none. */
export async function getLease(
  client: KubeClient,
  { namespace, name }: LeasePlace,
): Promise<KubeLease | null> {
  try {
    return (await client.request({
      method: 'GET',
      path: `${pathOf(namespace)}/${name}`,
    })) as KubeLease;
  } catch (error) {
    if (error instanceof KubeRefusal && error.status === 404) return null;
    throw error;
  }
}

/**
 * Writes who holds it over the version that is named; null for one that is to be made. Null where
 * somebody else has written meanwhile.
 */
export async function writeLease(
  client: KubeClient,
  { namespace, name }: LeasePlace,
  version: ObjectVersion | null,
  holding: LeaseHolding,
): Promise<KubeLease | null> {
  const { identity, durationSeconds, transitions, acquiredAt, renewedAt } = holding;
  const body = {
    ...{ apiVersion, kind: 'Lease' },
    metadata: { namespace, name, ...version },
    spec: {
      holderIdentity: identity,
      leaseDurationSeconds: durationSeconds,
      leaseTransitions: transitions,
      acquireTime: microTime(acquiredAt),
      renewTime: microTime(renewedAt),
    },
  };
  const path = pathOf(namespace);
  try {
    return (await client.request(
      version === null
        ? { method: 'POST', path, body }
        : { method: 'PUT', path: `${path}/${name}`, body },
    )) as KubeLease;
  } catch (error) {
    const isOvertaken =
      error instanceof KubeRefusal && (error.status === 409 || error.status === 404);
    // No Lease and no namespace are told alike; only what was there can have gone.
    if (isOvertaken && (version !== null || error.status === 409)) return null;
    throw error;
  }
}

function pathOf(namespace: string): string {
  return `/apis/${apiVersion}/namespaces/${namespace}/leases`;
}
