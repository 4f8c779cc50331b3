/** Collects the Prometheus metrics of a daemon; all labels have a fixed set of values. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { FailureKind } from '../../failure.ts';
import { syncStates } from '../../model/kinds/sync-record.ts';
import type { LoopEvent } from '../status/loop-event.ts';
import type { LoopStatus } from '../status/sync-state.ts';
import type { WebhookForm } from './webhook.ts';

/** The channels by which receivers other than the server are notified. */
export type DeliveryChannel = 'commit-status' | 'notification' | 'kubernetes-status';

export interface SyncMetrics {
  /**
   * `lagMs` is the time from the first look at a version to its being applied; null if none was
   * applied.
   */
  observe(event: LoopEvent, lagMs: number | null): void;
  /** Counts a look that failed. */
  observeFailure(ending: FailureKind): void;
  observeWebhook(form: WebhookForm | 'unknown', outcome: 'due' | 'ignored' | 'refused'): void;
  observeDelivery(channel: DeliveryChannel, outcome: 'delivered' | 'failed'): void;
  /** Returns the metrics in the Prometheus text format, with its content type. */
  readonly show: () => Promise<{ readonly text: string; readonly contentType: string }>;
}

export interface MetricSources {
  readonly version: string;
  readonly standing: () => LoopStatus;
  /** Whether the server reported a suspension with the last status report. */
  readonly isSuspended: () => boolean;
  /** Number of requests to the server since the start. */
  readonly requests: () => number;
}

/** Seconds; an idle cycle takes milliseconds, a first apply minutes. */
const durationBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

export function createSyncMetrics(sources: MetricSources): SyncMetrics {
  const registers = [new Registry()];
  const [register] = registers as [Registry];
  // A higher precision would wake an idle process a hundred times a second.
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: 1_000 });
  const cycles = new Histogram({
    name: 'gatewright_sync_cycle_duration_seconds',
    help: 'Duration of cycles and drift passes, by ending',
    labelNames: ['ending'],
    buckets: durationBuckets,
    registers,
  });
  const lag = new Histogram({
    name: 'gatewright_sync_lag_seconds',
    help: 'Time from the first look at a version to its being applied',
    buckets: durationBuckets,
    registers,
  });
  const changes = new Counter({
    name: 'gatewright_sync_changes_total',
    help: 'Changes carried out',
    labelNames: ['kind', 'action'],
    registers,
  });
  const failures = new Counter({
    name: 'gatewright_sync_failures_total',
    help: 'Looks and cycles that failed, by ending',
    labelNames: ['ending'],
    registers,
  });
  const webhooks = new Counter({
    name: 'gatewright_sync_webhooks_total',
    help: 'Webhooks by form and outcome',
    labelNames: ['form', 'outcome'],
    registers,
  });
  const deliveries = new Counter({
    name: 'gatewright_sync_deliveries_total',
    help: 'Commit statuses, notifications and Kubernetes statuses by outcome',
    labelNames: ['channel', 'outcome'],
    registers,
  });
  new Gauge({
    name: 'gatewright_build_info',
    help: 'Always 1; the labels give the version',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version: sources.version, node: process.version }, 1);
  showStanding(registers, sources);
  return {
    observe: (event, lagMs) => {
      if (event.kind === 'failure') return;
      const { result, durationMs } = event;
      cycles.observe({ ending: result.ending }, durationMs / 1000);
      if (lagMs !== null) lag.observe(lagMs / 1000);
      if (event.kind === 'drift') return;
      if (result.ending !== 'success') failures.inc({ ending: result.ending });
      for (const { kind, action, status } of result.report?.items ?? []) {
        if (status === 'done') changes.inc({ kind, action });
      }
    },
    observeFailure: (ending) => failures.inc({ ending }),
    observeWebhook: (form, outcome) => webhooks.inc({ form, outcome }),
    observeDelivery: (channel, outcome) => deliveries.inc({ channel, outcome }),
    show: async () => ({ text: await register.metrics(), contentType: register.contentType }),
  };
}

/** Reads the status on every scrape. */
function showStanding(
  registers: Registry[],
  { standing, isSuspended, requests }: MetricSources,
): void {
  const gauge = (name: string, help: string, read: (now: LoopStatus) => number | null): void => {
    new Gauge({
      name: `gatewright_sync_${name}`,
      help,
      registers,
      collect() {
        this.reset();
        const value = read(standing());
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  };
  gauge(
    'drift_resources',
    'Resources that others changed and nobody has restored',
    (now) => now.driftCount,
  );
  gauge('leading', '1 while this daemon leads, 0 while it stands by', (now) =>
    Number(now.isLeading),
  );
  gauge('suspended', '1 while the server reports a suspension', (now) =>
    Number(now.state === 'Suspended' || isSuspended()),
  );
  gauge('last_success_timestamp_seconds', 'Time of the last complete success', (now) =>
    now.lastSuccessAt === null ? null : now.lastSuccessAt / 1000,
  );
  new Gauge({
    name: 'gatewright_sync_state',
    help: '1 for the current state, else 0',
    labelNames: ['state'],
    registers,
    collect() {
      const { state } = standing();
      for (const name of syncStates) this.set({ state: name }, Number(name === state));
    },
  });
  new Gauge({
    name: 'gatewright_sync_revision_info',
    help: 'Always 1; the labels give the commit or digest seen and applied last',
    labelNames: ['seen', 'applied'],
    registers,
    collect() {
      this.reset();
      const { seen, applied } = standing();
      if (seen !== null) this.set({ seen, applied: applied ?? '' }, 1);
    },
  });
  new Counter({
    name: 'gatewright_sync_requests_total',
    help: 'HTTP requests to the server, including token requests and retries',
    registers,
    collect() {
      this.reset();
      this.inc(requests());
    },
  });
}
