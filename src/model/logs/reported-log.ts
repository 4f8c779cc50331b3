/** Defines log entries that callers report for requests made elsewhere, and converts them to rows. */
import { z } from 'zod';
import { endpointOf } from '../endpoints/catalogue.ts';
import { addReportedUsage, completeUsage, newReportedUsage } from '../pricing/reported-usage.ts';
import { findAiProvider } from '../services/ai-providers.ts';
import { WorkspaceReference } from '../wire/resource-fields.ts';
import { TraceId } from './feedback.ts';

const atOnceMax = 100;
const textCharsMax = 255;
const urlCharsMax = 8192;
const metadataKeysMax = 100;
const metadataCharsMax = 128;
const millisecondsMax = 2 ** 31 - 1;

const Headers = z.record(z.string(), z.unknown()).nullable().optional();
/** Read for the model and the usage only; never stored. */
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
    /** A known service, or a name of the caller's own. */
    provider: z.string().min(1).max(textCharsMax).nullable().optional(),
    headers: Headers,
    body: Body,
  }),
  response: z.object({
    status: z.int().min(100).max(599).default(200),
    headers: Headers,
    body: Body,
    /** Milliseconds. */
    response_time: z.number().min(0).max(millisecondsMax).nullable().optional(),
    streamingMode: z.boolean().nullable().optional(),
  }),
  metadata: z
    .record(z.string().min(1).max(metadataCharsMax), MetadataValue)
    .refine((metadata) => Object.keys(metadata).length <= metadataKeysMax, {
      error: `must have at most ${metadataKeysMax} keys`,
    })
    .refine((metadata) => TraceId.optional().safeParse(traceIdIn(metadata)).success, {
      path: ['traceId'],
      error: 'must be 1 to 128 visible ASCII characters',
    })
    .nullable()
    .optional(),
  workspace_id: WorkspaceReference.nullable().optional(),
});
export type ReportedLog = z.infer<typeof Entry>;

/** Body of POST /logs: one entry or a list of entries. */
export const ReportedLogs = z.union([Entry, z.array(Entry).min(1).max(atOnceMax)]);
export type ReportedLogs = z.infer<typeof ReportedLogs>;

/** The values of a reported request that the log stores. */
export function toLogValues({ request, response, metadata }: ReportedLog) {
  const reported = newReportedUsage();
  addReportedUsage(reported, response.body);
  const endpoint = endpointOf(pathBehindV1(request.url ?? ''));
  const provider = request.provider ?? null;
  const model = cut(modelIn(request.body) ?? reported.model);
  const answered = cut(reported.model);
  const { traceId, trace_id: _, user, ...rest } = withoutNulls(metadata ?? {});
  return {
    /** Slug of the service; null if it is unknown. */
    service: provider === null ? null : (findAiProvider(provider)?.slug ?? null),
    endpoint,
    provider,
    model,
    status: response.status,
    answeredModel: answered === model ? null : answered,
    durationMs: Math.round(response.response_time ?? 0),
    isStream: response.streamingMode === true,
    usage: completeUsage(reported, endpoint !== 'embeddings'),
    traceId: traceIdIn(metadata ?? {}) ?? null,
    // The log, its totals and its filters identify the end user by `_user`.
    metadata: user === undefined ? rest : { _user: user, ...rest },
  };
}

function traceIdIn(metadata: Readonly<Record<string, unknown>>): string | undefined {
  const traceId = metadata.traceId ?? metadata.trace_id ?? undefined;
  return traceId as string | undefined;
}

function withoutNulls(metadata: NonNullable<ReportedLog['metadata']>) {
  const entries = Object.entries(metadata).filter(([, value]) => value !== null);
  return Object.fromEntries(entries) as Record<string, string | number | boolean>;
}

function modelIn(body: unknown): string | null {
  const model = typeof body === 'object' && body !== null && 'model' in body ? body.model : null;
  return typeof model === 'string' ? model : null;
}

/** Accepts a URL or a path. */
function pathBehindV1(url: string): string {
  const path = url.replace(/^\w+:\/\/[^/?#]*/, '').replace(/[?#].*$/s, '');
  const gemini = path.lastIndexOf('/v1beta/');
  if (gemini >= 0) return path.slice(gemini);
  return path.slice(path.lastIndexOf('/v1/') < 0 ? 0 : path.lastIndexOf('/v1/') + 3);
}

function cut(text: string | null): string | null {
  return text === null ? null : text.slice(0, textCharsMax);
}
