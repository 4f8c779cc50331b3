/** Decides which traces are recorded, by the sampling rules of OpenTelemetry. */
import { sampledFlag, type TraceParent } from './trace-parent.ts';

export interface SamplerTerms {
  /** Whether the sampling flag of the caller takes precedence over the ratio. */
  readonly heedsParent: boolean;
  /** Share of recorded traces, from 0 to 1. */
  readonly ratio: number;
}

/** Number of hexadecimal digits that a number represents exactly. */
const digits = 13;

/** Uses the same digits of the trace id as other samplers, so that equal ratios record the same traces. */
export function isSampled(
  { heedsParent, ratio }: SamplerTerms,
  parent: TraceParent | null,
  traceId: string,
): boolean {
  if (heedsParent && parent !== null) return (parent.flags & sampledFlag) !== 0;
  return Number.parseInt(traceId.slice(16, 16 + digits), 16) < ratio * 16 ** digits;
}
