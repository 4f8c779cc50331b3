/** Lists the events of OpenAI's realtime API, and what each means for limits and guardrails. */
import { parseWithExactKeys } from '../json/json-object.ts';
import { isObject } from '../json/read-object.ts';

export type RealtimeEvent = Readonly<Record<string, unknown>> & { readonly type: string };

/**
 * `plain`: no text and no usage; `texts`: texts for the model; `sound`: recorded speech; `session`: settings;
 * `response`: starts a response.
 */
type CallerEventKind = 'plain' | 'texts' | 'sound' | 'session' | 'response';

/** Events of callers; others are refused where something would have to be checked in them. */
export const callerEvents: ReadonlyMap<string, CallerEventKind> = new Map([
  ['session.update', 'session'],
  ['transcription_session.update', 'session'],
  ['input_audio_buffer.append', 'sound'],
  ['input_audio_buffer.commit', 'plain'],
  ['input_audio_buffer.clear', 'plain'],
  ['output_audio_buffer.clear', 'plain'],
  ['conversation.item.create', 'texts'],
  ['conversation.item.retrieve', 'plain'],
  ['conversation.item.truncate', 'plain'],
  ['conversation.item.delete', 'plain'],
  ['response.create', 'response'],
  ['response.cancel', 'plain'],
]);

/**
 * `plain`: no text of a model; `piece`: a part of a text in `delta`; `sound`: a part of speech; `texts`: whole texts;
 * `settings`: settings of the session, which the caller has sent.
 */
type ProviderEventKind = 'plain' | 'piece' | 'sound' | 'texts' | 'settings';

/** Events of providers; others are withheld where guardrails judge responses. */
export const providerEvents: ReadonlyMap<string, ProviderEventKind> = new Map([
  ['error', 'plain'],
  ['rate_limits.updated', 'plain'],
  ['session.created', 'settings'],
  ['session.updated', 'settings'],
  ['transcription_session.created', 'settings'],
  ['transcription_session.updated', 'settings'],
  ['conversation.created', 'plain'],
  ['conversation.item.added', 'texts'],
  ['conversation.item.created', 'texts'],
  ['conversation.item.done', 'texts'],
  ['conversation.item.retrieved', 'texts'],
  ['conversation.item.deleted', 'plain'],
  ['conversation.item.truncated', 'plain'],
  ['conversation.item.input_audio_transcription.delta', 'piece'],
  ['conversation.item.input_audio_transcription.completed', 'texts'],
  ['conversation.item.input_audio_transcription.segment', 'texts'],
  ['conversation.item.input_audio_transcription.failed', 'plain'],
  ['input_audio_buffer.cleared', 'plain'],
  ['input_audio_buffer.committed', 'plain'],
  ['input_audio_buffer.speech_started', 'plain'],
  ['input_audio_buffer.speech_stopped', 'plain'],
  ['input_audio_buffer.timeout_triggered', 'plain'],
  ['input_audio_buffer.dtmf_event_received', 'plain'],
  ['output_audio_buffer.started', 'plain'],
  ['output_audio_buffer.stopped', 'plain'],
  ['output_audio_buffer.cleared', 'plain'],
  ['response.created', 'texts'],
  ['response.done', 'texts'],
  ['response.output_item.added', 'texts'],
  ['response.output_item.done', 'texts'],
  ['response.content_part.added', 'texts'],
  ['response.content_part.done', 'texts'],
  ['response.output_text.delta', 'piece'],
  ['response.output_text.done', 'texts'],
  ['response.text.delta', 'piece'],
  ['response.text.done', 'texts'],
  ['response.output_audio_transcript.delta', 'piece'],
  ['response.output_audio_transcript.done', 'texts'],
  ['response.audio_transcript.delta', 'piece'],
  ['response.audio_transcript.done', 'texts'],
  ['response.output_audio.delta', 'sound'],
  ['response.output_audio.done', 'plain'],
  ['response.audio.delta', 'sound'],
  ['response.audio.done', 'plain'],
  ['response.function_call_arguments.delta', 'piece'],
  ['response.function_call_arguments.done', 'texts'],
  ['response.mcp_call_arguments.delta', 'piece'],
  ['response.mcp_call_arguments.done', 'texts'],
  ['response.mcp_call.in_progress', 'plain'],
  ['response.mcp_call.completed', 'plain'],
  ['response.mcp_call.failed', 'plain'],
  ['mcp_list_tools.in_progress', 'plain'],
  ['mcp_list_tools.completed', 'plain'],
  ['mcp_list_tools.failed', 'plain'],
]);

/** Null for bytes that are not a JSON object with a type. */
export function readEvent(bytes: Buffer): RealtimeEvent | null {
  try {
    const value = parseWithExactKeys(bytes.toString('utf8'));
    return isObject(value) && typeof value.type === 'string' ? (value as RealtimeEvent) : null;
  } catch {
    return null;
  }
}

/** The object in a member; empty for any other value. */
export function objectIn(holder: unknown, name: string): Readonly<Record<string, unknown>> {
  const value = isObject(holder) ? holder[name] : undefined;
  return isObject(value) ? value : {};
}

/** The text in a member; null for any other value. */
export function textIn(holder: unknown, name: string): string | null {
  const value = isObject(holder) ? holder[name] : undefined;
  return typeof value === 'string' ? value : null;
}
