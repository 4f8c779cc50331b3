/** Knows which traces are recorded, by the rules that OpenTelemetry has for it. */
import { sampledFlag, type TraceParent } from './trace-parent.ts';

/** What share of traces is recorded. */
export interface SamplerTerms {
  /** Whether what the caller says of its own span goes before the share. */
  readonly heedsParent: boolean;
  /** From 0, none, to 1, all. */
  readonly ratio: number;
}

/** Hexadecimal digits that a number holds exactly. */
const digits = 13;

/** By the same digits of the trace id as others do, so that all who go by one ratio record the same traces. */
export function isSampled(
  { heedsParent, ratio }: SamplerTerms,
  parent: TraceParent | null,
  traceId: string,
): boolean {
  if (heedsParent && parent !== null) return (parent.flags & sampledFlag) !== 0;
  return Number.parseInt(traceId.slice(16, 16 + digits), 16) < ratio * 16 ** digits;
}
