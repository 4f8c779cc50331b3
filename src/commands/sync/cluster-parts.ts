/** Knows what a daemon has of a cluster where the settings say so: a status that is shown, a lock that is held. */
import { hostname } from 'node:os';
import { systemClock } from '../../clock.ts';
import type { Settings } from '../../settings.ts';
import { ClusterLock, lockCallLimits } from '../../sync/daemon/cluster-lock.ts';
import { ClusterStatus } from '../../sync/notify/cluster-status.ts';
import { openCluster } from '../sources/cluster.ts';

/** `host` of the cluster; `reason` is null once the status is written. */
type OnOutcome = (host: string, reason: string | null) => void;

/** Opens each when it is asked to; null where the settings want none. */
export interface ClusterParts {
  readonly openStatus: ((onOutcome: OnOutcome) => ClusterStatus) | null;
  readonly openLock: ((onChange: (isHeld: boolean) => void) => ClusterLock) | null;
}

/** @throws Failure (invalid input) where there is no cluster to be reached */
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
