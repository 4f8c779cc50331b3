/** Runs the bridged calls of this process, and brings answers and cancellations to them, whichever replica receives those. */
import type { NoteStore, SessionNote } from '../../store/records/gateway-records.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import { type ClientMessage, idKey, type RpcObject } from '../messages/read-messages.ts';
import type { BridgePort } from './bridge-port.ts';
import { BridgedCall, BridgedCalls, CallEnded } from './bridged-calls.ts';
import { sendLegacyCall } from './legacy-call.ts';
import type { LegacyReply } from './legacy-reply.ts';
import type { LegacySession, LegacySessions } from './legacy-session.ts';
import { answerName, cancelName, questionIn, type SessionWatch } from './session-notes.ts';
import type { SessionSettings } from './session-settings.ts';

/** How long an answer or a cancellation waits for the replica that has the call. */
const noteMs = 900_000;
const questionMs = 600_000;

export interface CallRunnerParts {
  readonly sessions: LegacySessions;
  readonly settings: SessionSettings;
  readonly store: NoteStore;
  readonly watch: SessionWatch;
}

/** Callers without a session all have the same id of it, and must not find the calls of others. */
function placeOf({ id }: LegacySession, { owner: { key, server } }: BridgePort): string {
  return id === '' ? `${key.id} ${server.id}` : id;
}

export class CallRunner {
  readonly #parts: CallRunnerParts;
  readonly #calls = new BridgedCalls();

  constructor(parts: CallRunnerParts) {
    this.#parts = parts;
  }

  /** Sends a call to the server, and waits for its response. @throws PlaneFault */
  async run(
    port: BridgePort,
    session: LegacySession,
    message: ClientMessage,
    reply: LegacyReply,
  ): Promise<void> {
    const { sessions, settings } = this.#parts;
    const call = new BridgedCall(message.id);
    const end = (why: string) => call.end(new CallEnded(why));
    const onClose = () => end('the client has gone');
    port.response.once('close', onClose);
    const forget = port.onStop(() => end('the gateway is stopping'));
    const place = placeOf(session, port);
    this.#calls.add(place, call);
    const unwatch = this.#watchNotes(port, session, call);
    try {
      const logLevel = await settings.level(port, session);
      const sealQuestion = (question: number) => {
        const text = `${call.nonce}.${question}.${port.now() + questionMs}`;
        return sessions.sealQuestion(text, session, port.owner);
      };
      await sendLegacyCall({ port, session, message, logLevel, reply, call, sealQuestion });
    } finally {
      unwatch();
      this.#calls.remove(place, call);
      forget();
      port.response.off('close', onClose);
    }
  }

  /** Brings an answer to its call, or leaves it for the replica that has the call. @throws PlaneFault */
  async takeAnswer(port: BridgePort, session: LegacySession, message: ClientMessage) {
    const { sessions, settings } = this.#parts;
    const { id, json } = message;
    const question = sessions.openQuestion(id, session, port.owner);
    const [nonce, number, endsAt] = question?.split('.') ?? [];
    if (nonce === undefined || !(Number(endsAt) > port.now())) {
      throw new PlaneFault('invalid_message', 'The response belongs to no question of the session');
    }
    const own = this.#calls.withNonce(placeOf(session, port), nonce);
    if (own !== undefined) {
      own.receive(Number(number), json);
      return;
    }
    const name = answerName(`${nonce}.${number}`);
    await settings.leave(port, session, name, json, port.now() + noteMs);
  }

  /** Cancels the call here, or leaves a note for the replica that has it. */
  async cancel(port: BridgePort, session: LegacySession, { requestId }: RpcObject): Promise<void> {
    const own = this.#calls.withId(placeOf(session, port), requestId);
    if (own !== undefined) own.end(new CallEnded('the client has cancelled the call'));
    else if (session.id !== '') {
      const name = cancelName(idKey(requestId));
      await this.#parts.settings.leave(port, session, name, {}, port.now() + noteMs);
    }
  }

  #watchNotes(port: BridgePort, session: LegacySession, call: BridgedCall): () => void {
    if (session.id === '') return () => {};
    const { organisationId } = port;
    const { store, watch } = this.#parts;
    return watch.add({
      organisationId,
      sessionId: session.id,
      isUrgent: () => call.isWaiting,
      receive: (notes) => {
        const used = notes.filter((note) => this.#apply(session, call, note));
        if (used.length === 0) return;
        const names = used.map(({ name }) => name);
        // A note that stays behind belongs to no later call, and expires.
        store.removeNotes(organisationId, session.id, names).catch(() => undefined);
      },
    });
  }

  /** Whether the note belongs to the call. */
  #apply(session: LegacySession, call: BridgedCall, { name, value }: SessionNote): boolean {
    if (name === cancelName(idKey(call.id))) {
      call.end(new CallEnded('the client has cancelled the call'));
      return true;
    }
    const [nonce, number] = questionIn(name)?.split('.') ?? [];
    if (nonce !== call.nonce) return false;
    const text = this.#parts.sessions.openNote(value, session);
    if (text === null) call.end(new CallEnded('the answer of the client cannot be read'));
    else call.receive(Number(number), JSON.parse(text) as RpcObject);
    return true;
  }
}
