/** Seals the state of a call that waits for input, to its caller, server and arguments, so that no other retry can continue it. */
import { TextSealer } from '../../auth/sealing.ts';
import { readJsonObject } from '../../model/json/read-object.ts';
import { type CallSubject, subjectBinding } from '../rounds/call-states.ts';

/** Where a call waits for input. */
export interface WaitingPlace {
  /** Address of the replica that keeps the call open. */
  readonly owner: string;
  /** Id of the call and of its questions there. */
  readonly callId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Longer states are refused unread. */
const sealedCharsMax = 4096;

export class RequestStates {
  readonly #sealer: TextSealer;

  /** `readKey` is called once, when the first call waits for input. */
  constructor(readKey: () => Buffer) {
    this.#sealer = new TextSealer({ readKey, purpose: 'mcp-request-state', sealedCharsMax });
  }

  seal(place: WaitingPlace, subject: CallSubject): string {
    return this.#sealer.seal(JSON.stringify(place), subjectBinding('mcp-waiting-call', subject));
  }

  /** Null for every state that was not sealed for this request; does not check the expiry. */
  open(sealed: string, subject: CallSubject): WaitingPlace | null {
    const text = this.#sealer.open(sealed, subjectBinding('mcp-waiting-call', subject));
    return text === null ? null : (readJsonObject(text) as WaitingPlace | null);
  }
}
