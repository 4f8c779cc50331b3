/** Runs one open session: passes messages between caller and provider through the rules, within bounds, until either side ends. */
import { monotonicMs } from '../../monotonic.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { EventQueue, type SocketMessage } from './event-queue.ts';
import type { PeerSocket } from './peer-socket.ts';
import type { SessionLog } from './session-log.ts';
import type { SessionEnd, SessionPorts, SessionRules } from './session-ports.ts';
import type { SessionTerms } from './session-terms.ts';

export interface SessionBounds {
  /** How long a session may last. */
  readonly sessionMs: number;
  /** How long neither side may send anything. */
  readonly idleMs: number;
}

export interface SessionParts {
  readonly caller: PeerSocket;
  readonly provider: PeerSocket;
  readonly terms: SessionTerms;
  readonly log: SessionLog;
  readonly bounds: SessionBounds;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Finds and checks the caller's key anew. */
  readonly authenticate: (now: number) => Promise<GatewayKey>;
  readonly isUnavailable: (error: unknown) => boolean;
  readonly onFault: (error: unknown) => void;
  readonly onEvent: (side: 'caller' | 'provider') => void;
  /** Called once, when nothing of the session is left. */
  readonly onEnd: () => void;
}

/** Unsent and unhandled bytes of one direction, beyond which its sender is not read. */
const waitingBytesMax = 1024 * 1024;
const pingEveryMs = 20_000;
/** How long a provider may take to report the usage of a response that is cancelled. */
const cancelMs = 1_000;
/** Codes that one side may send and the other one receive. */
const passedCodes = new Set([1000, 1001, 1003, 1007, 1008, 1009, 1011, 1012, 1013]);

export class RealtimeSession implements SessionPorts {
  readonly log: SessionLog;
  readonly now: () => number;
  readonly #parts: SessionParts;
  readonly #beganMs = monotonicMs();
  readonly #fromCaller: EventQueue;
  readonly #fromProvider: EventQueue;
  #rules!: SessionRules;
  #terms: SessionTerms;
  #end: SessionEnd | null = null;
  #isOver = false;
  #cancelTimer: NodeJS.Timeout | null = null;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#terms = parts.terms;
    this.log = parts.log;
    this.now = parts.now;
    const [balance, fail] = [() => this.#balance(), (error: unknown) => this.#fail(error)];
    this.#fromCaller = new EventQueue((one) => this.#rules.fromCaller(one), balance, fail);
    this.#fromProvider = new EventQueue((one) => this.#rules.fromProvider(one), balance, fail);
  }

  /** `first` is the first message of the provider, which has been read already. Never throws. */
  start(rules: SessionRules, first: SocketMessage): void {
    const { caller, provider, onEvent } = this.#parts;
    this.#rules = rules;
    try {
      rules.begin(first);
    } catch (thrown) {
      this.#fail(thrown);
    }
    provider.start({
      onMessage: (message) => {
        onEvent('provider');
        this.#fromProvider.push(message);
        this.#afterMessage();
      },
      onDrain: () => this.#balance(),
      onClose: (code, reason) => {
        this.end(endByProvider(code, reason));
        this.#finish();
      },
    });
    caller.start({
      onMessage: (message) => {
        onEvent('caller');
        if (!this.isEnded) this.#fromCaller.push(message);
        this.#afterMessage();
      },
      onDrain: () => this.#balance(),
      onClose: () => this.end({ code: 1000, reason: '', errorCode: null }),
    });
    this.#balance();
  }

  get terms(): SessionTerms {
    return this.#terms;
  }

  get isEnded(): boolean {
    return this.#end !== null;
  }

  get isBusy(): boolean {
    return this.#rules.isBusy;
  }

  toCaller(data: Buffer | string): void {
    this.#parts.caller.send(data);
  }

  toProvider(data: Buffer | string): void {
    this.#parts.provider.send(data);
  }

  /** Closes the caller's side at once, and the provider's as soon as the usage of a running response is known. */
  end(end: SessionEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    const { caller, provider } = this.#parts;
    caller.close(end.code, end.reason);
    this.#fromCaller.close();
    provider.setPaused(false);
    const isStopping = provider.isOpen && this.#rules.cancel();
    if (isStopping) this.#cancelTimer = setTimeout(() => this.#finish(), cancelMs);
    else this.#finish();
  }

  /** Reads the rights of the caller anew; ends the session when it may not go on. Never rejects. */
  async follow(): Promise<void> {
    if (this.isEnded) return;
    try {
      const now = this.now();
      const key = await this.#parts.authenticate(now);
      this.#terms = await this.#terms.renew(key, now);
      if (this.isEnded || (await this.#rules.mayGoOn())) return;
      const reason = 'limits now apply that this session was not opened with; connect again';
      this.end({ code: 1008, reason, errorCode: 'conflict' });
    } catch (thrown) {
      if (thrown instanceof GatewayError) this.end(endByError(thrown));
      // The change is found again once the database responds.
      else if (!this.#parts.isUnavailable(thrown)) this.#fail(thrown);
    }
  }

  /** Ends a session whose time is over, or whose peer is gone. `nowMs` of the monotonic clock. */
  check(nowMs: number): void {
    if (this.isEnded) return;
    const { caller, provider } = this.#parts;
    const end = endByTime(this.#parts, this.#terms, nowMs - this.#beganMs, nowMs);
    if (end !== null) this.end(end);
    else if (!caller.checkAlive(nowMs, pingEveryMs)) caller.terminate();
    else if (!provider.checkAlive(nowMs, pingEveryMs)) provider.terminate();
  }

  #fail(error: unknown): void {
    this.#parts.onFault(error);
    this.end({ code: 1011, reason: 'internal error', errorCode: 'internal_error' });
    this.#finish();
  }

  #afterMessage(): void {
    if (this.#end === null) this.#balance();
    else if (!this.#rules.isBusy) this.#finish();
  }

  /** Reads from nobody whose messages cannot be passed on yet. */
  #balance(): void {
    const { caller, provider } = this.#parts;
    if (this.#end !== null) return;
    const isCallerSlow = caller.unsentBytes > waitingBytesMax;
    const waitingBytes = Math.max(provider.unsentBytes, this.#fromCaller.bytes);
    // A caller that reads nothing is not read either, because it could cause any number of error events.
    caller.setPaused(isCallerSlow || waitingBytes > waitingBytesMax);
    provider.setPaused(isCallerSlow || this.#fromProvider.bytes > waitingBytesMax);
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#cancelTimer !== null) clearTimeout(this.#cancelTimer);
    this.#fromProvider.close();
    this.#rules.close();
    this.#parts.provider.close(1000, '');
    this.log.end(this.#terms, this.#end!.errorCode);
    this.#parts.onEnd();
  }
}

/** The caller receives the provider's code, unless it is one that only describes a broken connection. */
function endByProvider(code: number, reason: string): SessionEnd {
  const isPassed = passedCodes.has(code) || (code >= 3000 && code <= 4999);
  if (isPassed) return { code, reason, errorCode: null };
  return { code: 1011, reason: 'the provider has broken off', errorCode: 'upstream_unreachable' };
}

function endByError({ code, message }: GatewayError): SessionEnd {
  return { code: 1008, reason: `${code}: ${message}`, errorCode: code };
}

/** Null while the session may go on. */
function endByTime(
  { caller, provider, bounds, now }: SessionParts,
  { exchange }: SessionTerms,
  lastedMs: number,
  nowMs: number,
): SessionEnd | null {
  const { endsAtMs } = exchange.key;
  if (endsAtMs !== null && endsAtMs <= now()) {
    return endByError(new GatewayError('api_key_expired', 'The API key has expired'));
  }
  const quietMs = nowMs - Math.max(caller.lastMessageMs, provider.lastMessageMs);
  const reason =
    lastedMs >= bounds.sessionMs
      ? 'the session has reached its longest duration; connect again'
      : quietMs >= bounds.idleMs
        ? 'nothing was sent for too long; connect again'
        : null;
  return reason === null ? null : { code: 1001, reason, errorCode: 'request_timeout' };
}
