/** Judges the figures of a soak: memory and descriptors of processes, and rows of tables. */
import {
  afterWarmUp,
  fitSlope,
  type GrowthLimit,
  isGrowing,
  type Sample,
  type Slope,
} from './slopes.ts';

export interface Series {
  /** `gateway heap, MB`. */
  readonly name: string;
  readonly kind: 'heap' | 'rss' | 'descriptors' | 'rows';
  readonly samples: readonly Sample[];
}

export interface JudgedSeries {
  readonly name: string;
  readonly first: number;
  readonly last: number;
  /** Null when there are too few samples. */
  readonly slope: Slope | null;
  readonly verdict: 'flat' | 'grows' | 'explained' | 'too few samples' | 'not judged';
}

/**
 * Memory after a collection may grow by 0.1 MB an hour; half a megabyte is noise. The resident size follows the heap
 * with the allocator's delay and is reported only.
 */
const limits: Readonly<Record<Series['kind'], GrowthLimit | null>> = {
  heap: { perHour: 0.1, resolution: 0.5 },
  rss: null,
  descriptors: { perHour: 0, resolution: 3 },
  rows: { perHour: 0, resolution: 20 },
};

/** Tables that keep a row of each event of the load until their retention, which is longer than a soak. */
const explained: ReadonlyMap<string, string> = new Map([
  ['request_logs', 'one row a model request, kept LOG_RETENTION_DISPLAY days'],
  ['audit_log', 'one row a change, kept without end'],
  ['audit_chains', 'one row for sealed audit rows'],
  ['job_runs', 'one row a run, deleted by a job'],
  ['sync_revisions', 'one row an applied change of the source'],
  ['sync_revision_changes', 'one row a change of a revision'],
  ['request_totals', 'one row an hour and group'],
  ['managed_resources', 'one row a resource of the source'],
  ['config_versions', 'one row a version of a config'],
]);

export function judgeSeries({ name, kind, samples }: Series): JudgedSeries {
  const steady = afterWarmUp(samples);
  const slope = fitSlope(steady);
  const limit = limits[kind];
  const ends = { name, first: steady[0]?.value ?? 0, last: steady.at(-1)?.value ?? 0, slope };
  if (limit === null) return { ...ends, verdict: 'not judged' };
  if (slope === null) return { ...ends, verdict: 'too few samples' };
  if (!isGrowing(slope, limit)) return { ...ends, verdict: 'flat' };
  return { ...ends, verdict: kind === 'rows' && explained.has(name) ? 'explained' : 'grows' };
}

/** The figures as a table. */
export function soakTable(judged: readonly JudgedSeries[]): string {
  const lines = judged.map(({ name, first, last, slope, verdict }) => {
    const bounds =
      slope === null
        ? ''
        : `${slope.perHour.toFixed(2)}/h (${slope.low.toFixed(2)} to ${slope.high.toFixed(2)})`;
    const figures = `${first.toFixed(1).padStart(10)}${last.toFixed(1).padStart(10)}`;
    return `${name.padEnd(34)}${figures}  ${bounds.padEnd(34)}${verdict}`;
  });
  const head = `${'figure'.padEnd(34)}${'first'.padStart(10)}${'last'.padStart(10)}  ${'slope (90 % interval)'.padEnd(34)}verdict`;
  return [head, ...lines].join('\n');
}
