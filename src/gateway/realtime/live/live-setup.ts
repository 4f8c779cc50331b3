/** Reads the message that begins a session of Gemini's live API, and builds the one that a provider receives. */
import { isObject } from '../../../model/json/read-object.ts';
import { requestedLiveOutput, unseenLiveSetting } from '../../../model/realtime/live-input.ts';
import {
  type LiveMessage,
  readLiveMessage,
  setupMembers,
} from '../../../model/realtime/live-messages.ts';
import { objectIn, textIn } from '../../../model/realtime/openai-events.ts';
import { NotTranslatable } from '../../../upstream/documents/document-node.ts';
import { withUsualNames } from '../../../upstream/gemini/member-names.ts';
import { geminiReferences } from '../../references/gemini-references.ts';
import type { ResolvedTarget } from '../../targets/resolve-target.ts';
import { GatewayError } from '../../transfer/gateway-error.ts';

/** The setup of a caller, without its model, and the bare name of the model. */
export interface LiveSetup {
  readonly model: string;
  readonly settings: LiveMessage;
}

/** @throws GatewayError for a first message that is no setup, or names no model */
export function readSetup(data: Buffer): LiveSetup {
  const message = readLiveMessage(data);
  const sent = message === null ? null : usualMembers(message);
  if (sent === null || !isObject(sent.setup) || Object.keys(sent).length !== 1) {
    throw new GatewayError('invalid_request', 'The first message must have one member, setup');
  }
  const { model, ...settings } = sent.setup;
  const name = typeof model === 'string' ? bareModel(model) : '';
  if (name === '') {
    throw new GatewayError('invalid_request', 'setup.model must name a model', 'setup.model');
  }
  requireNoObjects(sent.setup);
  return { model: name, settings };
}

/** `models/m`, `publishers/google/models/m` and `projects/…/publishers/google/models/m` name the model `m`. */
function bareModel(name: string): string {
  return name
    .replace(/^projects\/[^/]+\/locations\/[^/]+\//, '')
    .replace(/^publishers\/google\//, '')
    .replace(/^models\//, '');
}

/**
 * The message with its members in their usual spelling.
 *
 * @throws GatewayError for a member in both spellings
 */
export function usualMembers(message: LiveMessage): LiveMessage {
  try {
    return withUsualNames(message);
  } catch (thrown) {
    if (!(thrown instanceof NotTranslatable)) throw thrown;
    const { message: text, path } = thrown;
    throw new GatewayError('invalid_request', text, path, { cause: thrown });
  }
}

/** @throws GatewayError for a message that names files or other objects which the provider's account stores */
export function requireNoObjects(message: LiveMessage): void {
  const [named] = geminiReferences(message, ['fileuri', 'cachedcontent']);
  if (named === undefined) return;
  const text = 'Sessions cannot name stored objects; send their content';
  throw new GatewayError('invalid_request', text, named.param);
}

/** @throws GatewayError for a setting that nobody can check */
export function requireKnownSettings(settings: LiveMessage): void {
  const unknown = Object.keys(settings).find((name) => !setupMembers.has(name));
  if (unknown === undefined) return;
  const param = `setup.${unknown}`;
  const message = `${param} is not known to the gateway, whose limits, guardrails or model rules could not check it`;
  throw new GatewayError('invalid_request', message, param);
}

/** @throws GatewayError for a setting whose usage no limit counts */
export function requireCountedSettings(settings: LiveMessage): void {
  const unseen = unseenLiveSetting(settings);
  if (unseen === null) return;
  const param = `setup.${unseen}`;
  const message = `Limits of tokens or cost cannot count the usage of ${param}; leave it out`;
  throw new GatewayError('usage_unbounded', message, param);
}

/** The most that current models write in one response. */
const outputTokensUsual = 8_192;

/** @throws GatewayError for a bound that is no number */
export function outputTokensOf(settings: LiveMessage): number {
  const tokens = requestedLiveOutput(settings) ?? outputTokensUsual;
  if (!Number.isNaN(tokens)) return tokens;
  const param = 'setup.generationConfig.maxOutputTokens';
  throw new GatewayError('invalid_request', `${param} must be a whole number above 0`, param);
}

export function withOutputTokens(settings: LiveMessage, tokens: number): LiveMessage {
  const generationConfig = {
    ...objectIn(settings, 'generationConfig'),
    maxOutputTokens: tokens,
  };
  return { ...settings, generationConfig };
}

/** The handle of the session to resume; null for a new session. */
export function handleIn(settings: LiveMessage): string | null {
  return textIn(settings.sessionResumption, 'handle');
}

export function withHandle(settings: LiveMessage, handle: string): LiveMessage {
  const sessionResumption = { ...objectIn(settings, 'sessionResumption'), handle };
  return { ...settings, sessionResumption };
}

/** Version of the API in the address: `v1beta`, `v1alpha`. */
const versionPattern = /^v\d(?:alpha|beta)\d?$|^v1$/;
const liveSuffix = /\/live$/;

/** Address of the live API beside the address that the target has for other requests, and the model as it names it. */
export function liveAddress(
  { call, model }: ResolvedTarget,
  version: string | null,
): { readonly path: string; readonly model: string } {
  const [below = ''] = call.path.split('?', 1);
  const base = below.replace(liveSuffix, '');
  const named = version !== null && versionPattern.test(version) ? version : null;
  const [, vertex, place] = /^(.*?)\/v1(?:beta1)?(\/projects\/.*)$/.exec(base) ?? [];
  if (place !== undefined) {
    const path = `/ws/google.cloud.aiplatform.${named ?? 'v1beta1'}.LlmBidiService/BidiGenerateContent`;
    const name = (model ?? '').replace(/^(?:publishers\/)?google\/(?:models\/)?/, '');
    return { path: vertex + path, model: `${place.slice(1)}/models/${name}` };
  }
  const prefix = base.replace(/\/v1(?:alpha|beta)?$/, '');
  const path = `/ws/google.ai.generativelanguage.${named ?? 'v1beta'}.GenerativeService.BidiGenerateContent`;
  return { path: prefix + path, model: `models/${(model ?? '').replace(/^models\//, '')}` };
}
