/** Reads a corpus for guardrails: a file with one JSON object a line, each a request, a response or a text. */
import { readFile, stat } from 'node:fs/promises';
import { Failure } from '../../failure.ts';
import type { GuardrailSubject } from '../../guardrails/evaluate.ts';
import { answersIn } from '../../guardrails/texts/answer-passages.ts';
import type { Passage } from '../../guardrails/texts/passages.ts';
import { findRequestPassages } from '../../guardrails/texts/request-passages.ts';
import { TextsUnreadable } from '../../guardrails/texts/stored-text.ts';
import { isObject, readJsonObject } from '../../model/json/read-object.ts';
import { runAtOnce } from '../../slices.ts';

const corpusBytesMax = 256 * 1024 * 1024;
const entriesMax = 100_000;

/** One line of the corpus. */
export interface CorpusEntry {
  readonly line: number;
  readonly subject: GuardrailSubject;
}

/** @throws Failure (invalid input) that names the file and the line */
export async function readCorpus(path: string, named: string): Promise<CorpusEntry[]> {
  const found = await stat(path).catch(() => null);
  if (found === null) throw new Failure('invalidInput', `${named} does not exist`);
  if (found.size > corpusBytesMax) {
    throw new Failure('invalidInput', `${named} has more than 256 MiB; divide it`);
  }
  const lines = (await readFile(path, 'utf8')).split('\n');
  const entries: CorpusEntry[] = [];
  for (const [at, text] of lines.entries()) {
    if (text.trim() === '') continue;
    if (entries.length === entriesMax) {
      throw new Failure('invalidInput', `${named} has more than ${entriesMax} entries; divide it`);
    }
    const place = { file: named, line: at + 1, column: 1 };
    entries.push({ line: at + 1, subject: subjectIn(text, `${place.file}:${place.line}`) });
  }
  return entries;
}

const about = {
  isStream: false,
  metadata: {},
  headers: {},
  provider: 'corpus',
  traceId: 'corpus',
  unreadable: null,
};

function subjectIn(line: string, place: string): GuardrailSubject {
  const entry = readJsonObject(line);
  if (entry === null) throw new Failure('invalidInput', `${place} is not a JSON object`);
  const { text, request, response } = entry;
  try {
    if (typeof text === 'string') {
      const passages: Passage[] = [{ path: ['text'], text }];
      return inputOf({ messages: [{ role: 'user', content: text }] }, passages, 1);
    }
    if (isObject(response)) {
      const passages = answersIn('unknown', response).flatMap((one) => one.passages);
      const answer = { status: 200, json: response };
      return {
        ...about,
        side: 'output',
        endpoint: 'other',
        params: {},
        model: modelIn(response),
        answer,
        passages,
        lastCount: passages.length,
      };
    }
    const body = isObject(request) ? request : entry;
    const { passages, lastCount } = runAtOnce(findRequestPassages('unknown', body, false));
    return inputOf(body, passages, lastCount);
  } catch (error) {
    if (!(error instanceof TextsUnreadable)) throw error;
    throw new Failure('invalidInput', `${place}: the entry ${error.message}`);
  }
}

function inputOf(
  params: Readonly<Record<string, unknown>>,
  passages: readonly Passage[],
  lastCount: number,
): GuardrailSubject {
  const endpoint = 'chat_completions';
  const model = modelIn(params);
  return { ...about, side: 'input', endpoint, params, model, answer: null, passages, lastCount };
}

function modelIn({ model }: Readonly<Record<string, unknown>>): string | null {
  return typeof model === 'string' ? model : null;
}
