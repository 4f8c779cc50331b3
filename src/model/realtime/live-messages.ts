/** Lists the messages of Gemini's live API, and what each means for limits and guardrails. */
import { parseWithExactKeys } from '../json/json-object.ts';
import { isObject } from '../json/read-object.ts';

export type LiveMessage = Readonly<Record<string, unknown>>;

/** Members of the message that begins a session. */
export const setupMembers: ReadonlySet<string> = new Set([
  'model',
  'generationConfig',
  'systemInstruction',
  'tools',
  'realtimeInputConfig',
  'sessionResumption',
  'contextWindowCompression',
  'inputAudioTranscription',
  'outputAudioTranscription',
  'proactivity',
  'historyConfig',
  'explicitVadSignal',
  'avatarConfig',
  'safetySettings',
  'labels',
]);

/** Messages of callers behind the setup, with their members; each has exactly one of them. */
export const callerMessages: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['clientContent', new Set(['turns', 'turnComplete'])],
  [
    'realtimeInput',
    new Set([
      'mediaChunks',
      'audio',
      'audioStreamEnd',
      'video',
      'text',
      'activityStart',
      'activityEnd',
    ]),
  ],
  ['toolResponse', new Set(['functionResponses'])],
  ['contextUpdate', new Set(['systemInstruction', 'tools'])],
]);

/** `turn`: part of a response, which guardrails judge; `plain`: no text of a model. */
type ProviderMemberKind = 'turn' | 'plain';

/** Members of messages of providers; others are withheld where guardrails judge responses. */
export const providerMembers: ReadonlyMap<string, ProviderMemberKind> = new Map([
  ['setupComplete', 'plain'],
  ['serverContent', 'turn'],
  ['toolCall', 'turn'],
  ['toolCallCancellation', 'plain'],
  ['usageMetadata', 'plain'],
  ['goAway', 'plain'],
  ['sessionResumptionUpdate', 'plain'],
  ['voiceActivityDetectionSignal', 'plain'],
  ['voiceActivity', 'plain'],
]);

/** Null for bytes that are not a JSON object. */
export function readLiveMessage(bytes: Buffer): LiveMessage | null {
  try {
    const value = parseWithExactKeys(bytes.toString('utf8'));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The one member that says what a message of a caller is; null for any other message. */
export function callerMessageName(message: LiveMessage): string | null {
  const names = Object.keys(message);
  return names.length === 1 && callerMessages.has(names[0]!) && isObject(message[names[0]!])
    ? names[0]!
    : null;
}

/** The first member of a message of a caller that is not listed, with its path; null for none. */
export function unknownMember(message: LiveMessage, name: string): string | null {
  const known = callerMessages.get(name)!;
  const unknown = Object.keys(message[name] as object).find((one) => !known.has(one));
  return unknown === undefined ? null : `${name}.${unknown}`;
}
