/** Collects the Prometheus metrics of this process. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { z } from 'zod';
import type { CredentialOrigin, RefusedCredential } from '../auth/refused-credentials.ts';
import type { SharedClock } from '../clock.ts';
import type { RequestLogFigures } from '../gateway/logs/request-log.ts';
import type { RequestRecord } from '../gateway/logs/request-record.ts';
import type { SpanFigures } from '../gateway/logs/span-export.ts';
import type { SessionFigures } from '../gateway/realtime/open-sessions.ts';
import { RawReply, type Route, route } from '../http/routes/route.ts';
import type { FinishedRequest } from '../http/server/access-log.ts';
import type { JobOutcome } from '../jobs/runner/job-run.ts';
import type { DropReason } from '../mcp/messages/expected-messages.ts';
import type { McpObservation } from '../mcp/plane/plane-services.ts';
import { cancelledStatus } from '../model/logs/request-log.ts';
import { providerAddresses } from '../model/services/provider-addresses.ts';
import type { RunningSnapshot } from '../snapshot/open-snapshot.ts';
import type { SpoolFigures } from '../spool/spool.ts';
import type { Changes } from './outages/changes.ts';
import {
  type DatabaseFigures,
  showControlPlane,
  showDatabase,
} from './outages/database-metrics.ts';
import type { LinkState } from './outages/link-state.ts';
import { showSnapshot } from './outages/snapshot-metrics.ts';
import { GenAiMetrics } from './request-metrics/gen-ai-metrics.ts';
import { GuardrailMetrics } from './request-metrics/guardrail-metrics.ts';
import { McpMetrics } from './request-metrics/mcp-metrics.ts';
import { TallyHistogram } from './request-metrics/tally-histogram.ts';
import { showSpool } from './spool/spool-metrics.ts';

/** `inference`: model requests. `mcp`: discovery and calls of MCP servers. `jobs`: jobs that call providers. */
export type SecretReader = 'inference' | 'mcp' | 'jobs';

/** `background`: work that no caller waits for. */
type UnexpectedErrorOrigin = 'admin' | 'inference' | 'mcp' | 'link' | 'metrics' | 'background';

export interface Metrics {
  /** Starts the collection of process metrics, which takes long to set up. */
  observeProcess(): void;
  observeRequest(exchange: FinishedRequest): void;
  observeInference(entry: RequestRecord): void;
  /** Counts the verdicts of guardrails on a request or an MCP call. */
  observeGuardrails(entry: RequestRecord): void;
  /** Shows the open realtime sessions and their events from now on. */
  showRealtime(figures: () => SessionFigures): void;
  observeMcp(finished: McpObservation): void;
  observeMcpDropped(reason: DropReason): void;
  /** Counts a probe for the protocol era of an MCP server. */
  observeEraProbe(result: 'legacy' | 'modern' | 'failed'): void;
  observeRefused(refused: RefusedCredential, server: CredentialOrigin['server']): void;
  /** Counts input that was rejected before it became a request, by listener. */
  observeRefusedBytes(status: number, server: string): void;
  /** Counts an error that no rule foresees, by the listener or work that it ended. */
  observeUnexpectedError(origin: UnexpectedErrorOrigin): void;
  /** Counts a value read from a secret manager. */
  observeSecretRead(reader: SecretReader): void;
  /** Counts one run of a job in this process. */
  observeJob(run: Pick<JobOutcome, 'name' | 'state' | 'durationMs'>): void;
  /** `GET /metrics`, for the metrics listener. */
  readonly routes: readonly Route<null>[];
}

/** Seconds: Admin API calls take milliseconds, or up to the timeout of the database. */
const durationBuckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Seconds: model responses can take minutes. */
const inferenceBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export function createMetrics(sources: {
  readonly version: string;
  /** The database of this process, or of its region; null for none. */
  readonly database: DatabaseFigures | null;
  /** Null for a process that has the database of the control plane. */
  readonly controlPlane: Pick<LinkState, 'isAway'> | null;
  readonly clock: Pick<SharedClock, 'measure'>;
  readonly requestLog: { figures(): RequestLogFigures };
  /** Null when tracing is off. */
  readonly spanExport: { figures(): SpanFigures } | null;
  /** Null when no snapshot is kept. */
  readonly snapshot: Pick<RunningSnapshot, 'figures'> | null;
  readonly changes: Pick<Changes, 'propagation'>;
  /** Null when no folder is set. */
  readonly spool: { figures(): SpoolFigures } | null;
}): Metrics {
  const register = new Registry();
  const requests = new Histogram({
    name: 'gatewright_http_request_duration_seconds',
    help: 'Time from the first header to the last byte, by route pattern',
    labelNames: ['method', 'route', 'status'],
    buckets: durationBuckets,
    registers: [register],
  });
  const jobRuns = new Histogram({
    name: 'gatewright_job_duration_seconds',
    help: 'Time of job runs of this process, by outcome',
    labelNames: ['job', 'state'],
    buckets: [0.01, 0.1, 1, 10, 60, 600],
    registers: [register],
  });
  new Gauge({
    name: 'gatewright_build_info',
    help: 'Always 1; the labels show the version',
    labelNames: ['version', 'node'],
    registers: [register],
  }).set({ version: sources.version, node: process.version }, 1);
  if (sources.database !== null) showDatabase(register, sources.database);
  if (sources.controlPlane !== null) showControlPlane(register, sources.controlPlane);
  showClock(register, sources.clock);
  showRequestLog(register, sources.requestLog);
  if (sources.spool !== null) showSpool(register, sources.spool);
  if (sources.spanExport !== null) showSpanExport(register, sources.spanExport);
  if (sources.snapshot !== null) showSnapshot(register, sources.snapshot);
  register.registerMetric(sources.changes.propagation);
  return {
    observeProcess: () => collectDefaultMetrics({ register }),
    observeRequest: ({ method, route: pattern, status, durationMs }) => {
      requests.observe({ method, route: pattern, status }, durationMs / 1000);
    },
    ...measureInference(register),
    showRealtime: (figures) => showRealtime(register, figures),
    ...measureMcp(register),
    ...countRefused(register),
    observeJob: ({ name, state, durationMs }) => {
      jobRuns.observe({ job: name, state }, durationMs / 1000);
    },
    routes: [metricsRoute(register)],
  };
}

function measureInference(
  register: Registry,
): Pick<Metrics, 'observeInference' | 'observeGuardrails'> {
  const inference = new TallyHistogram({
    name: 'gatewright_inference_request_duration_seconds',
    help: 'Time of inference requests from the first header to the last byte, by endpoint',
    labelNames: ['endpoint', 'status'],
    buckets: inferenceBuckets,
    register,
  });
  const firstBytes = new TallyHistogram({
    name: 'gatewright_inference_first_byte_seconds',
    help: 'Time of inference requests from the first header to the first byte of the response',
    labelNames: ['endpoint'],
    buckets: inferenceBuckets,
    register,
  });
  const guardrails = new GuardrailMetrics(register);
  const selections = new Counter({
    name: 'gatewright_target_selections_total',
    help: 'Inference requests whose target a strategy selected: latency, cost, probe, fallback, context_window or hedge',
    labelNames: ['selection', 'service'],
    registers: [register],
  });
  const hedges = new Counter({
    name: 'gatewright_hedged_requests_total',
    help: 'Inference requests for which a second request was sent, which won or lost',
    labelNames: ['result'],
    registers: [register],
  });
  const genAi = new GenAiMetrics(register);
  return {
    observeGuardrails: (entry) => guardrails.observe(entry),
    observeInference: (entry) => {
      const hasCancelled = entry.earlierAttempts.some(({ status }) => status === cancelledStatus);
      if (entry.targetSelection === 'hedge') hedges.inc({ result: 'won' });
      else if (hasCancelled) hedges.inc({ result: 'lost' });
      const { endpoint, status, durationMs, firstByteMs, targetSelection } = entry;
      if (targetSelection !== null) {
        // Callers can name any service, so only known ones have a label of their own.
        const isKnown = entry.service !== null && Object.hasOwn(providerAddresses, entry.service);
        selections.inc({ selection: targetSelection, service: isKnown ? entry.service! : 'other' });
      }
      inference.note(durationMs / 1000, endpoint, String(status));
      if (firstByteMs !== null) firstBytes.note(firstByteMs / 1000, endpoint);
      genAi.observe(entry);
    },
  };
}

function showRealtime(register: Registry, figures: () => SessionFigures): void {
  new Gauge({
    name: 'gatewright_realtime_sessions',
    help: 'Open realtime sessions of this process',
    registers: [register],
    collect() {
      this.set(figures().open);
    },
  });
  new Counter({
    name: 'gatewright_realtime_events_total',
    help: 'Messages of realtime sessions by the side that sent them: caller or provider',
    labelNames: ['side'],
    registers: [register],
    collect() {
      const { callerEvents, providerEvents } = figures();
      this.reset();
      this.inc({ side: 'caller' }, callerEvents);
      this.inc({ side: 'provider' }, providerEvents);
    },
  });
}

function measureMcp(
  register: Registry,
): Pick<Metrics, 'observeMcp' | 'observeMcpDropped' | 'observeEraProbe'> {
  const mcp = new McpMetrics(register);
  const dropped = new Counter({
    name: 'gatewright_mcp_dropped_messages_total',
    help: 'Messages of MCP servers that belong to no request of the caller, by reason',
    labelNames: ['reason'],
    registers: [register],
  });
  const probes = new Counter({
    name: 'gatewright_mcp_era_probes_total',
    help: 'Probes for the protocol era of MCP servers, by result',
    labelNames: ['result'],
    registers: [register],
  });
  return {
    observeEraProbe: (result) => probes.inc({ result }),
    observeMcpDropped: (reason) => dropped.inc({ reason }),
    observeMcp: (finished) => mcp.observe(finished),
  };
}

function countRefused(
  register: Registry,
): Pick<
  Metrics,
  'observeRefused' | 'observeRefusedBytes' | 'observeSecretRead' | 'observeUnexpectedError'
> {
  const refused = new Counter({
    name: 'gatewright_refused_credentials_total',
    help: 'Rejected credentials by listener, kind and reason',
    labelNames: ['server', 'credential', 'reason'],
    registers: [register],
  });
  const refusedBytes = new Counter({
    name: 'gatewright_refused_bytes_total',
    help: 'Input rejected before it was parsed as a request, by listener and status',
    labelNames: ['server', 'status'],
    registers: [register],
  });
  const reads = new Counter({
    name: 'gatewright_secret_reads_total',
    help: 'Values that were read from secret managers, by what needed them',
    labelNames: ['reader'],
    registers: [register],
  });
  const unexpected = new Counter({
    name: 'gatewright_unexpected_errors_total',
    help: 'Errors that no rule foresees; each ended one request with 500, or one piece of work',
    labelNames: ['origin'],
    registers: [register],
  });
  return {
    observeUnexpectedError: (origin) => unexpected.inc({ origin }),
    observeRefused: ({ credential, reason }, server) => refused.inc({ server, credential, reason }),
    observeRefusedBytes: (status, server) => refusedBytes.inc({ server, status }),
    observeSecretRead: (reader) => reads.inc({ reader }),
  };
}

function showRequestLog(register: Registry, requestLog: { figures(): RequestLogFigures }): void {
  new Counter({
    name: 'gatewright_request_log_requests_total',
    help: 'Requests for models by what became of their row in the log: written, or lost',
    labelNames: ['outcome'],
    registers: [register],
    collect() {
      const { written, lost } = requestLog.figures();
      this.reset();
      this.inc({ outcome: 'written' }, written);
      this.inc({ outcome: 'lost' }, lost);
    },
  });
  new Gauge({
    name: 'gatewright_request_log_waiting',
    help: 'Model requests whose log entry is not written yet',
    registers: [register],
    collect() {
      this.set(requestLog.figures().waiting);
    },
  });
}

function showSpanExport(register: Registry, spanExport: { figures(): SpanFigures }): void {
  new Counter({
    name: 'gatewright_trace_spans_total',
    help: 'Spans of requests for models by what became of them: exported, or lost',
    labelNames: ['outcome'],
    registers: [register],
    collect() {
      const { exported, lost } = spanExport.figures();
      this.reset();
      this.inc({ outcome: 'exported' }, exported);
      this.inc({ outcome: 'lost' }, lost);
    },
  });
  new Gauge({
    name: 'gatewright_trace_spans_waiting',
    help: 'Spans of requests for models that the collector has not taken yet',
    registers: [register],
    collect() {
      this.set(spanExport.figures().waiting);
    },
  });
}

function showClock(register: Registry, clock: Pick<SharedClock, 'measure'>): void {
  new Gauge({
    name: 'gatewright_clock_deviation_seconds',
    help: 'Lead of the clock of this process over the database, within the measurement error',
    registers: [register],
    async collect() {
      this.remove();
      try {
        this.set((await clock.measure()).deviationMs / 1000);
      } catch {
        // While the database is unreachable, no value is better than an old one.
      }
    },
  });
}

function metricsRoute(register: Registry): Route<null> {
  return route({
    method: 'GET',
    path: '/metrics',
    mounts: { root: ['none'] },
    summary: 'Figures in the Prometheus text format',
    response: z.string(),
    handle: async () =>
      new RawReply(200, await register.metrics(), { 'content-type': register.contentType }),
  });
}
