/** Has a service judge a subject: splits its texts into requests, and joins the verdicts. */
import {
  CheckError,
  type CheckOutcome,
  type CheckRunner,
  type CheckSubject,
  NothingToJudge,
  subjectText,
} from '../check.ts';
import type { RemoteService, SelectedText, ServiceVerdict } from './remote-service.ts';
import type { CallTerms, ServiceCalls } from './service-calls.ts';
import { batchTexts, type ChangedPiece, changePassage, splitSelected } from './text-pieces.ts';

/** Settings of a check that every service has. */
export interface ServiceTerms {
  /** Digest of the check and its parameters. */
  readonly check: string;
  readonly timeoutMs: number;
  readonly cacheMs: number;
  /** Texts that no result may contain. */
  readonly secrets: readonly string[];
}

/** Requests of one judgement. */
const requestsMax = 64;
/** Requests of one judgement that are sent at the same time. */
const requestsAtOnce = 4;
/** Names of findings that results contain. */
const findingsMax = 50;
const reasonCharsMax = 500;

interface JudgedBatch {
  readonly texts: readonly SelectedText[];
  readonly verdict: ServiceVerdict;
}

/** The runner throws CheckError when the service gives no verdict. */
export function serviceRunner(
  service: RemoteService,
  calls: ServiceCalls,
  { check, timeoutMs, cacheMs, secrets }: ServiceTerms,
): CheckRunner {
  return async (subject) => {
    requireSide(service, subject);
    const texts = textsOf(service, subject);
    if (texts.length === 0) throw new NothingToJudge('there is no text to check');
    const batches = batchesOf(service, texts);
    const terms = {
      name: service.name,
      check,
      tenant: subject.tenant,
      modelCalls: subject.modelCalls,
      deadlineMs: calls.nowMs() + timeoutMs,
      cacheMs,
    };
    const judged = await judgeAll(service, calls, subject, batches, terms);
    return outcomeOf(service, subject, judged, secrets);
  };
}

function requireSide({ name, side }: RemoteService, subject: CheckSubject): void {
  if (side === undefined || side === subject.side) return;
  throw new CheckError(`${name} judges ${side === 'input' ? 'requests' : 'responses'} only`);
}

function textsOf(service: RemoteService, subject: CheckSubject): SelectedText[] {
  const selected = service.select?.(subject) ?? passagesOf(subject, service.changesTexts);
  return selected.filter(({ text }) => text.trim() !== '');
}

function passagesOf(subject: CheckSubject, isSeparate: boolean): SelectedText[] {
  if (!isSeparate) return [{ text: subjectText(subject), passage: null, from: 0 }];
  return subject.passages.map(({ text }, passage) => ({ text, passage, from: 0 }));
}

/** @throws CheckError for a text that needs too many requests */
function batchesOf({ name, limit, textsMax, changesTexts }: RemoteService, texts: SelectedText[]) {
  const joined = changesTexts ? texts : [joinTexts(texts)];
  const pieces = joined.flatMap((one) => splitSelected(one, limit));
  const batches = batchTexts(pieces, limit, textsMax);
  if (batches.length <= requestsMax) return batches;
  throw new CheckError(
    `the text needs ${batches.length} requests to ${name}; at most ${requestsMax} are sent`,
  );
}

function joinTexts(texts: readonly SelectedText[]): SelectedText {
  const text = texts.length === 1 ? texts[0]!.text : texts.map((one) => one.text).join('\n');
  return { text, passage: null, from: 0 };
}

/**
 * Returns the verdicts on all batches, or those up to the first failure, which decides.
 *
 * @throws the first error when no batch fails
 */
async function judgeAll(
  service: RemoteService,
  calls: ServiceCalls,
  subject: CheckSubject,
  batches: readonly SelectedText[][],
  terms: CallTerms,
): Promise<JudgedBatch[]> {
  const judged: JudgedBatch[] = [];
  const errors: unknown[] = [];
  let at = 0;
  let isDecided = false;
  const judgeNext = async (): Promise<void> => {
    while (at < batches.length && !isDecided) {
      const texts = batches[at]!;
      at += 1;
      try {
        const plain = texts.map(({ text }) => text);
        const request = await service.request(plain, subject);
        const verdict = await calls.judge(request, terms, (answer) =>
          service.read(answer, plain, request),
        );
        judged.push({ texts, verdict });
        isDecided ||= !verdict.passes;
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: requestsAtOnce }, judgeNext));
  if (!judged.some(({ verdict }) => !verdict.passes) && errors.length > 0) throw errors[0];
  return judged;
}

function outcomeOf(
  service: RemoteService,
  subject: CheckSubject,
  judged: readonly JudgedBatch[],
  secrets: readonly string[],
): CheckOutcome {
  const isSafe = (text: string): boolean => !secrets.some((secret) => text.includes(secret));
  const named = judged.flatMap(({ verdict }) => verdict.findings.filter(isName));
  const findings = [...new Set(named)].filter(isSafe);
  const reason = judged.map(({ verdict }) => verdict.reason).find((one) => one !== undefined);
  const data = {
    service: service.name,
    findings: findings.slice(0, findingsMax),
    ...(reason === undefined || !isSafe(reason) ? {} : { reason: reason.slice(0, reasonCharsMax) }),
  };
  const found = findings.length === 0 ? '' : `: ${data.findings.join(', ')}`;
  if (judged.some(({ verdict }) => !verdict.passes)) {
    return { passes: false, explanation: `${service.name} rejects the text${found}`, data };
  }
  const texts = changedTexts(subject, judged);
  if (texts === 'inexact') {
    const explanation = `${service.name} has found something that cannot be replaced exactly${found}`;
    return { passes: false, explanation, data };
  }
  const isChanged = texts !== undefined;
  const done = isChanged ? 'changes' : 'accepts';
  return { passes: true, explanation: `${service.name} ${done} the text${found}`, data, texts };
}

/** Names have letters, so that no result quotes what was judged. */
function isName(finding: string): boolean {
  return /^[A-Za-z][\w .:/&'-]{0,63}$/.test(finding);
}

function changedTexts(
  { passages }: CheckSubject,
  judged: readonly JudgedBatch[],
): string[] | undefined | 'inexact' {
  const changed = judged.flatMap(({ texts, verdict: { changes } }) =>
    texts.map((piece, at): ChangedPiece => ({ piece, change: changes?.[at] ?? null })),
  );
  if (changed.every(({ change }) => change === null)) return undefined;
  if (changed.some(({ piece, change }) => change !== null && piece.passage === null)) {
    return 'inexact';
  }
  const byPassage = Map.groupBy(changed, ({ piece }) => piece.passage);
  const texts = passages.map(({ text }, at) => changePassage(text, byPassage.get(at) ?? []));
  if (texts.includes(null)) return 'inexact';
  const isSame = texts.every((text, at) => text === passages[at]!.text);
  return isSame ? undefined : (texts as string[]);
}
