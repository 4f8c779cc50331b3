/** Estimates the output of a stream that ended without a usage report from what arrived of it. */
import type { Admission } from './admit.ts';
import type { ArrivedText } from './arrived-text.ts';
import { meteringOf } from './bound.ts';

/** Faster than models with hidden thinking write. */
const hiddenTokensPerSecond = 500;

/** Services whose newer models think without being requested to, and hide it. */
const hidingServices = new Set([
  'openai',
  'azure-openai',
  'azure-ai',
  'google',
  'vertex-ai',
  'x-ai',
]);
/** Models of these services that do not think. */
const unthinkingModels =
  /(?:^|[^a-z])(?:gpt-(?:3|4)|chatgpt-4|davinci|babbage|gemini-(?:1|2\.0)|grok-(?:1|2))/i;

type CountedCall = Pick<Admission, 'target' | 'admittedMs' | 'outputTokens'>;

/** Whether the provider stops to work when its stream is cut. Runs and background responses continue. */
export function stopsWithStream({ target }: Pick<Admission, 'target'>): boolean {
  const { metering, params } = target;
  if (metering === 'runs' || params.background === true) return false;
  return meteringOf(metering)?.output === 'members';
}

/**
 * The tokens that arrived, and those of thinking that may be hidden: as many as a model can write in the time, at
 * most what was granted. `nowMs` is monotonic.
 */
export function countedOutput(
  { target, admittedMs, outputTokens }: CountedCall,
  text: ArrivedText,
  arrivedTokens: number,
  nowMs: number,
): number {
  const seconds = Math.max(0, nowMs - admittedMs) / 1_000;
  const hidden = mayHideThinking(target, text) ? Math.ceil(seconds * hiddenTokensPerSecond) : 0;
  return Math.min(outputTokens, arrivedTokens + hidden);
}

function mayHideThinking({ params, pricing }: Admission['target'], text: ArrivedText): boolean {
  const requested = requestedThinking(params);
  if (requested !== null) return requested;
  if (text.hasSummary) return true;
  const { service, model } = pricing;
  return hidingServices.has(service) && !unthinkingModels.test(model ?? '');
}

/** Null when the request does not mention thinking. */
function requestedThinking(params: Admission['target']['params']): boolean | null {
  const effort =
    memberOf(params.reasoning, 'effort') ??
    memberOf(params.output_config, 'effort') ??
    params.reasoning_effort;
  const mode = memberOf(params.thinking, 'type');
  const budget = memberOf(memberOf(params.generationConfig, 'thinkingConfig'), 'thinkingBudget');
  const gemini = memberOf(params.generationConfig, 'thinkingConfig');
  if (gemini !== undefined) return memberOf(gemini, 'thinkingBudget') !== 0;
  if (effort === 'none' || mode === 'disabled' || budget === 0) return false;
  const isRequested = (effort ?? mode ?? params.reasoning ?? params.thinking ?? null) !== null;
  return isRequested ? true : null;
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name] ?? undefined;
}
