/** Prepares the setup of a live session for one target: checks it, reserves the first response, and builds what is sent. */

import { detectsTurns } from '../../../model/realtime/live-input.ts';
import type { LiveMessage } from '../../../model/realtime/live-messages.ts';
import { usualAddress } from '../../../model/services/service-address.ts';
import type { GatewayServices } from '../../calls/request-context.ts';
import { GatewayError } from '../../transfer/gateway-error.ts';
import { ConversationBound } from '../conversation-bound.ts';
import { type LimitRules, limitRulesAt } from '../limit-rules.ts';
import type { PreparedTarget, RealtimeForm } from '../realtime-form.ts';
import type { ResponseAccount } from '../response-account.ts';
import { admitResponse } from '../response-account.ts';
import type { SessionTerms } from '../session-terms.ts';
import { deniedSetup } from './live-errors.ts';
import type { LiveHandles } from './live-handles.ts';
import { judgeLiveInput } from './live-input-judge.ts';
import { LiveRules } from './live-rules.ts';
import {
  handleIn,
  liveAddress,
  outputTokensOf,
  requireCountedSettings,
  requireKnownSettings,
  requireNoObjects,
  withHandle,
  withOutputTokens,
} from './live-setup.ts';
import { LiveTurns } from './live-turns.ts';

type Services = Pick<GatewayServices, 'ledger' | 'now' | 'countsAbortedStreams'>;

/** Tokens that providers add to the conversation: instructions for tools, and separators. */
const addedTokens = 1_024;

/** `version` is the version of the API that the caller has named; null for none. */
export function liveForm(
  services: Services,
  handles: LiveHandles,
  version: string | null,
): RealtimeForm {
  return {
    prepare: (terms) => prepare(services, handles, version, terms),
    refusalIn: () => null,
  };
}

async function prepare(
  services: Services,
  handles: LiveHandles,
  version: string | null,
  terms: SessionTerms,
): Promise<PreparedTarget> {
  requireLive(terms);
  const limits = await limitRulesAt(terms, services.now());
  const { settings, resumedTokens } = await checkedSettings(terms, limits, handles, services.now());
  const conversation = new ConversationBound();
  conversation.add(Buffer.byteLength(JSON.stringify(settings)) + addedTokens + resumedTokens);
  const first = limits.isGoverned
    ? await reserveFirst(services, terms, conversation, settings)
    : null;
  const outputTokens = first?.outputTokens ?? 0;
  const sent = first?.isClamped === true ? withOutputTokens(settings, outputTokens) : settings;
  const address = liveAddress(terms.target, version);
  return {
    path: address.path,
    headers: {},
    opening: JSON.stringify({ setup: { model: address.model, ...sent } }),
    release: () => first?.release(),
    rulesOf: (ports) => {
      const turnTerms = {
        ledger: services.ledger,
        isGoverned: limits.isGoverned,
        outputTokens,
        countsUnreported: services.countsAbortedStreams,
      };
      const turns = new LiveTurns(ports, turnTerms, conversation, first);
      const detects = detectsTurns(settings);
      return new LiveRules({
        ports,
        limits,
        conversation,
        turns,
        handles,
        detectsTurns: detects,
      });
    },
  };
}

/** @throws GatewayError for a provider without Gemini's live API */
function requireLive({ target: { pricing, provider } }: SessionTerms): void {
  if (usualAddress(pricing.service).geminiForm !== undefined) return;
  throw new GatewayError('not_found', `The provider ${provider} has no live API of Gemini`);
}

/** @throws GatewayError for settings that limits, guardrails or the owner of a session do not allow */
async function checkedSettings(
  terms: SessionTerms,
  limits: LimitRules,
  handles: LiveHandles,
  now: number,
): Promise<{ readonly settings: LiveMessage; readonly resumedTokens: number }> {
  const { model: _, ...own } = terms.target.params;
  let settings: LiveMessage = own;
  const guardrails = terms.guardrails?.input ?? [];
  const isChecked = limits.isGoverned || guardrails.length > 0 || terms.hasModelRules;
  if (isChecked) requireKnownSettings(settings);
  requireNoObjects(settings);
  if (limits.isBounded) requireCountedSettings(settings);
  if (guardrails.length > 0) {
    const { judgement, judged } = await judgeLiveInput(guardrails, terms, now, settings);
    if (judgement.isDenied) throw new GatewayError('invalid_request', deniedSetup(judgement));
    settings = judged;
  }
  const handle = handleIn(settings);
  if (handle === null) return { settings, resumedTokens: 0 };
  const resumed = handles.open(handle, terms);
  return { settings: withHandle(settings, resumed.handle), resumedTokens: resumed.tokens };
}

/** The output that it is granted bounds every response of the session. */
async function reserveFirst(
  { ledger, now }: Services,
  terms: SessionTerms,
  conversation: ConversationBound,
  settings: LiveMessage,
): Promise<ResponseAccount> {
  const startedAt = now();
  const bound = { inputTokens: conversation.tokens, outputTokens: outputTokensOf(settings) };
  const limits = await terms.limitsAt(startedAt);
  return admitResponse(ledger, terms.target, limits, bound, startedAt);
}
