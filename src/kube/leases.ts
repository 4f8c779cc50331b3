/** Reads and writes Kubernetes Leases, which name the one process that may act. */
/*
 * The library has no leader election: it offers the Lease API only. The rules of who may hold a Lease are in
 * `sync/daemon/cluster-lock.ts`.
 */
import type { V1Lease } from '@kubernetes/client-node/dist/gen/models/V1Lease.js';
import type { KubeClient } from './kube-client.ts';
import { nullOnRefusal } from './kube-errors.ts';
import type { ObjectVersion } from './kube-objects.ts';

export interface LeaseSpec {
  /** '' when nobody holds the Lease. */
  readonly holderIdentity?: string | undefined;
  readonly leaseDurationSeconds?: number | undefined;
  readonly leaseTransitions?: number | undefined;
}

export interface KubeLease {
  readonly metadata: ObjectVersion;
  readonly spec: LeaseSpec;
}

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/** The values that a holder writes. */
export interface LeaseHolding {
  readonly identity: string;
  readonly durationSeconds: number;
  readonly transitions: number;
  /** Both in milliseconds since the epoch, for people: no process decides by them. */
  readonly acquiredAt: number;
  readonly renewedAt: number;
}

/** Null when there is none. */
export async function getLease(
  { coordination }: KubeClient,
  { namespace, name }: LeaseName,
): Promise<KubeLease | null> {
  const call = coordination.readNamespacedLease({ namespace, name });
  const lease = await nullOnRefusal(({ status }) => status === 404, call);
  return lease && kubeLeaseOf(lease);
}

/**
 * Writes the holder over the named version; a null version creates the Lease. Null when another process
 * has written meanwhile.
 */
export async function writeLease(
  client: KubeClient,
  { namespace, name }: LeaseName,
  version: ObjectVersion | null,
  holding: LeaseHolding,
): Promise<KubeLease | null> {
  const { identity, durationSeconds, transitions, acquiredAt, renewedAt } = holding;
  const body = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace, name, ...version },
    spec: {
      holderIdentity: identity,
      leaseDurationSeconds: durationSeconds,
      leaseTransitions: transitions,
      acquireTime: client.microTime(acquiredAt),
      renewTime: client.microTime(renewedAt),
    },
  };
  const lease = await nullOnRefusal(
    // A missing namespace and a missing Lease are both 404; only a Lease with a version can have been deleted.
    ({ status }) => status === 409 || (status === 404 && version !== null),
    version === null
      ? client.coordination.createNamespacedLease({ namespace, body })
      : client.coordination.replaceNamespacedLease({ namespace, name, body }),
  );
  return lease && kubeLeaseOf(lease);
}

function kubeLeaseOf({ metadata = {}, spec = {} }: V1Lease): KubeLease {
  const { uid = '', resourceVersion = '' } = metadata;
  const { holderIdentity, leaseDurationSeconds, leaseTransitions } = spec;
  return {
    metadata: { uid, resourceVersion },
    spec: { holderIdentity, leaseDurationSeconds, leaseTransitions },
  };
}
