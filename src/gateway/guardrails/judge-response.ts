/** Knows how guardrails judge what an answer tells: by itself each text that was an answer by itself. */
import { type AnswerPassages, answersIn } from '../../guardrails/answer-passages.ts';
import type { GuardrailSubject, Judgement } from '../../guardrails/evaluate.ts';
import type { Guardrail } from '../../guardrails/guardrail.ts';
import type { JsonObject, Passage } from '../../guardrails/passages.ts';
import { judgeCall } from './guarded-request.ts';
import type { TextForms } from './text-forms.ts';

/** What is judged at once of a list. */
const batchMax = 10;
/** Of one page, which has a hundred at most where clients ask, or one stream. */
const answersMax = 1_000;

type Subject = Omit<GuardrailSubject, 'side' | 'answer' | 'passages' | 'lastCount'>;

export interface JudgedResponse {
  /** As the answer came. */
  readonly passages: readonly Passage[];
  /** Of all of them together, up to the first that is denied. */
  readonly judgement: Judgement;
}

/** `now` in ms since the epoch. Null for more answers than are judged. */
export async function judgeResponse(
  guardrails: readonly Guardrail[],
  { response: answered, isModelRequest: isQuestion }: TextForms,
  {
    subject,
    status,
    json,
    now,
  }: {
    readonly subject: Subject;
    readonly status: number;
    readonly json: JsonObject;
    readonly now: number;
  },
): Promise<JudgedResponse | null> {
  const answers = answered === null ? [] : answersIn(answered, json);
  const judged = isQuestion && !isUnderWay(json) ? answers : answers.filter(hasText);
  if (judged.length > answersMax) return null;
  const judgements: Judgement[] = [];
  for (let at = 0; at < judged.length; at += batchMax) {
    const batch = judged.slice(at, at + batchMax).map(({ json: one, passages }) => {
      const told = { ...subject, passages, lastCount: passages.length };
      return judgeCall(guardrails, { ...told, side: 'output', answer: { status, json: one } }, now);
    });
    judgements.push(...(await Promise.all(batch)));
    if (judgements.some(({ isDenied }) => isDenied)) break;
  }
  return {
    passages: judged.flatMap(({ path: place, passages }) =>
      passages.map((one) => placed(one, place)),
    ),
    judgement: {
      results: judgements.flatMap(({ results }) => results),
      passes: judgements.every(({ passes }) => passes),
      isDenied: judgements.some(({ isDenied }) => isDenied),
      passages: judgements.flatMap(({ passages }, at) =>
        passages.map((one) => placed(one, judged[at]!.path)),
      ),
    },
  };
}

function placed({ path, text }: Passage, place: Passage['path']): Passage {
  return { path: [...place, ...path], text };
}

function hasText({ passages }: AnswerPassages): boolean {
  return passages.length > 0;
}

/** What a provider does in the background says nothing until it is done. */
function isUnderWay({ status }: JsonObject): boolean {
  return status === 'queued' || status === 'in_progress';
}
