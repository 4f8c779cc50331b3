/** Knows Leases of Kubernetes: a name that one process writes into at a time. */
import { type KubeClient, nullWhere } from './kube-client.ts';
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
export function getLease(
  client: KubeClient,
  { namespace, name }: LeasePlace,
): Promise<KubeLease | null> {
  const path = `${pathOf(namespace)}/${name}`;
  return nullWhere(({ status }) => status === 404, client.request({ method: 'GET', path }));
}

/**
 * Writes who holds it over the version that is named; null for one that is to be made. Null where
 * somebody else has written meanwhile.
 */
export function writeLease(
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
  return nullWhere(
    // No Lease and no namespace are told alike; only what was there can have gone.
    ({ status }) => status === 409 || (status === 404 && version !== null),
    client.request(
      version === null
        ? { method: 'POST', path, body }
        : { method: 'PUT', path: `${path}/${name}`, body },
    ),
  );
}

function pathOf(namespace: string): string {
  return `/apis/${apiVersion}/namespaces/${namespace}/leases`;
}
