/** Seals the session ids of upstream servers to the key and the server, so that any replica can open them and no other caller. */
import { TextSealer } from '../../auth/sealing.ts';
import { PlaneFault } from '../messages/plane-fault.ts';

/** Longer ids are refused unread. */
const sealedCharsMax = 4096;
/** MCP allows visible ASCII only. */
const idPattern = /^[\x21-\x7e]{1,1024}$/;

type Owner = { readonly key: { readonly id: string }; readonly server: { readonly id: string } };

export class SessionIds {
  readonly #sealer: TextSealer;

  /** `readKey` is called once, when the first session begins. */
  constructor(readKey: () => Buffer) {
    this.#sealer = new TextSealer({ readKey, purpose: 'mcp-session', sealedCharsMax });
  }

  /** Null for an id that MCP does not allow. */
  seal(upstreamId: string, owner: Owner): string | null {
    return idPattern.test(upstreamId) ? this.#sealer.seal(upstreamId, placeOf(owner)) : null;
  }

  /** @throws PlaneFault one error for every id that was not sealed for this key and server */
  open(sealed: string, owner: Owner): string {
    const upstreamId = this.#sealer.open(sealed, placeOf(owner));
    if (upstreamId !== null) return upstreamId;
    throw sessionNotFound();
  }
}

export function sessionNotFound(): PlaneFault {
  return new PlaneFault('session_not_found', 'The session does not exist; initialize a new one');
}

function placeOf({ key, server }: Owner): string {
  return `mcp-session|${key.id}|${server.id}`;
}
