/** Judges responses by guardrails; each answer in a list or stream is judged separately. */

import type { ToolCall } from '../../guardrails/calls/tool-calls.ts';
import { mergedChecks } from '../../guardrails/check-records.ts';
import { type GuardrailSubject, type Judgement, worstOf } from '../../guardrails/evaluate.ts';
import type { Guardrail } from '../../guardrails/guardrail.ts';
import {
  type AnswerPassages,
  answersIn,
  type ResponseForm,
} from '../../guardrails/texts/answer-passages.ts';
import type { JsonObject, Passage } from '../../guardrails/texts/passages.ts';
import { TextsUnreadable } from '../../guardrails/texts/stored-text.ts';
import { judgeCall } from './guarded-request.ts';
import type { TextForms } from './text-forms.ts';

/** Answers of a list that are judged concurrently. */
const batchMax = 10;
/** Bound for one page or stream; pages of clients have at most 100 items. */
const answersMax = 1_000;

type Subject = Omit<GuardrailSubject, 'side' | 'answer' | 'passages' | 'lastCount' | 'unreadable'>;

export interface JudgedResponse {
  /** The texts as received. */
  readonly passages: readonly Passage[];
  /** Combined judgement, up to the first denied batch. */
  readonly judgement: Judgement;
}

/** Null when there are more answers than are judged, or deeper ones. `now` in milliseconds since the epoch. */
export async function judgeResponse(
  guardrails: readonly Guardrail[],
  { response: answered, isModelRequest: isQuestion }: TextForms,
  {
    subject,
    status,
    json,
    toolCalls,
    now,
  }: {
    readonly subject: Subject;
    readonly status: number;
    readonly json: JsonObject;
    /** Finds the calls in a stream; undefined where `json` contains them. */
    readonly toolCalls: (() => readonly ToolCall[]) | undefined;
    readonly now: number;
  },
): Promise<JudgedResponse | null> {
  const answers = answered === null ? [] : answersOrNull(answered, json);
  if (answers === null) return null;
  const judged = isQuestion && !isPending(json) ? answers : answers.filter(hasText);
  if (judged.length > answersMax) return null;
  const judgements: Judgement[] = [];
  for (let at = 0; at < judged.length; at += batchMax) {
    const batch = judged.slice(at, at + batchMax).map(({ json: one, passages }) => {
      const texts = {
        ...subject,
        passages,
        lastCount: passages.length,
        unreadable: null,
        toolCalls,
      };
      return judgeCall(
        guardrails,
        { ...texts, side: 'output', answer: { status, json: one } },
        now,
      );
    });
    judgements.push(...(await Promise.all(batch)));
    if (judgements.some(({ isDenied }) => isDenied)) break;
  }
  return {
    passages: judged.flatMap(({ path: prefix, passages }) =>
      passages.map((one) => withPrefix(one, prefix)),
    ),
    judgement: {
      results: judgements.flatMap(({ results }) => results),
      passes: judgements.every(({ passes }) => passes),
      isDenied: judgements.some(({ isDenied }) => isDenied),
      verdicts: judgements.reduce<Judgement['verdicts']>(
        (all, { verdicts }) => worstOf(all, verdicts),
        new Map(),
      ),
      checks: mergedChecks(judgements.flatMap(({ checks }) => checks)),
      members: [],
      stages: [],
      passages: judgements.flatMap(({ passages }, at) =>
        passages.map((one) => withPrefix(one, judged[at]!.path)),
      ),
    },
  };
}

function answersOrNull(form: ResponseForm, json: JsonObject): AnswerPassages[] | null {
  try {
    return answersIn(form, json);
  } catch (thrown) {
    if (thrown instanceof TextsUnreadable) return null;
    throw thrown;
  }
}

function withPrefix(passage: Passage, prefix: Passage['path']): Passage {
  return { ...passage, path: [...prefix, ...passage.path] };
}

function hasText({ passages }: AnswerPassages): boolean {
  return passages.length > 0;
}

/** A background response contains no texts until it has finished. */
function isPending({ status }: JsonObject): boolean {
  return status === 'queued' || status === 'in_progress';
}
