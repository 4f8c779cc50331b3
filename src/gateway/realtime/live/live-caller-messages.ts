/** Checks the messages of a caller of Gemini's live API against limits and guardrails, and passes them on. */
import {
  liveMessageTokens,
  unboundedContent,
  unseenLiveSetting,
} from '../../../model/realtime/live-input.ts';
import {
  callerMessageName,
  type LiveMessage,
  readLiveMessage,
  unknownMember,
} from '../../../model/realtime/live-messages.ts';
import { objectIn } from '../../../model/realtime/openai-events.ts';
import { GatewayError } from '../../transfer/gateway-error.ts';
import type { SocketMessage } from '../event-queue.ts';
import { endByError, rejectedTurn } from './live-errors.ts';
import { InputJudge } from './live-input-judge.ts';
import { requireNoObjects, usualMembers } from './live-setup.ts';
import type { LiveState } from './live-state.ts';
import { logRefusedTurn, type TurnCause } from './live-turn.ts';

export class LiveCallerMessages {
  readonly #state: LiveState;
  readonly #judge: InputJudge;
  /** A limit has refused the next response: the session ends with the running one. */
  #refusal: GatewayError | null = null;

  constructor(state: LiveState) {
    this.#state = state;
    this.#judge = new InputJudge(state.ports);
  }

  handle({ data }: SocketMessage): void | Promise<void> {
    if (this.#refusal !== null) return;
    const message = readLiveMessage(data);
    try {
      if (message === null) {
        throw new GatewayError('invalid_json', 'A message must be a JSON object');
      }
      return this.#check(message, data)?.catch((thrown: unknown) => this.#refuse(thrown));
    } catch (thrown) {
      this.#refuse(thrown);
    }
  }

  /** The running response has ended. */
  responseEnded(): void {
    if (this.#refusal !== null) this.#state.ports.end(endByError(this.#refusal));
  }

  #check(sent: LiveMessage, data: Buffer): Promise<void> | undefined {
    const { ports, limits } = this.#state;
    const message = usualMembers(sent);
    const name = callerMessageName(message);
    const isJudged = this.#judge.guardrails.length > 0;
    if (!limits.isGoverned && !isJudged && !ports.terms.hasModelRules) {
      if (message.setup !== undefined) throw unknownMessage(message);
      requireNoObjects(message);
      ports.toProvider(data);
      return;
    }
    if (name === null) throw unknownMessage(message);
    const unknown = unknownMember(message, name);
    if (unknown !== null) throw new GatewayError('invalid_request', unknownText(unknown), unknown);
    requireNoObjects(message);
    if (limits.isBounded) this.#requireBounded(message);
    // Usual while somebody speaks: nothing has to be awaited.
    if (name === 'realtimeInput' && !this.#judge.mustJudge(message)) {
      const passed = this.#pass(message, name);
      return passed instanceof Promise ? passed : undefined;
    }
    return this.#judgeAndPass(message, name);
  }

  async #judgeAndPass(message: LiveMessage, name: string): Promise<void> {
    const { ports } = this.#state;
    const judged = await this.#judge.judge(message);
    if (ports.isEnded) return;
    if (judged === null) ports.toCaller(rejectedTurn('input', undefined));
    else await this.#pass(judged, name);
  }

  #pass(message: LiveMessage, name: string): void | Promise<void> {
    const { ports, limits, conversation, turns } = this.#state;
    // Written anew, so that the provider reads exactly what was checked.
    const send = (): void => ports.toProvider(JSON.stringify(message));
    if (!limits.isGoverned) return send();
    conversation.add(liveMessageTokens(message));
    const cause = this.#causeIn(message, name);
    const prepared = cause === null ? undefined : turns.prepare(cause);
    if (!(prepared instanceof Promise)) return send();
    return prepared.then(() => {
      if (!ports.isEnded) send();
    });
  }

  /** How a message may start a response; null if it cannot. */
  #causeIn(message: LiveMessage, name: string): TurnCause | null {
    const member = objectIn(message, name);
    if (name === 'clientContent') return member.turnComplete === true ? 'input' : null;
    if (name === 'toolResponse') return 'results';
    if (name !== 'realtimeInput') return null;
    const { text, activityEnd, audioStreamEnd } = member;
    if (text !== undefined || activityEnd !== undefined) return 'input';
    if (!this.#state.detectsTurns) return null;
    return audioStreamEnd === true ? 'input' : 'sound';
  }

  /** @throws GatewayError for content whose usage no limit can bound */
  #requireBounded(message: LiveMessage): void {
    const { contextUpdate } = message;
    const unseen =
      contextUpdate === undefined
        ? unboundedContent(message)
        : unseenLiveSetting(objectIn({ contextUpdate }, 'contextUpdate'));
    if (unseen === null) return;
    const text = `Limits of tokens or cost cannot count the usage of ${unseen}; leave it out`;
    throw new GatewayError('usage_unbounded', text, unseen);
  }

  /** The format has no errors, so that a message which cannot be passed on ends the session, after a running response. */
  #refuse(thrown: unknown): void {
    if (!(thrown instanceof GatewayError)) throw thrown;
    const { ports, turns } = this.#state;
    if (ports.isEnded) return;
    if (isLimit(thrown)) {
      logRefusedTurn(ports, thrown);
      if (turns.isRunning) {
        this.#refusal = thrown;
        return;
      }
    }
    ports.end(endByError(thrown));
  }
}

function isLimit({ code }: GatewayError): boolean {
  return code === 'usage_limit_exceeded' || code === 'rate_limit_exceeded';
}

function unknownMessage(message: LiveMessage): GatewayError {
  const [name = ''] = Object.keys(message);
  const quoted = /^\w{1,80}$/.test(name) ? ` ${name}` : '';
  return new GatewayError('invalid_request', unknownText(`message${quoted}`));
}

function unknownText(what: string): string {
  return `The ${what} is not known to the gateway, or not allowed here`;
}
