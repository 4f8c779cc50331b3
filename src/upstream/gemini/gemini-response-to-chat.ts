/** Translates a response of Gemini to that of a chat. */

import { DocumentNode, type Json } from '../documents/document-node.ts';
import { extensionOfCall, geminiReasoning } from '../translation/thought-signatures.ts';
import { chatFinishReason, refusalOf } from './finish-reasons.ts';
import { chatUsage } from './usage.ts';

/** @throws NotTranslatable */
export function chatResponse(body: unknown, now: number): Json {
  const answer = new DocumentNode(body);
  const head = chatHead(answer, now);
  const candidates = answer.at('candidates');
  const usage = answer.at('usageMetadata');
  const choices = candidates.isAbsent
    ? []
    : candidates.items().map((one, at) => choiceOf(one, at, head));
  const blocked = choices.length === 0 ? blockedChoice(answer) : null;
  return {
    ...head,
    object: 'chat.completion',
    choices: blocked === null ? choices : [blocked],
    usage: chatUsage(usage.isAbsent ? {} : usage.json()),
  };
}

/** Members that a response and every chunk of a stream have. */
export function chatHead(answer: DocumentNode, now: number): { readonly id: string } & Json {
  const id = answer.at('responseId');
  const model = answer.at('modelVersion');
  return {
    id: id.isAbsent ? `gemini-${now}` : id.text(),
    created: Math.floor(now / 1000),
    model: model.isAbsent ? 'gemini' : model.text(),
  };
}

/** Why Google refused the prompt; null when it did not. */
export function blockOf(answer: DocumentNode): string | null {
  const feedback = answer.at('promptFeedback');
  if (feedback.isAbsent) return null;
  const reason = feedback.at('blockReason');
  if (reason.isAbsent) return null;
  const message = feedback.at('blockReasonMessage');
  const explained = message.isAbsent ? '' : `: ${message.text()}`;
  return `The provider blocked the prompt with ${reason.text()}${explained}`;
}

/** @throws NotTranslatable for a response without any answer */
function blockedChoice(answer: DocumentNode): Json {
  const refusal = blockOf(answer) ?? answer.at('candidates').refuse('must not be empty');
  const message = { role: 'assistant', content: null, refusal };
  return { index: 0, message, logprobs: null, finish_reason: 'content_filter' };
}

function choiceOf(candidate: DocumentNode, at: number, { id }: { readonly id: string }): Json {
  const index = candidate.at('index').value ?? at;
  const { texts, thoughts, details, calls, images } = readParts(candidate, `${id}_${index}`);
  const finish = candidate.at('finishReason');
  const reason = finish.isAbsent ? 'STOP' : finish.text();
  const message = {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join(''),
    refusal: refusalOf(reason, candidate.at('finishMessage').value),
    ...(thoughts.length === 0 ? {} : { reasoning_content: thoughts.join('') }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(images.length === 0 ? {} : { images }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return {
    index,
    message,
    logprobs: logprobsOf(candidate.at('logprobsResult')),
    finish_reason: chatFinishReason(reason, calls.length > 0),
  };
}

/** The parts of one candidate, as members of a message. */
export interface ReadParts {
  readonly texts: string[];
  readonly thoughts: string[];
  readonly details: Json[];
  readonly calls: Json[];
  readonly images: Json[];
}

/** Numbers calls and details over all events of a stream. */
export interface PartCounts {
  calls: number;
  details: number;
  /** Whether the last part was a thought that the next event may continue. */
  hasOpenThought: boolean;
}

export function newCounts(): PartCounts {
  return { calls: 0, details: 0, hasOpenThought: false };
}

/** `idPrefix` begins the ids of calls to which Google gave none. */
export function readParts(
  candidate: DocumentNode,
  idPrefix: string,
  counts = newCounts(),
): ReadParts {
  const read: ReadParts = { texts: [], thoughts: [], details: [], calls: [], images: [] };
  const content = candidate.at('content');
  const parts = content.isAbsent ? content : content.at('parts');
  if (parts.isAbsent) return read;
  for (const [at, part] of parts.items().entries()) {
    // Within one event, thoughts are apart.
    if (at > 0) counts.hasOpenThought = false;
    readPart(part, read, idPrefix, counts);
  }
  return read;
}

function readPart(part: DocumentNode, read: ReadParts, idPrefix: string, counts: PartCounts): void {
  const { thought, thoughtSignature: signature } = part.json();
  const isSigned = typeof signature === 'string';
  const isContinued = counts.hasOpenThought && thought === true;
  counts.hasOpenThought = thought === true && !isSigned;
  const call = part.at('functionCall');
  const text = part.at('text');
  const detail = (): Json => ({ format: geminiReasoning, index: counts.details++ });
  if (!call.isAbsent) {
    read.calls.push(toolCall(call, `call_${idPrefix}_${counts.calls++}`, signature));
  } else if (thought === true) {
    const words = text.isAbsent ? '' : text.text();
    read.thoughts.push(words);
    const signed = isSigned ? { signature } : {};
    if (isContinued) counts.details -= 1;
    read.details.push({ type: 'reasoning.text', text: words, ...signed, ...detail() });
  } else {
    if (isSigned) read.details.push({ type: 'reasoning.encrypted', data: signature, ...detail() });
    if (!text.isAbsent) read.texts.push(text.text());
    else readOther(part, read);
  }
}

/** Reads pictures, and code that Google ran. */
function readOther(part: DocumentNode, read: ReadParts): void {
  const bytes = part.at('inlineData');
  const code = part.at('executableCode');
  const result = part.at('codeExecutionResult');
  if (!bytes.isAbsent) {
    const url = `data:${bytes.at('mimeType').text()};base64,${bytes.at('data').text()}`;
    read.images.push({ type: 'image_url', image_url: { url } });
  } else if (!code.isAbsent) read.texts.push(fenced('python', code.at('code').text()));
  else if (!result.isAbsent) read.texts.push(fenced('', String(result.at('output').value ?? '')));
}

function fenced(language: string, text: string): string {
  return `\n\`\`\`${language}\n${text}\n\`\`\`\n`;
}

function toolCall(call: DocumentNode, ownId: string, signature: unknown): Json {
  const id = call.at('id');
  const args = call.at('args');
  return {
    id: id.isAbsent || id.value === '' ? ownId : id.text(),
    type: 'function',
    function: {
      name: call.at('name').text(),
      arguments: JSON.stringify(args.isAbsent ? {} : args.json()),
    },
    ...extensionOfCall(signature),
  };
}

/** Null when none were requested. */
export function logprobsOf(result: DocumentNode): Json | null {
  if (result.isAbsent || result.at('chosenCandidates').isAbsent) return null;
  const alternatives = result.at('topCandidates').isAbsent
    ? []
    : result.at('topCandidates').items();
  const content = result
    .at('chosenCandidates')
    .items()
    .map((chosen, at) => {
      const step = alternatives[at]?.at('candidates');
      const others = step === undefined || step.isAbsent ? [] : step.items();
      return { ...tokenOf(chosen), top_logprobs: others.map(tokenOf) };
    });
  return { content, refusal: null };
}

function tokenOf(candidate: DocumentNode): Json {
  const { token, logProbability } = candidate.json();
  return { token: token ?? '', logprob: logProbability ?? 0, bytes: null };
}
