/**
 * Seals the handles by which sessions of Gemini's live API are resumed, so that nobody but their owner resumes them, at
 * the same provider, and limits know how long the conversation is.
 */
import type { TextSealer } from '../../../auth/sealing.ts';
import { isObject } from '../../../model/json/read-object.ts';
import { GatewayError } from '../../transfer/gateway-error.ts';
import type { SessionTerms } from '../session-terms.ts';

/** A handle of the provider. */
interface ResumedSession {
  readonly handle: string;
  /** Tokens of the conversation, at most. */
  readonly tokens: number;
}

export class LiveHandles {
  readonly #sealer: Pick<TextSealer, 'seal' | 'open'>;

  constructor(sealer: Pick<TextSealer, 'seal' | 'open'>) {
    this.#sealer = sealer;
  }

  seal(session: ResumedSession, terms: SessionTerms): string {
    return this.#sealer.seal(JSON.stringify(session), placeOf(terms));
  }

  /** @throws GatewayError the same for every handle that was not issued to this owner for this provider */
  open(sealed: string, terms: SessionTerms): ResumedSession {
    const text = this.#sealer.open(sealed, placeOf(terms));
    const session: unknown = text === null ? null : JSON.parse(text);
    if (isObject(session)) return session as unknown as ResumedSession;
    const message = 'setup.sessionResumption.handle names no session that this key can resume here';
    throw new GatewayError('not_found', message, 'setup.sessionResumption.handle');
  }
}

/** Keys of a workspace share its sessions, as they share its stored objects; other keys share none. */
function placeOf({ exchange, target }: SessionTerms): string {
  const { organisationId, workspace, id } = exchange.key;
  const owner = workspace === null ? `key:${id}` : `workspace:${workspace.id}`;
  const account = target.workspaceProvider?.integrationId ?? target.provider;
  return JSON.stringify(['live', organisationId, owner, account, target.call.origin]);
}
