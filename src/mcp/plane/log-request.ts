/** Logs a finished request of the MCP gateway, and reports it to metrics and traces. */
import type { GatewayKey } from '../../gateway/callers/gateway-key.ts';
import type { Metadata } from '../../gateway/callers/metadata.ts';
import { monotonicMs } from '../../monotonic.ts';
import { mcpSpans, type TracedMessage, tracedMessages } from '../telemetry/mcp-spans.ts';
import type { McpTrace } from '../telemetry/mcp-trace.ts';
import { type PlaneCall, recordOf } from './plane-call.ts';
import type { PlaneServer } from './plane-server.ts';
import type { McpArrival, PlaneServices } from './plane-services.ts';

interface FinishedRequest {
  readonly key: GatewayKey | null;
  readonly server: PlaneServer | null;
  readonly metadata: Metadata;
  readonly isStream: boolean;
  readonly calls: readonly PlaneCall[];
  readonly trace: McpTrace | null;
  /** Time of the call of the server, on the monotonic clock; null when it was not called. */
  readonly sentMs: number | null;
}

export function logRequest(
  services: Pick<PlaneServices, 'record' | 'observe' | 'spanExport'>,
  arrival: McpArrival,
  finished: FinishedRequest,
): void {
  const { key, server, calls, sentMs } = finished;
  const { request, response, beganMs } = arrival;
  const status = response.statusCode;
  if (key !== null && server !== null) {
    const { metadata, isStream } = finished;
    const logged = { arrival, key, server, metadata, status, isStream };
    for (const call of calls) if (call.isLogged) services.record(recordOf(call, logged));
  }
  const byMethod: Record<string, string> = { GET: 'stream', DELETE: 'end' };
  const method = byMethod[request.method ?? ''] ?? calls[0]?.message.method ?? 'other';
  const endedMs = monotonicMs();
  const durationMs = endedMs - beganMs;
  const serverMs = sentMs === null ? null : endedMs - sentMs;
  const messages = tracedMessages(calls);
  services.observe({ method, status, durationMs, serverMs, messages });
  exportSpans(services, arrival, finished, { durationMs, messages });
}

function exportSpans(
  { spanExport }: Pick<PlaneServices, 'spanExport'>,
  { id, now, beganMs, request }: McpArrival,
  { trace, key, server, sentMs }: FinishedRequest,
  { durationMs, messages }: { durationMs: number; messages: readonly TracedMessage[] },
): void {
  if (spanExport === null || trace === null || key === null || server === null) return;
  const version = request.headers['mcp-protocol-version'];
  const entry = mcpSpans({
    trace,
    requestId: id,
    startedAt: now,
    durationMs,
    version: version === undefined ? null : String(version),
    organisationId: server.organisationId,
    workspaceId: server.workspaceId,
    apiKeyId: key.id,
    server: server.slug,
    messages,
    call: sentMs === null ? null : { origin: server.url.origin, sentMs: sentMs - beganMs },
  });
  spanExport.addEntry(entry);
}
