/** Encodes attributes and times of spans as OTLP JSON, and requests to a collector. */

/** The service that sends the spans. */
export interface SpanSource {
  readonly name: string;
  readonly version: string;
}

/** Spans of one finished request, which are encoded when they are sent. */
export interface SpanEntry {
  readonly count: number;
  readonly encode: () => object[];
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean | null>>;

export const spanKinds = { server: 2, client: 3 } as const;
export const failed = { code: 2 };
/** Span flags: the location of the parent is known, and whether it is remote. */
export const parentFlags = { local: 0x100, remote: 0x300 } as const;
/** Bounds names that callers and configs choose. */
const textCharsMax = 256;

/** The body of a request to a collector. */
export function exportRequest(source: SpanSource, entries: readonly SpanEntry[]): Buffer {
  const resource = { 'service.name': source.name, 'service.version': source.version };
  const spans = entries.flatMap((one) => one.encode());
  const scope = { name: 'gatewright', version: source.version };
  const resourceSpans = [
    { resource: { attributes: listed(resource) }, scopeSpans: [{ scope, spans }] },
  ];
  return Buffer.from(JSON.stringify({ resourceSpans }));
}

/** Converts to nanoseconds since the epoch. `startedAt` in milliseconds since the epoch, the others relative to it. */
export function times(startedAt: number, beganMs: number, endedMs: number) {
  return {
    startTimeUnixNano: nanoseconds(startedAt + beganMs),
    endTimeUnixNano: nanoseconds(startedAt + Math.max(beganMs, endedMs)),
  };
}

/** Rounds to microseconds, which a number represents exactly. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1000)}000`;
}

/** Lists the attributes that have a value. */
export function listed(attributes: SpanAttributes): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === null ? [] : [{ key, value: attributeValue(key, value) }],
  );
}

/** SpanAttributes that are doubles by the conventions, even for whole values. */
const doubles = new Set([
  ...['temperature', 'top_p', 'top_k', 'frequency_penalty', 'presence_penalty'].map(
    (name) => `gen_ai.request.${name}`,
  ),
  'gen_ai.response.time_to_first_chunk',
]);

function attributeValue(key: string, value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: cut(value) };
  if (typeof value === 'boolean') return { boolValue: value };
  // Collectors reject a whole batch when one integer exceeds 64 bits.
  const isWhole = Number.isSafeInteger(value) && !doubles.has(key);
  return isWhole ? { intValue: String(value) } : { doubleValue: value };
}

/** Truncates without leaving half a surrogate pair, which is invalid UTF-8. */
export function cut(text: string): string {
  return text.slice(0, textCharsMax).toWellFormed();
}
