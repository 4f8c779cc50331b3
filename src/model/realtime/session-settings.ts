/** Reads and changes the settings of a session of OpenAI's realtime API, in its current form and the one of its beta. */
import { isObject } from '../json/read-object.ts';
import { objectIn, textIn } from './openai-events.ts';

type Settings = Readonly<Record<string, unknown>>;

/** `beta` is the form behind the header `openai-beta: realtime=v1`. */
export type SettingsForm = 'current' | 'beta';

/** Name of the member that bounds the output of a response. */
export function maxOutputName(form: SettingsForm): string {
  return form === 'beta' ? 'max_response_output_tokens' : 'max_output_tokens';
}

const maxOutputNames = [maxOutputName('current'), maxOutputName('beta')];

/** The requested bound of the output; null for none, and NaN for a value that is no whole number above 0. */
export function requestedOutput(settings: Settings): number | null {
  let most: number | null = null;
  for (const name of maxOutputNames) {
    const value = settings[name];
    if (value === undefined || value === null || value === 'inf') continue;
    if (!Number.isSafeInteger(value) || (value as number) < 1) return Number.NaN;
    most = Math.max(most ?? 0, value as number);
  }
  return most;
}

/** Sets the bound of the output under its name in this form, and under no other. */
export function withMaxOutput(settings: Settings, form: SettingsForm, tokens: number): Settings {
  const others = Object.entries(settings).filter(([name]) => !maxOutputNames.includes(name));
  return { ...Object.fromEntries(others), [maxOutputName(form)]: tokens };
}

/** The detection of turns by the provider, which ends each of them. */
export interface TurnDetection {
  /** Undefined when the settings do not say, null when it is off. */
  readonly value: Settings | null | undefined;
}

export function turnDetectionIn(settings: Settings): TurnDetection {
  const input = objectIn(objectIn(settings, 'audio'), 'input');
  const value = 'turn_detection' in input ? input.turn_detection : settings.turn_detection;
  return { value: isObject(value) || value === null ? value : undefined };
}

/** Whether the provider would start a response by itself. */
export function answersTurns({ value }: TurnDetection): boolean {
  return value !== null && value?.create_response !== false;
}

/** The settings with turns that start no response; unchanged if they say nothing about turns. */
export function withoutOwnResponses(settings: Settings): Settings {
  const { audio, turn_detection: own } = settings;
  const input = objectIn(audio, 'input');
  let changed = settings;
  if (isObject(input.turn_detection)) {
    const quiet = { ...input, turn_detection: quietTurns(input.turn_detection) };
    changed = { ...changed, audio: { ...(audio as Settings), input: quiet } };
  }
  return isObject(own) ? { ...changed, turn_detection: quietTurns(own) } : changed;
}

function quietTurns(detection: Settings): Settings {
  const { idle_timeout_ms: _, ...others } = detection;
  return { ...others, create_response: false };
}

/** Settings that turn off responses of the provider's own, given those that it has announced. */
export function quietSession(announced: Settings, form: SettingsForm): Settings {
  const { value } = turnDetectionIn(announced);
  const turns = quietTurns(value ?? { type: 'server_vad' });
  return form === 'beta'
    ? { turn_detection: turns }
    : { type: 'realtime', audio: { input: { turn_detection: turns } } };
}

/**
 * Names the first setting whose usage or texts no gateway sees: speech that another model transcribes, tools that the
 * provider runs, and a prompt that the provider stores. Null for none.
 */
export function unseenSetting(settings: Settings): string | null {
  if ((settings.prompt ?? null) !== null) return 'prompt';
  if (isRunElsewhere(settings.tools)) return 'tools';
  const input = objectIn(objectIn(settings, 'audio'), 'input');
  if ((input.transcription ?? null) !== null) return 'audio.input.transcription';
  if ((settings.input_audio_transcription ?? null) !== null) return 'input_audio_transcription';
  return textIn(settings, 'type') === 'transcription' ? 'type' : null;
}

function isRunElsewhere(tools: unknown): boolean {
  if (tools === undefined || tools === null) return false;
  return !Array.isArray(tools) || tools.some((tool) => textIn(tool, 'type') !== 'function');
}
