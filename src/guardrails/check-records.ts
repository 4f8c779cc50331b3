/** Combines what checks have judged in several parts of one request: its answers, events or messages. */
import { checkVerdicts, type LoggedCheck } from '../model/logs/request-log.ts';
import { type Judgement, worstOf } from './evaluate.ts';

/** Maximum checks in one entry of the log. */
const recordedMax = 100;

/** The verdicts that the log stores. */
export interface JudgementRecord {
  /** By id of each saved guardrail; null when none judged. */
  readonly verdicts: Judgement['verdicts'] | null;
  readonly checks: readonly LoggedCheck[];
}

export const nothingJudged: JudgementRecord = { verdicts: null, checks: [] };

/** Adds a judgement; of several by one guardrail or check the worst remains, and durations are added up. */
export function addJudgement(
  record: JudgementRecord,
  { verdicts, checks }: Pick<Judgement, 'verdicts' | 'checks'>,
): JudgementRecord {
  return {
    verdicts:
      verdicts.size === 0 ? record.verdicts : worstOf(record.verdicts ?? new Map(), verdicts),
    checks: checks.length === 0 ? record.checks : mergedChecks([...record.checks, ...checks]),
  };
}

/** One entry for each check and side; with too many, those that passed are left out first. */
export function mergedChecks(checks: readonly LoggedCheck[]): readonly LoggedCheck[] {
  const merged = new Map<string, LoggedCheck>();
  for (const one of checks) {
    const key = JSON.stringify([one.guardrail, one.check, one.side, one.is_monitored]);
    const earlier = merged.get(key);
    merged.set(key, earlier === undefined ? one : both(earlier, one));
  }
  const all = [...merged.values()];
  if (all.length <= recordedMax) return all;
  return all.toSorted((one, other) => severityOf(other) - severityOf(one)).slice(0, recordedMax);
}

function both(one: LoggedCheck, other: LoggedCheck): LoggedCheck {
  const worse = severityOf(other) > severityOf(one) ? other : one;
  return { ...worse, duration_ms: one.duration_ms + other.duration_ms };
}

function severityOf({ verdict }: LoggedCheck): number {
  return checkVerdicts.indexOf(verdict);
}
