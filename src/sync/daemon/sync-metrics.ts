/** Knows the figures that a daemon shows to Prometheus; no label takes more values than there are words for it here. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { FailureKind } from '../../failure.ts';
import { syncStates } from '../../model/kinds/sync-record.ts';
import type { WatchEvent } from '../status/loop-event.ts';
import type { Standing } from '../status/sync-state.ts';
import type { WebhookForm } from './webhook.ts';

/** By which others than the server are told. */
export type Channel = 'commit-status' | 'notification' | 'kubernetes-status';

export interface SyncMetrics {
  /** `lagMs` from the first look at a version to its being applied, null for what applied none. */
  observe(event: WatchEvent, lagMs: number | null): void;
  /** A look that came to nothing. */
  observeFailure(ending: FailureKind): void;
  observeWebhook(form: WebhookForm | 'unknown', outcome: 'due' | 'ignored' | 'refused'): void;
  observeDelivery(channel: Channel, outcome: 'delivered' | 'failed'): void;
  /** In the Prometheus text format, with its content type. */
  readonly show: () => Promise<{ readonly text: string; readonly contentType: string }>;
}

export interface MetricSources {
  readonly version: string;
  readonly standing: () => Standing;
  /** Whether the server said so the last time it was told something. */
  readonly isSuspended: () => boolean;
  /** Requests to the server since the start. */
  readonly requests: () => number;
}

/** Seconds: an idle cycle takes milliseconds, a first apply minutes. */
const durationBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

export function createSyncMetrics(sources: MetricSources): SyncMetrics {
  const registers = [new Registry()];
  const [register] = registers as [Registry];
  // A finer watch over the loop of events would wake an idle process a hundred times a second.
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: 1_000 });
  const cycles = new Histogram({
    name: 'gatewright_sync_cycle_duration_seconds',
    help: 'Time of a cycle or of a pass for drift, by what came of it',
    labelNames: ['ending'],
    buckets: durationBuckets,
    registers,
  });
  const lag = new Histogram({
    name: 'gatewright_sync_lag_seconds',
    help: 'Time from the first look that saw a version to its being applied',
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
    help: 'Looks and cycles that did not end well, by how',
    labelNames: ['ending'],
    registers,
  });
  const webhooks = new Counter({
    name: 'gatewright_sync_webhooks_total',
    help: 'Webhooks by form and by what came of them',
    labelNames: ['form', 'outcome'],
    registers,
  });
  const deliveries = new Counter({
    name: 'gatewright_sync_deliveries_total',
    help: 'Commit statuses, notifications and statuses in Kubernetes by what became of them',
    labelNames: ['channel', 'outcome'],
    registers,
  });
  new Gauge({
    name: 'gatewright_build_info',
    help: 'Always 1; the labels say what runs',
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

/** Read when Prometheus asks, so that nothing has to be kept up to date. */
function showStanding(
  registers: Registry[],
  { standing, isSuspended, requests }: MetricSources,
): void {
  const gauge = (name: string, help: string, read: (now: Standing) => number | null): void => {
    new Gauge({
      ...{ name: `gatewright_sync_${name}`, help, registers },
      collect() {
        this.reset();
        const value = read(standing());
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  };
  gauge('drift_resources', 'What others changed and nobody has undone', (now) => now.driftCount);
  gauge('leading', '1 while this daemon leads, 0 while it stands by', (now) =>
    Number(now.isLeading),
  );
  gauge('suspended', '1 while the server says that nothing is to be written', (now) =>
    Number(now.state === 'Suspended' || isSuspended()),
  );
  gauge('last_success_timestamp_seconds', 'When all was last as the source says', (now) =>
    now.lastSuccessAt === null ? null : now.lastSuccessAt / 1000,
  );
  new Gauge({
    name: 'gatewright_sync_state',
    help: '1 for the state that holds, else 0',
    labelNames: ['state'],
    registers,
    collect() {
      const { state } = standing();
      for (const name of syncStates) this.set({ state: name }, Number(name === state));
    },
  });
  new Gauge({
    name: 'gatewright_sync_revision_info',
    help: 'Always 1; the labels say which commit or digest was seen and applied last',
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
    help: 'HTTP requests to the server, tokens and repeats included',
    registers,
    collect() {
      this.reset();
      this.inc(requests());
    },
  });
}
