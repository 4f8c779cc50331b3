/** Seals the session ids of upstream servers to the key and the server, so that any replica can open them and no other caller. */
import { type SealingKey, sealingKey, sealText, unsealText } from '../../auth/sealing.ts';
import { PlaneFault } from '../messages/plane-fault.ts';

/** Longer ids are refused unread. */
const sealedCharsMax = 4096;
/** MCP allows visible ASCII only. */
const idPattern = /^[\x21-\x7e]{1,1024}$/;

type Owner = { readonly key: { readonly id: string }; readonly server: { readonly id: string } };

export class SessionIds {
  readonly #readKey: () => Buffer;
  #key: SealingKey | null = null;

  /** `readKey` is called once, when the first session begins. */
  constructor(readKey: () => Buffer) {
    this.#readKey = readKey;
  }

  /** Null for an id that MCP does not allow. */
  seal(upstreamId: string, owner: Owner): string | null {
    return idPattern.test(upstreamId)
      ? sealText(this.#sealingKey(), upstreamId, placeOf(owner))
      : null;
  }

  /** @throws PlaneFault one error for every id that was not sealed for this key and server */
  open(sealed: string, owner: Owner): string {
    if (sealed.length <= sealedCharsMax) {
      try {
        return unsealText(this.#sealingKey(), sealed, placeOf(owner));
      } catch {
        // Altered, of another key or server, or never issued: callers cannot tell these apart.
      }
    }
    throw new PlaneFault('session_not_found', 'The session does not exist; initialize a new one');
  }

  #sealingKey(): SealingKey {
    this.#key ??= sealingKey(this.#readKey(), 'mcp-session');
    return this.#key;
  }
}

function placeOf({ key, server }: Owner): string {
  return `mcp-session|${key.id}|${server.id}`;
}
