/** Decides which guardrails can judge a stream in windows: those whose checks know their longest match. */
import type { Fault } from '../wire/fault.ts';
import { checkKinds } from './guardrail-check-kinds.ts';

/** Text that is gathered before it is judged, and text at the end that is held back. */
export interface StreamWindowSize {
  readonly bytes: number;
  readonly overlap: number;
}

interface WindowedCheck {
  readonly id: string;
  readonly is_enabled?: boolean | undefined;
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
}

const kinds = new Map(Object.entries(checkKinds).map(([id, kind]) => [id.toLowerCase(), kind]));

/** Null for a guardrail that needs the whole stream. */
export function streamWindowOf(
  checks: readonly WindowedCheck[],
  stream: unknown,
): StreamWindowSize | null {
  const size = sizeIn(stream);
  return size === null || windowFaults(checks, stream).length > 0 ? null : size;
}

/** Paths start at the guardrail. */
export function windowFaults(checks: readonly WindowedCheck[], stream: unknown): Fault[] {
  const size = sizeIn(stream);
  if (size === null) return [];
  const path = ['actions', 'stream', 'window'];
  const enabled = checks.filter(({ is_enabled: isEnabled }) => isEnabled !== false);
  const unfit = enabled.find((check) => longestMatch(check) === null);
  if (unfit !== undefined) {
    const message = `cannot be used with ${unfit.id}, which needs the whole text; set stream to hold`;
    return [{ path, message }];
  }
  const longest = enabled.reduce((sum, check) => sum + longestMatch(check)!, 0);
  if (size.overlap < longest) {
    const message = `must be at least ${longest}, the length of the longest matches of the checks`;
    return [{ path: [...path, 'overlap'], message }];
  }
  if (size.bytes >= 2 * size.overlap) return [];
  return [{ path: [...path, 'bytes'], message: 'must be at least twice the overlap' }];
}

function longestMatch({ id, parameters = {} }: WindowedCheck): number | null {
  return kinds.get(id.toLowerCase())?.longestMatchBytes?.(parameters) ?? null;
}

/** Null for another form, which the schema of the guardrail refuses. */
function sizeIn(stream: unknown): StreamWindowSize | null {
  const { window } = (typeof stream === 'object' && stream !== null ? stream : {}) as {
    readonly window?: Partial<StreamWindowSize>;
  };
  const { bytes, overlap } = window ?? {};
  return typeof bytes === 'number' && typeof overlap === 'number' ? { bytes, overlap } : null;
}
