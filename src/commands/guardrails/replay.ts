/** Judges a corpus by two versions of guardrails, and compares the verdicts. */
import { evaluateGuardrails, type Judgement } from '../../guardrails/evaluate.ts';
import {
  buildGuardrail,
  type CheckTools,
  type Guardrail,
  type GuardrailDefinition,
} from '../../guardrails/guardrail.ts';
import { callingChecks, needsModel } from '../../guardrails/trial.ts';
import type { CorpusEntry } from './corpus.ts';

/** Verdict on one entry; `changed` entries pass with other texts. */
type EntryVerdict = 'passed' | 'changed' | 'failed' | 'denied';

/** A guardrail as the corpus is judged by it; null for a version that does not exist. */
export interface Versions {
  readonly name: string;
  readonly before: GuardrailDefinition | null;
  readonly after: GuardrailDefinition;
}

export interface EntryChange {
  readonly line: number;
  readonly before: EntryVerdict;
  readonly after: EntryVerdict;
}

export interface Replay {
  readonly name: string;
  readonly entries: number;
  readonly verdicts: Readonly<Record<EntryVerdict, number>>;
  /** Entries that a check of the new version could not judge. */
  readonly unjudged: number;
  /** Checks that were left out, because they call other services. */
  readonly skippedChecks: readonly string[];
  /** Null without an earlier version. */
  readonly changes: readonly EntryChange[] | null;
}

export interface ReplayOptions {
  readonly tools: CheckTools;
  /** Whether checks may call other services. */
  readonly callsServices: boolean;
  /** Whether a model judges. */
  readonly hasModel: boolean;
  readonly signal: AbortSignal;
}

export async function replay(
  { name, before, after }: Versions,
  corpus: readonly CorpusEntry[],
  options: ReplayOptions,
): Promise<Replay> {
  const current = judgeOf(after, options);
  const earlier = before === null ? null : judgeOf(before, options);
  const verdicts = { passed: 0, changed: 0, failed: 0, denied: 0 };
  const changes: EntryChange[] = [];
  let unjudged = 0;
  for (const entry of corpus) {
    options.signal.throwIfAborted();
    const judgement = await current.judge(entry);
    const verdict = verdictOn(judgement, entry);
    verdicts[verdict] += 1;
    unjudged += Number(judgement.checks.some((one) => one.verdict === 'unjudged'));
    if (earlier === null) continue;
    const old = verdictOn(await earlier.judge(entry), entry);
    if (old !== verdict) changes.push({ line: entry.line, before: old, after: verdict });
  }
  return {
    name,
    entries: corpus.length,
    verdicts,
    unjudged,
    skippedChecks: current.skipped,
    changes: earlier === null ? null : changes,
  };
}

function judgeOf(
  definition: GuardrailDefinition,
  { tools, callsServices, hasModel }: ReplayOptions,
) {
  const isRun = (check: GuardrailDefinition['checks'][number]): boolean =>
    needsModel(check) ? hasModel : callsServices || !callingChecks.has(check.id.toLowerCase());
  const { checks } = definition;
  const built: Guardrail = {
    ...buildGuardrail({ ...definition, checks: checks.filter(isRun) }, tools),
    // The verdict of a guardrail that only observes takes effect here.
    isMonitor: false,
  };
  return {
    skipped: checks.filter((check) => !isRun(check)).map(({ id }) => id),
    judge: ({ subject }: CorpusEntry) => evaluateGuardrails([built], subject, 0),
  };
}

function verdictOn(judgement: Judgement, { subject }: CorpusEntry): EntryVerdict {
  if (judgement.isDenied) return 'denied';
  const [result] = judgement.results;
  if (result !== undefined && !result.verdict) return 'failed';
  const isChanged = judgement.passages.some(({ text }, at) => text !== subject.passages[at]!.text);
  return isChanged || judgement.members.length > 0 ? 'changed' : 'passed';
}
