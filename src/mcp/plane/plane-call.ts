/** Collects what the log entry of one call needs: a tools/call, prompts/get or resources/read, or any other message. */
import type { GatewayKey } from '../../gateway/callers/gateway-key.ts';
import type { Metadata } from '../../gateway/callers/metadata.ts';
import type { RequestRecord } from '../../gateway/logs/request-record.ts';
import { addJudgement, nothingJudged } from '../../guardrails/check-records.ts';
import { type GuardrailVerdict, worseVerdict } from '../../model/logs/request-log.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { TextVerdict } from '../judging/judge-texts.ts';
import { type NamedCapability, namedCapability } from '../messages/capability-rules.ts';
import type { PlaneFault } from '../messages/plane-fault.ts';
import type { ClientMessage } from '../messages/read-messages.ts';
import type { ServerError } from '../messages/server-errors.ts';
import type { CallState } from '../rounds/call-states.ts';
import type { ReservedCall } from './call-limits.ts';
import type { PlaneServer } from './plane-server.ts';
import type { McpArrival } from './plane-services.ts';

/** Calls that have an entry in the request log. */
const loggedMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

export class PlaneCall {
  readonly message: ClientMessage;
  /** The capability that the message names; null for none. */
  readonly named: NamedCapability | null;
  /** The state that this call continues; null for a new call. */
  readonly retried: CallState | null;
  reserved: ReservedCall | null = null;
  verdict: GuardrailVerdict | null = null;
  judged = nothingJudged;
  /** Error that the caller receives; null while there is none. */
  fault: Pick<PlaneFault, 'code' | 'rpcCode' | 'message' | 'data'> | null = null;
  /** Error that the server has reported; null for none, or an unknown one. */
  serverError: ServerError | null = null;

  constructor(message: ClientMessage, retried: CallState | null = null) {
    this.message = message;
    this.retried = retried;
    this.named = namedCapability(message);
  }

  get isLogged(): boolean {
    return loggedMethods.has(this.message.method);
  }

  /** Whether the response is a stream of notices without an end of its own. */
  get isOpenEnded(): boolean {
    return this.message.method === 'subscriptions/listen';
  }

  get isToolCall(): boolean {
    return this.message.method === 'tools/call';
  }

  /** The worst of several verdicts counts. */
  noteVerdict(noted: Pick<TextVerdict, 'verdict' | 'verdicts' | 'checks'>): void {
    this.verdict = worseVerdict(this.verdict, noted.verdict);
    this.judged = addJudgement(this.judged, noted);
  }
}

export interface FinishedCall {
  readonly arrival: McpArrival;
  readonly key: GatewayKey;
  readonly server: PlaneServer;
  readonly metadata: Metadata;
  readonly status: number;
  readonly isStream: boolean;
}

/** The log entry of a finished call. */
export function recordOf(call: PlaneCall, finished: FinishedCall): RequestRecord {
  const { arrival, key, server, metadata, status, isStream } = finished;
  return {
    id: arrival.id,
    startedAt: arrival.now,
    durationMs: monotonicMs() - arrival.beganMs,
    firstByteMs: null,
    organisationId: key.organisationId,
    workspaceId: server.workspaceId,
    apiKeyId: key.id,
    configId: null,
    promptSlug: null,
    endpoint: call.message.method,
    status,
    provider: null,
    service: null,
    requestedModel: null,
    model: null,
    answeredModel: null,
    targetPath: null,
    retries: 0,
    cacheStatus: null,
    guardrailVerdict: call.verdict,
    guardrails: call.judged.verdicts,
    guardrailChecks: call.judged.checks,
    isStream,
    tokens: null,
    costUnits: null,
    isEstimated: false,
    priceOrigin: null,
    openCharge: null,
    earlierAttempts: [],
    errorCode: call.fault?.code ?? call.serverError?.code ?? null,
    droppedMembers: [],
    targetSelection: null,
    mcp: { server: server.slug, name: call.named?.name ?? null },
    metadata,
  };
}
