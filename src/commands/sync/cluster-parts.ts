/** Opens the status object and the lock of a daemon in a Kubernetes cluster. */
import { hostname } from 'node:os';
import { systemClock } from '../../clock.ts';
import type { Settings } from '../../settings.ts';
import { ClusterLock, lockCallLimits } from '../../sync/daemon/cluster-lock.ts';
import { ClusterStatus } from '../../sync/notify/cluster-status.ts';
import { openCluster } from '../sources/cluster.ts';

/** `host` of the cluster; `reason` is null once the status is written. */
type OnOutcome = (host: string, reason: string | null) => void;

/** Functions that open each part; null for parts that are not configured. */
export interface ClusterParts {
  readonly openStatus: ((onOutcome: OnOutcome) => ClusterStatus) | null;
  readonly openLock: ((onChange: (isHeld: boolean) => void) => ClusterLock) | null;
}

/** @throws Failure (invalid input) when the cluster configuration cannot be used */
export async function openClusterParts(
  cwd: string,
  { status, lease, ...access }: Settings['sync']['kubernetes'],
  owner: string,
): Promise<ClusterParts> {
  const host = hostname();
  const clock = systemClock;
  const statusClient = status && (await openCluster(cwd, access));
  const lockClient = lease && (await openCluster(cwd, access, lockCallLimits));
  return {
    openStatus:
      statusClient &&
      ((onOutcome) =>
        new ClusterStatus({
          owner,
          clock,
          client: statusClient,
          place: status,
          instance: host,
          onOutcome: (reason) => onOutcome(statusClient.host, reason),
        })),
    openLock:
      lockClient &&
      ((onChange) => new ClusterLock({ client: lockClient, place: lease, host, clock, onChange })),
  };
}
