/** Defines the session of a legacy client with a modern server, and seals it into its id, so that any replica can serve it. */
import { randomBytes } from 'node:crypto';
import { TextSealer } from '../../auth/sealing.ts';
import { isObject } from '../../model/json/read-object.ts';
import { clientCapabilities } from '../../model/mcp/client-capability.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import { legacyVersions } from '../messages/verify-headers.ts';

export interface LegacySession {
  /** Random; notes of the session are stored under it. */
  readonly id: string;
  readonly version: string;
  /** Capabilities of the client that the modern era knows too. */
  readonly capabilities: RpcObject;
  /** Name and version of the client; null when it gives none. */
  readonly client: RpcObject | null;
  /** Milliseconds since the epoch. */
  readonly endsAt: number;
}

/** The key and the server that a session belongs to. */
export interface SessionOwner {
  readonly key: { readonly id: string };
  readonly server: { readonly id: string };
}

/** The version of clients that send none. */
const unstatedVersion = '2025-03-26';
/** Longer capabilities are left out, so that the id stays short. */
const capabilityCharsMax = 512;
const clientCharsMax = 128;
const sealedCharsMax = 4096;
/** Clients open a new session when one has expired. */
const sessionMs = 7 * 86_400_000;
const idBytes = 16;
/** Distinguishes these ids from sealed ids of servers. */
const mark = 'bridge.';

export function isBridgedSession(sealed: string): boolean {
  return sealed.startsWith(mark);
}

/** The session that `initialize` opens. */
export function sessionOf({ protocolVersion, capabilities, clientInfo }: RpcObject, now: number) {
  return {
    id: randomBytes(idBytes).toString('base64url'),
    version: legacyVersions.find((one) => one === protocolVersion) ?? legacyVersions[0]!,
    capabilities: knownCapabilities(capabilities),
    client: clientOf(clientInfo),
    endsAt: now + sessionMs,
  } satisfies LegacySession;
}

/** The session of a client that has opened none: it can be asked nothing. */
export function unopenedSession(version: string | undefined): LegacySession {
  return { id: '', version: version ?? unstatedVersion, capabilities: {}, client: null, endsAt: 0 };
}

function knownCapabilities(declared: unknown): RpcObject {
  if (!isObject(declared)) return {};
  return Object.fromEntries(
    clientCapabilities.flatMap((name) => {
      const value = declared[name];
      const isShort = isObject(value) && JSON.stringify(value).length <= capabilityCharsMax;
      return isShort ? [[name, value]] : [];
    }),
  );
}

function clientOf(info: unknown): RpcObject | null {
  if (!isObject(info)) return null;
  const { name, version } = info;
  if (typeof name !== 'string' || typeof version !== 'string') return null;
  return { name: name.slice(0, clientCharsMax), version: version.slice(0, clientCharsMax) };
}

/** Longest text of a note, in bytes: the answer of a client, perhaps with a picture. */
export const noteBytesMax = 4 * 1024 * 1024;
/** Sealing encodes four characters for three bytes, and adds less than 200. */
const sealedNoteCharsMax = (noteBytesMax / 3) * 4 + 200;

export class LegacySessions {
  readonly #sealer: TextSealer;
  readonly #noteSealer: TextSealer;

  /** `readKey` is called when the first session begins, and when it leaves its first note. */
  constructor(readKey: () => Buffer) {
    this.#sealer = new TextSealer({ readKey, purpose: 'mcp-bridge', sealedCharsMax });
    this.#noteSealer = new TextSealer({
      readKey,
      purpose: 'mcp-bridge-note',
      sealedCharsMax: sealedNoteCharsMax,
    });
  }

  seal(session: LegacySession, owner: SessionOwner): string {
    return mark + this.#sealer.seal(JSON.stringify(session), placeOf(owner, 'session'));
  }

  /** @throws PlaneFault one error for every id that is expired, or was not sealed for this key and server */
  open(sealed: string, owner: SessionOwner, now: number): LegacySession {
    const text = this.#sealer.open(sealed.slice(mark.length), placeOf(owner, 'session'));
    const session = text === null ? null : (JSON.parse(text) as LegacySession);
    if (session !== null && session.endsAt > now) return session;
    throw new PlaneFault('session_not_found', 'The session does not exist; initialize a new one');
  }

  /** The id of a question, which only an answer in the same session can use. */
  sealQuestion(question: string, session: LegacySession, owner: SessionOwner): string {
    return this.#sealer.seal(question, placeOf(owner, `question|${session.id}`));
  }

  /** Null for an id that was not sealed for this session. */
  openQuestion(sealed: unknown, session: LegacySession, owner: SessionOwner): string | null {
    const place = placeOf(owner, `question|${session.id}`);
    return typeof sealed === 'string' ? this.#sealer.open(sealed, place) : null;
  }

  /** Seals what a session leaves for other replicas. */
  sealNote(text: string, session: Pick<LegacySession, 'id'>): string {
    return this.#noteSealer.seal(text, `mcp-bridge|note|${session.id}`);
  }

  /** Null for an altered note. */
  openNote(sealed: string, session: Pick<LegacySession, 'id'>): string | null {
    return this.#noteSealer.open(sealed, `mcp-bridge|note|${session.id}`);
  }
}

function placeOf({ key, server }: SessionOwner, what: string): string {
  return `mcp-bridge|${key.id}|${server.id}|${what}`;
}
