/** Measures MCP requests by method and status, and their messages under the names of OpenTelemetry's conventions. */
import type { Registry } from 'prom-client';
import type { McpObservation } from '../../mcp/plane/plane-services.ts';
import type { TracedMessage } from '../../mcp/telemetry/mcp-spans.ts';
import { type Tally, TallyHistogram } from './tally-histogram.ts';

/** Methods with a label of their own; callers choose names freely. */
const mcpMethods: ReadonlySet<string> = new Set([
  'completion/complete',
  'end',
  'initialize',
  'ping',
  'prompts/get',
  'prompts/list',
  'resources/list',
  'resources/read',
  'resources/templates/list',
  'server/discover',
  'stream',
  'subscriptions/listen',
  'tools/call',
  'tools/list',
]);
/** Tools with a label of their own; the rest is counted as `other`. */
const toolsMax = 200;
const toolCharsMax = 128;

/** Seconds: calls of tools can take minutes. */
const requestBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** Bounds that the conventions recommend. */
const operationBuckets = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const operationLabels = ['mcp_method_name', 'gen_ai_tool_name', 'error_type'];

export class McpMetrics {
  readonly #requests: TallyHistogram;
  readonly #operations: TallyHistogram;
  readonly #calls: TallyHistogram;
  readonly #tallies = new Map<string, readonly [operation: Tally, call: Tally]>();
  readonly #tools = new Set<string>();

  constructor(register: Registry) {
    this.#requests = new TallyHistogram({
      name: 'gatewright_mcp_request_duration_seconds',
      help: 'Time of MCP requests from the first header to the last byte, by method',
      labelNames: ['method', 'status'],
      buckets: requestBuckets,
      register,
    });
    this.#operations = new TallyHistogram({
      name: 'mcp_server_operation_duration_seconds',
      help: 'Time of MCP messages from the first header to the last byte, refused ones included',
      labelNames: operationLabels,
      buckets: operationBuckets,
      register,
    });
    this.#calls = new TallyHistogram({
      name: 'mcp_client_operation_duration_seconds',
      help: 'Time of MCP messages at their server, from their sending to the last byte',
      labelNames: operationLabels,
      buckets: operationBuckets,
      register,
    });
  }

  observe({ method, status, durationMs, serverMs, messages }: McpObservation): void {
    this.#requests.note(durationMs / 1000, labelOf(method), String(status));
    for (const message of messages) {
      const [operation, call] = this.#talliesOf(message);
      operation.note(durationMs / 1000);
      if (serverMs !== null) call.note(serverMs / 1000);
    }
  }

  #talliesOf({ method, name, errorType }: TracedMessage): readonly [Tally, Tally] {
    const tool = method === 'tools/call' ? name : null;
    const labels = [labelOf(method), this.#toolOf(tool, errorType), errorType ?? ''];
    const key = labels.join('\n');
    const known = this.#tallies.get(key);
    if (known !== undefined) return known;
    const tallies = [
      this.#operations.createTally(labels),
      this.#calls.createTally(labels),
    ] as const;
    this.#tallies.set(key, tallies);
    return tallies;
  }

  /** Only a successful call gives a tool a label of its own, so that unknown names do not use them up. */
  #toolOf(tool: string | null, errorType: string | null): string {
    if (tool === null) return '';
    const name = tool.slice(0, toolCharsMax);
    if (this.#tools.has(name)) return name;
    if (errorType !== null || this.#tools.size >= toolsMax) return 'other';
    this.#tools.add(name);
    return name;
  }
}

function labelOf(method: string): string {
  return mcpMethods.has(method) ? method : 'other';
}
