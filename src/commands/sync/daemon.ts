/** Runs the sync loop as a daemon with listener, leader election and status reports. */
/*
 * Settings and credentials are read and the listener is open before the loop of sync/loop starts. A
 * signal lets running work finish, starts nothing new, releases the lease, and ends with success. The
 * process holds no state that its successor would need.
 *
 * One of several daemons of an owner leads; the others stand by and do not read the source.
 */

import { systemClock } from '../../clock.ts';
import { detach } from '../../detached.ts';
import { type Ending, Failure } from '../../failure.ts';
import { packageVersion } from '../../package-root.ts';
import { type Listener, type ListenerOptions, startListener } from '../../sync/daemon/listener.ts';
import { LookHints } from '../../sync/daemon/look-hints.ts';
import { StandingLease, type StandingTerms } from '../../sync/daemon/standing-lease.ts';
import {
  createSyncMetrics,
  type DeliveryChannel,
  type SyncMetrics,
} from '../../sync/daemon/sync-metrics.ts';
import { type LoopOptions, openLoop } from '../../sync/loop/open-loop.ts';
import { isGitLocation, parseGitLocation } from '../../sync/source/git-location.ts';
import type { SyncState } from '../../sync/status/sync-state.ts';
import { RestingHeap } from '../shared/heap.ts';
import {
  type Announcements,
  type OnOutcome,
  openAnnouncer,
  undeliveredText,
} from './announcements.ts';
import type { ClusterParts } from './cluster-parts.ts';
import type { SyncEvents } from './sync-events.ts';

export interface DaemonContext {
  readonly locations: readonly string[];
  readonly events: SyncEvents;
  readonly loop: Omit<LoopOptions, 'reports'>;
  readonly announcements: Announcements;
  readonly cluster: ClusterParts;
  readonly listen: Pick<ListenerOptions, 'readyMs' | 'webhookSecret'> & {
    readonly host: string;
    /** Null opens no listener. */
    readonly port: number | null;
  };
}

/** Runs until the signal. @throws Failure (invalid input) when the port cannot be used */
export async function runDaemon(context: DaemonContext): Promise<Ending> {
  const { events } = context;
  const { client } = context.loop;
  const hints = new LookHints();
  const metrics = createSyncMetrics({
    version: packageVersion(),
    isSuspended: () => loop.isSuspended,
    standing: () => loop.state.status,
    requests: () => client.requests,
  });
  const onOutcome = outcomes(context, metrics);
  await using outside = openAnnouncer(context.announcements, {
    owner: client.owner,
    onOutcome,
    onChange: () => detach('the report of a change', loop.report()),
  });
  await using clusterStatus =
    context.cluster.openStatus?.((host, reason) => onOutcome('kubernetes-status', host, reason)) ??
    null;
  const loop = openLoop({
    ...context.loop,
    reports: {
      onMissing: () =>
        events.emit('noStatus', {}, 'this server does not store the status of daemons'),
      follower: outside?.announcer,
      onReport: (report, isProvisional) => clusterStatus?.show(report, isProvisional),
    },
  });
  const { state } = loop;
  await using listener = await openListener(context, { state, hints, metrics });
  tellStart(context, listener);
  await using lock = context.cluster.openLock?.(() => hints.trigger()) ?? null;
  await lock?.confirm();
  const standbyReason = (): string | null => lock?.standbyReason ?? null;
  await using lease = openLease(context, {
    standbyReason,
    onLost: () => loop.forgetReports(),
  });
  const heap = new RestingHeap();
  await loop.run({
    lease,
    pause: async (ms, signal) => {
      heap.shrink();
      return await hints.pause(ms, signal);
    },
    onLook: (look) => {
      if (look.kind === 'failed') metrics.observeFailure(look.failure.kind);
      if (look.kind === 'seen') outside?.announcer.onVersion(state.status);
    },
    onEvent: (event, lagMs) => {
      metrics.observe(event, lagMs);
      events.emitLoopEvent(event);
    },
  });
  // The reports of the last deliveries are stored before another daemon leads.
  if (outside !== null) await outside.close();
  if (outside !== null) await loop.report();
  events.emit('stopped', {}, 'stopped');
  return 'success';
}

/** A failing channel is reported once, and again after a success. */
function outcomes({ events }: DaemonContext, metrics: SyncMetrics): OnOutcome {
  const failing = new Set<DeliveryChannel>();
  return (channel, host, reason) => {
    metrics.observeDelivery(channel, reason === null ? 'delivered' : 'failed');
    if (reason === null) failing.delete(channel);
    if (reason === null || failing.has(channel)) return;
    failing.add(channel);
    events.emit('undelivered', { channel, host, reason }, undeliveredText(channel, host, reason));
  };
}

interface Parts {
  readonly state: SyncState;
  readonly hints: LookHints;
  readonly metrics: SyncMetrics;
}

async function openListener(
  { listen, locations, loop }: DaemonContext,
  { state, hints, metrics }: Parts,
): Promise<Listener | null> {
  const { host, port, ...rest } = listen;
  if (port === null) return null;
  // Sources other than Git are checked on every hint.
  const refs = locations.every(isGitLocation)
    ? locations.map((location) => parseGitLocation(location).ref)
    : [];
  const options = {
    ...rest,
    refs,
    metrics,
    hints,
    clock: systemClock,
    status: () => state.status,
    isDraining: () => loop.signal.aborted,
  };
  try {
    return await startListener({ host, port }, options);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    const message = `Cannot listen on ${host}:${port} (${code}). Change GATEWRIGHT_HOST or \
GATEWRIGHT_SYNC_PORT; port 0 (--port 0) selects a free port.`;
    throw new Failure('invalidInput', message, { cause: error });
  }
}

function tellStart({ locations, loop, events }: DaemonContext, listener: Listener | null) {
  const { client, probeMs, drift } = loop;
  const facts = {
    owner: client.owner,
    sources: locations,
    intervalSeconds: probeMs / 1000,
    drift: drift.mode,
    driftSeconds: drift.passMs / 1000,
    listener: listener?.url ?? null,
  };
  const pace = `each ${facts.intervalSeconds} s; drift: ${drift.mode}`;
  const at = listener === null ? '' : `; ${listener.url}/metrics`;
  events.emit('started', facts, `syncing ${locations.join(', ')} as ${client.owner}, ${pace}${at}`);
}

function openLease(
  { loop, events }: DaemonContext,
  { standbyReason, onLost }: Pick<StandingTerms, 'standbyReason'> & { readonly onLost: () => void },
): StandingLease {
  return new StandingLease(loop.client, {
    standbyReason,
    holder: loop.holder,
    takeOver: loop.takeOwnership,
    takeOverCommand: loop.command({ 'take-ownership': true }),
    signal: loop.signal,
    onChange: (leader) => {
      if (leader === null) return events.emit('leading', {}, 'this daemon is the leader');
      onLost();
      events.emit('standby', { leader }, `standing by: ${leader}`);
    },
  });
}
