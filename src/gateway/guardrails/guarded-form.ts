/** Finds the texts of a multipart form that guardrails judge, and replaces those that they change. */
import type { Passage } from '../../guardrails/texts/passages.ts';
import { replaceTexts } from '../../guardrails/texts/passages.ts';
import {
  findRequestPassages,
  type RequestPassages,
} from '../../guardrails/texts/request-passages.ts';
import { bytesOfText, plainJson, textInBytes } from '../../guardrails/texts/stored-text.ts';
import { LoopTurns, nextTurn, run } from '../../slices.ts';
import type { Exchange } from '../callers/exchange.ts';
import { isLong } from '../transfer/changed-body.ts';
import { readFormParams, readFormParts } from '../transfer/form-fields.ts';
import { type FormPart, writeForm } from '../transfer/form-parts.ts';

/** A form as guardrails see it: its fields by name, and its files that are texts. */
export interface GuardedForm {
  readonly parts: readonly FormPart[];
  readonly texts: RequestPassages;
  readonly fields: Readonly<Record<string, readonly string[]>>;
  /** Index of the part of each file that is a text, in the order of their passages after those of the fields. */
  readonly textFiles: readonly number[];
}

type FormExchange = Pick<Exchange, 'request'> & { readonly body: Buffer };

/** @throws GatewayError for a body that is not a valid form */
export async function readGuardedForm({ body, request }: FormExchange): Promise<GuardedForm> {
  const parts = await readFormParts(body, request.headers['content-type']);
  const fields: Record<string, string[]> = Object.create(null);
  const files: Passage[] = [];
  const textFiles: number[] = [];
  const turns = new LoopTurns();
  for (const [at, { name, file, bytes }] of parts.entries()) {
    const turn = turns.next();
    if (turn !== undefined) await turn;
    const text = file === null ? bytes.toString('utf8') : textInBytes(bytes);
    if (file === null) {
      fields[name] ??= [];
      fields[name].push(text!);
    } else if (text !== null) {
      textFiles.push(at);
      files.push({ path: [at], text: plainJson(text) ?? text });
    }
  }
  const isLongForm = isLong(body);
  const finding = run(findRequestPassages('unknown', fields, isLongForm), isLongForm);
  const { passages, lastCount } = finding instanceof Promise ? await finding : finding;
  const texts = { passages: [...passages, ...files], lastCount: lastCount + files.length };
  return { parts, texts, fields, textFiles };
}

/** The form with the texts as guardrails left them; null when they changed none. */
export async function changedForm(
  { parts, texts: { passages }, fields, textFiles }: GuardedForm,
  texts: readonly string[],
  { request }: FormExchange,
): Promise<Pick<Exchange, 'body' | 'params'> | null> {
  if (passages.every(({ text }, at) => text === texts[at])) return null;
  const count = passages.length - textFiles.length;
  const replaced = replaceTexts(fields, passages.slice(0, count), texts) as typeof fields;
  const used = new Map<string, number>();
  const toChanged = (part: FormPart, at: number): FormPart => {
    if (part.file !== null) {
      const file = textFiles.indexOf(at);
      const text = texts[count + file];
      const isUnchanged = file === -1 || text === passages[count + file]!.text;
      return isUnchanged ? part : { ...part, bytes: bytesOfText(text!, part.bytes) };
    }
    const index = used.get(part.name) ?? 0;
    used.set(part.name, index + 1);
    return { ...part, bytes: Buffer.from(String(replaced[part.name]?.[index] ?? '')) };
  };
  const changed: FormPart[] = [];
  const turns = new LoopTurns();
  for (const [at, part] of parts.entries()) {
    const turn = turns.next();
    if (turn !== undefined) await turn;
    changed.push(toChanged(part, at));
  }
  const type = request.headers['content-type']!;
  await nextTurn();
  const body = writeForm(changed, type);
  await nextTurn();
  return { body, params: await readFormParams(body, type) };
}
