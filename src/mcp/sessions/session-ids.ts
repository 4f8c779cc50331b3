/** Seals the session ids of upstream servers to the key and the server, so that any replica can open them and no other caller. */
import { TextSealer } from '../../auth/sealing.ts';
import { PlaneFault } from '../messages/plane-fault.ts';

/** Longer ids are refused unread. */
const sealedCharsMax = 4096;
/** MCP allows visible ASCII only. */
const idPattern = /^[\x21-\x7e]{1,1024}$/;

/** A session of an upstream server. */
export interface SealedSession {
  readonly upstreamId: string;
  /** Capabilities by which its client can be asked; null when they are unknown. */
  readonly declared: readonly string[] | null;
}

type Owner = { readonly key: { readonly id: string }; readonly server: { readonly id: string } };

export class SessionIds {
  readonly #sealer: TextSealer;

  /** `readKey` is called once, when the first session begins. */
  constructor(readKey: () => Buffer) {
    this.#sealer = new TextSealer({ readKey, purpose: 'mcp-session', sealedCharsMax });
  }

  /**
   * Null for an id that MCP does not allow.
   *
   * @param declared what the client can be asked for; null when it is unknown
   */
  seal(upstreamId: string, owner: Owner, declared: readonly string[] | null = null): string | null {
    if (!idPattern.test(upstreamId)) return null;
    // Ids have no blanks.
    const text = declared === null ? upstreamId : `${upstreamId} ${declared.join(',')}`;
    return this.#sealer.seal(text, placeOf(owner));
  }

  /** @throws PlaneFault one error for every id that was not sealed for this key and server */
  open(sealed: string, owner: Owner): SealedSession {
    const text = this.#sealer.open(sealed, placeOf(owner));
    if (text === null) throw sessionNotFound();
    const [upstreamId, declared] = text.split(' ');
    return { upstreamId: upstreamId!, declared: declared?.split(',') ?? null };
  }
}

export function sessionNotFound(): PlaneFault {
  return new PlaneFault('session_not_found', 'The session does not exist; initialize a new one');
}

function placeOf({ key, server }: Owner): string {
  return `mcp-session|${key.id}|${server.id}`;
}
