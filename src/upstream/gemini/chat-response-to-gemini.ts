/** Translates the response of a chat to that of Gemini. */

import { answeredArguments } from '../documents/call-arguments.ts';
import { DocumentNode, type Json } from '../documents/document-node.ts';
import { detailsIn, packDetails, textOfDetail } from '../translation/reasoning.ts';
import { geminiReasoning, signatureOfCall } from '../translation/thought-signatures.ts';
import { geminiFinishReason } from './finish-reasons.ts';
import { geminiUsage } from './usage.ts';

/** @throws NotTranslatable */
export function geminiResponse(body: unknown): Json {
  const completion = new DocumentNode(body);
  const choices = completion.at('choices').items();
  if (choices.length === 0) return completion.at('choices').refuse('must not be empty');
  const usage = completion.at('usage');
  return {
    candidates: choices.map((choice, at) => candidateOf(choice, at)),
    usageMetadata: geminiUsage(usage.isAbsent ? {} : usage.json()),
    ...answerHead(completion),
  };
}

/** Members that a response and every event of a stream have. */
export function answerHead(completion: DocumentNode): Json {
  const { model, id } = completion.json();
  return {
    ...(typeof model === 'string' ? { modelVersion: model } : {}),
    ...(typeof id === 'string' ? { responseId: id } : {}),
  };
}

/** Whether a message or a delta has a refusal. */
export function hasRefusal(reply: DocumentNode): boolean {
  const refusal = reply.at('refusal');
  return !refusal.isAbsent && refusal.value !== '';
}

function candidateOf(choice: DocumentNode, at: number): Json {
  const reply = choice.at('message');
  const calls = reply.at('tool_calls');
  const parts = [
    ...thoughtParts(reply),
    ...textParts(reply),
    ...(calls.isAbsent ? [] : calls.items().map(callPart)),
  ];
  const logprobs = choice.at('logprobs');
  return {
    content: { role: 'model', parts: parts.length === 0 ? [{ text: '' }] : parts },
    finishReason: geminiFinishReason(choice.at('finish_reason').value, hasRefusal(reply)),
    index: choice.at('index').value ?? at,
    ...(logprobs.isAbsent ? {} : logprobsResult(logprobs.at('content'))),
  };
}

/** Reasoning of `delta` or message, with what must come back to the family that issued it. */
export function thoughtParts(reply: DocumentNode): Json[] {
  const details = reply.at('reasoning_details');
  const text = reply.at('reasoning_content').isAbsent
    ? reply.at('reasoning')
    : reply.at('reasoning_content');
  if (details.isAbsent) {
    return text.isAbsent || text.value === '' ? [] : [{ text: text.text(), thought: true }];
  }
  return detailsIn(details.value).flatMap((detail) => {
    const { format, text: words, signature } = detail;
    if (format !== geminiReasoning) {
      const thoughtSignature = packDetails([detail]);
      return [{ text: textOfDetail(detail), thought: true, thoughtSignature }];
    }
    // The signature of a text is added to its part.
    if (typeof words !== 'string') return [];
    const signed = typeof signature === 'string' ? { thoughtSignature: signature } : {};
    return [{ text: words, thought: true, ...signed }];
  });
}

function textParts(reply: DocumentNode): Json[] {
  const texts: Json[] = [];
  for (const name of ['content', 'refusal']) {
    const text = reply.at(name);
    if (!text.isAbsent && text.text() !== '') texts.push({ text: text.text() });
  }
  const signature = textSignature(reply.at('reasoning_details'));
  if (signature !== null) {
    const last = texts.pop() ?? { text: '' };
    texts.push({ ...last, thoughtSignature: signature });
  }
  return texts;
}

/** The signature that Google issued for the text of an answer; null for none. */
export function textSignature(details: DocumentNode): string | null {
  if (details.isAbsent) return null;
  const signed = details
    .items()
    .map((detail) => detail.json())
    .find(
      ({ format, type, id }) =>
        format === geminiReasoning && type === 'reasoning.encrypted' && typeof id !== 'string',
    );
  return typeof signed?.data === 'string' ? signed.data : null;
}

function callPart(call: DocumentNode): Json {
  const called = call.at('function');
  const id = call.at('id');
  return functionCallPart(
    id.isAbsent ? null : id.text(),
    called.at('name').text(),
    called.at('arguments'),
    signatureOfCall(call.at('extra_content').value),
  );
}

/** `text` contains the arguments. */
export function functionCallPart(
  id: string | null,
  name: string,
  text: DocumentNode,
  signature: string | undefined,
): Json {
  return {
    functionCall: { ...(id === null ? {} : { id }), name, args: answeredArguments(text) },
    ...(signature === undefined ? {} : { thoughtSignature: signature }),
  };
}

function logprobsResult(content: DocumentNode): Json {
  if (content.isAbsent) return {};
  const steps = content.items().map((step) => step.json());
  const tokenOf = ({ token, logprob }: Json): Json => ({ token, logProbability: logprob });
  return {
    logprobsResult: {
      chosenCandidates: steps.map(tokenOf),
      topCandidates: steps.map(({ top_logprobs: others }) => ({
        candidates: Array.isArray(others) ? (others as Json[]).map(tokenOf) : [],
      })),
    },
  };
}
