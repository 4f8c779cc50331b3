/** Knows what callers tell of requests that they have made elsewhere, and what the log keeps of it. */
import { z } from 'zod';
import { findAiProvider } from '../services/ai-providers.ts';
import { endpointOf } from '../services/endpoint.ts';
import { TraceId } from './feedback.ts';
import { WorkspaceReference } from '../wire/resource-fields.ts';
import { noteUsage, nothingSaid, wholeUsage } from '../pricing/said-usage.ts';

const atOnceMax = 100;
const textCharsMax = 255;
const urlCharsMax = 8192;
const metadataKeysMax = 100;
const metadataCharsMax = 128;
const millisecondsMax = 2 ** 31 - 1;

const Headers = z.record(z.string(), z.unknown()).nullable().optional();
/** Read for the model and for what was used; no part of the log. */
const Body = z.unknown().optional();
const MetadataValue = z.union([
  z.string().max(metadataCharsMax),
  z.number(),
  z.boolean(),
  z.null(),
]);

const Entry = z.object({
  request: z.object({
    url: z.string().max(urlCharsMax).nullable().optional(),
    method: z.string().max(16).nullable().optional(),
    /** A service, or a name that only the caller knows. */
    provider: z.string().min(1).max(textCharsMax).nullable().optional(),
    ...{ headers: Headers, body: Body },
  }),
  response: z.object({
    status: z.int().min(100).max(599).default(200),
    ...{ headers: Headers, body: Body },
    /** Milliseconds. */
    response_time: z.number().min(0).max(millisecondsMax).nullable().optional(),
    streamingMode: z.boolean().nullable().optional(),
  }),
  metadata: z
    .record(z.string().min(1).max(metadataCharsMax), MetadataValue)
    .refine((told) => Object.keys(told).length <= metadataKeysMax, {
      error: `must have at most ${metadataKeysMax} keys`,
    })
    .refine((told) => TraceId.optional().safeParse(traceIdIn(told)).success, {
      path: ['traceId'],
      error: 'must be 1 to 128 visible ASCII characters',
    })
    .nullable()
    .optional(),
  workspace_id: WorkspaceReference.nullable().optional(),
});
export type ReportedLog = z.infer<typeof Entry>;

/** Body of POST /logs: one request, or several at once. */
export const ReportedLogs = z.union([Entry, z.array(Entry).min(1).max(atOnceMax)]);
export type ReportedLogs = z.infer<typeof ReportedLogs>;

/** As the log says it. */
export function keptOf({ request, response, metadata }: ReportedLog) {
  const said = nothingSaid();
  noteUsage(said, response.body);
  const endpoint = endpointOf(pathBehindV1(request.url ?? ''));
  const provider = request.provider ?? null;
  const model = cut(modelIn(request.body) ?? said.model);
  const answered = cut(said.model);
  const { traceId, trace_id: _, user, ...rest } = withoutNulls(metadata ?? {});
  return {
    /** By its slug; null for none that is known. */
    service: provider === null ? null : (findAiProvider(provider)?.slug ?? null),
    ...{ endpoint, provider, model, status: response.status },
    answeredModel: answered === model ? null : answered,
    durationMs: Math.round(response.response_time ?? 0),
    isStream: response.streamingMode === true,
    usage: wholeUsage(said, endpoint !== 'embeddings'),
    traceId: traceIdIn(metadata ?? {}) ?? null,
    // By which the log, its sums and its filters know who has asked.
    metadata: user === undefined ? rest : { _user: user, ...rest },
  };
}

function traceIdIn(told: Readonly<Record<string, unknown>>): string | undefined {
  const named = told.traceId ?? told.trace_id ?? undefined;
  return named as string | undefined;
}

function withoutNulls(told: NonNullable<ReportedLog['metadata']>) {
  const said = Object.entries(told).filter(([, value]) => value !== null);
  return Object.fromEntries(said) as Record<string, string | number | boolean>;
}

function modelIn(body: unknown): string | null {
  const model = typeof body === 'object' && body !== null && 'model' in body ? body.model : null;
  return typeof model === 'string' ? model : null;
}

/** Of an address, or of a path. */
function pathBehindV1(url: string): string {
  const path = url.replace(/^\w+:\/\/[^/?#]*/, '').replace(/[?#].*$/s, '');
  return path.slice(path.lastIndexOf('/v1/') < 0 ? 0 : path.lastIndexOf('/v1/') + 3);
}

function cut(text: string | null): string | null {
  return text === null ? null : text.slice(0, textCharsMax);
}
