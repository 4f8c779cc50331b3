/** Handles the messages of a provider of Gemini's live API: charges responses, seals handles, and holds texts for guardrails. */

import { detach } from '../../../detached.ts';
import { addJudgement, nothingJudged } from '../../../guardrails/check-records.ts';
import { verdictOf } from '../../../guardrails/evaluate.ts';
import { isObject } from '../../../model/json/read-object.ts';
import { base64Bytes } from '../../../model/realtime/input-tokens.ts';
import {
  type LiveMessage,
  providerMembers,
  readLiveMessage,
} from '../../../model/realtime/live-messages.ts';
import { objectIn, textIn } from '../../../model/realtime/openai-events.ts';
import { GatewayError } from '../../transfer/gateway-error.ts';
import type { SocketMessage } from '../event-queue.ts';
import { hasDeciding } from '../judge-events.ts';
import { HeldTurn, type TurnRelease } from './held-turn.ts';
import { endByError, rejectedTurn } from './live-errors.ts';
import type { LiveState } from './live-state.ts';
import { logRefusedTurn, type TurnVerdict } from './live-turn.ts';
import { liveUsageIn } from './live-usage.ts';

export class LiveProviderMessages {
  readonly #state: LiveState;
  readonly #held = new HeldTurn();
  /** Called when a response has ended. */
  readonly #onEnd: () => void;

  constructor(state: LiveState, onEnd: () => void) {
    this.#state = state;
    this.#onEnd = onEnd;
  }

  handle({ data }: SocketMessage): void | Promise<void> {
    const { ports } = this.#state;
    const message = readLiveMessage(data);
    if (message === null) {
      if (this.#guardrails.length === 0) ports.toCaller(data);
      return;
    }
    const { turns } = this.#state;
    const usage = liveUsageIn(message);
    const isReport = usage !== null && !turns.isRunning && !turns.isUsageDue;
    const begun = hasOutput(message) || isReport ? this.#begin() : undefined;
    const go = (): void | Promise<void> => {
      turns.addOutput(outputTokensIn(message));
      if (usage !== null) turns.report(usage);
      return this.#deliver(message, data, endOf(message));
    };
    return begun instanceof Promise ? begun.then(go) : go();
  }

  get #guardrails() {
    return this.#state.ports.terms.guardrails?.output ?? [];
  }

  #begin(): void | Promise<void> {
    const { ports, turns } = this.#state;
    const begun = turns.begin();
    if (!(begun instanceof Promise)) return;
    return begun.catch((thrown: unknown) => {
      if (!(thrown instanceof GatewayError)) throw thrown;
      logRefusedTurn(ports, thrown);
      ports.end(endByError(thrown));
    });
  }

  /** `end` says how a response ends with the message; null if it does not. */
  #deliver(message: LiveMessage, data: Buffer, end: TurnEnd | null): void | Promise<void> {
    const { ports, turns } = this.#state;
    if (ports.isEnded) {
      // Nobody receives the rest, but its usage is charged.
      if (end !== null) turns.end(end === 'calls', hasUsage(message));
      return;
    }
    if (hasDeciding(this.#guardrails)) return this.#hold(message, data, end);
    ports.toCaller(this.#sealed(message) ?? data);
    if (this.#guardrails.length > 0) this.#observe(message, data, end);
    if (end !== null) this.#end(end, message);
  }

  #hold(message: LiveMessage, data: Buffer, end: TurnEnd | null): void | Promise<void> {
    const kinds = Object.keys(message).map((name) => providerMembers.get(name));
    // Nobody knows which texts an unknown member has.
    if (kinds.includes(undefined)) return end === null ? undefined : this.#release(end, message);
    if (!kinds.includes('turn')) return this.#state.ports.toCaller(this.#sealed(message) ?? data);
    this.#held.add(message, data);
    return end === null ? undefined : this.#release(end, message);
  }

  /** Judges the texts of a response, and passes it on or ends its turn without it. */
  async #release(end: TurnEnd, last: LiveMessage): Promise<void> {
    const { ports } = this.#state;
    const release = await this.#held.judge(this.#guardrails, ports.terms, ports.now());
    this.#end(end, last, verdictIn(release));
    if (release.isDenied) ports.toCaller(rejectedTurn('response', last.usageMetadata));
    for (const message of release.messages) ports.toCaller(message);
  }

  #end(end: TurnEnd, last: LiveMessage, verdict?: TurnVerdict): void {
    this.#state.turns.end(end === 'calls', hasUsage(last), verdict);
    this.#onEnd();
  }

  /** Lets guardrails that only observe see a response. */
  #observe(message: LiveMessage, data: Buffer, end: TurnEnd | null): void {
    this.#held.add(message, data);
    if (end === null) return;
    const { ports } = this.#state;
    const judging = this.#held.judge(this.#guardrails, ports.terms, ports.now());
    const noting = judging.then(({ judgement }) => {
      if (judgement !== null) ports.log.addJudgement(judgement);
    });
    detach('an observing guardrail', noting);
  }

  /** A message with a handle, which the caller receives sealed; null for any other message. */
  #sealed(message: LiveMessage): string | null {
    const { handles, conversation, ports } = this.#state;
    const { sessionResumptionUpdate: update } = message;
    const handle = textIn(update, 'newHandle') ?? '';
    if (!isObject(update) || handle === '') return null;
    const newHandle = handles.seal({ handle, tokens: conversation.tokens }, ports.terms);
    return JSON.stringify({ ...message, sessionResumptionUpdate: { ...update, newHandle } });
  }
}

function hasUsage({ usageMetadata }: LiveMessage): boolean {
  return isObject(usageMetadata);
}

type TurnEnd = 'turn' | 'calls';

/** Whether a message has output of a response. */
function hasOutput(message: LiveMessage): boolean {
  if (isObject(message.toolCall)) return true;
  const { modelTurn, outputTranscription } = objectIn(message, 'serverContent');
  return modelTurn !== undefined || outputTranscription !== undefined;
}

function endOf(message: LiveMessage): TurnEnd | null {
  if (objectIn(message, 'serverContent').turnComplete === true) return 'turn';
  return isObject(message.toolCall) ? 'calls' : null;
}

/** Bytes of sound of a token, in the rate of 24,000 samples that models answer in. */
const soundBytesOfToken = 1_500;
const textBytesOfToken = 4;

/** Output in a message, in tokens. */
function outputTokensIn(message: LiveMessage): number {
  const { parts } = objectIn(objectIn(message, 'serverContent'), 'modelTurn');
  let tokens = isObject(message.toolCall)
    ? JSON.stringify(message.toolCall).length / textBytesOfToken
    : 0;
  for (const part of Array.isArray(parts) ? (parts as unknown[]) : []) {
    const { inlineData, ...others } = isObject(part) ? part : {};
    const bytes = base64Bytes(objectIn({ inlineData }, 'inlineData').data);
    tokens += bytes / soundBytesOfToken + JSON.stringify(others).length / textBytesOfToken;
  }
  return tokens;
}

function verdictIn({ judgement, isDenied }: TurnRelease): TurnVerdict {
  const verdict = judgement === null ? (isDenied ? 'denied' : null) : verdictOf(judgement);
  const status = isDenied ? 446 : verdict === 'failed' ? 246 : 200;
  return {
    verdict,
    judged: judgement ? addJudgement(nothingJudged, judgement) : nothingJudged,
    status,
  };
}
