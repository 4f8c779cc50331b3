/** Parses and formats the W3C Trace Context header `traceparent`. */

/** The span of a caller. */
export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Only the defined flags. */
  readonly flags: number;
}

export const sampledFlag = 1;
/** The trace id is random. */
const randomFlag = 2;

const form = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const noTrace = '0'.repeat(32);
const noSpan = '0'.repeat(16);

/** Null when missing or malformed. */
export function readTraceParent(value: unknown): TraceParent | null {
  const found = typeof value === 'string' ? form.exec(value) : null;
  if (found === null) return null;
  const [, version, traceId, spanId, flags, more] = found;
  // Later versions may append fields; version ff is invalid.
  if (version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (traceId === noTrace || spanId === noSpan) return null;
  const known = Number.parseInt(flags!, 16) & (sampledFlag | randomFlag);
  return { traceId: traceId!, spanId: spanId!, flags: known };
}

export function traceParentText({ traceId, spanId, flags }: TraceParent): string {
  return `00-${traceId}-${spanId}-0${flags}`;
}
