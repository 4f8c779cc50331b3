/** Seals the state of a call that waits for input, to its caller, server and arguments, so that no other retry can continue it. */
import { type SealingKey, sealingKey, sealText, unsealText } from '../../auth/sealing.ts';
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
  readonly #readKey: () => Buffer;
  #key: SealingKey | null = null;

  /** `readKey` is called once, when the first call waits for input. */
  constructor(readKey: () => Buffer) {
    this.#readKey = readKey;
  }

  seal(place: WaitingPlace, subject: CallSubject): string {
    return sealText(
      this.#sealingKey(),
      JSON.stringify(place),
      subjectBinding('mcp-waiting-call', subject),
    );
  }

  /** Null for every state that was not sealed for this request; does not check the expiry. */
  open(sealed: string, subject: CallSubject): WaitingPlace | null {
    if (sealed.length > sealedCharsMax) return null;
    const binding = subjectBinding('mcp-waiting-call', subject);
    try {
      const text = unsealText(this.#sealingKey(), sealed, binding);
      return readJsonObject(text) as WaitingPlace | null;
    } catch {
      // Altered, of another request, or never issued: callers cannot tell these apart.
      return null;
    }
  }

  #sealingKey(): SealingKey {
    this.#key ??= sealingKey(this.#readKey(), 'mcp-request-state');
    return this.#key;
  }
}
