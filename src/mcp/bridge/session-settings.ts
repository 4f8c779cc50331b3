/** Stores the log level and the subscriptions of sessions as notes, so that every replica applies them. */
import type { NoteStore, SessionNote } from '../../store/records/gateway-records.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import type { BridgePort } from './bridge-port.ts';
import { type LegacySession, type LegacySessions, noteBytesMax } from './legacy-session.ts';
import { isUriName, levelName, uriName } from './session-notes.ts';

/** The level of clients that have set none; legacy servers choose it themselves. */
const usualLevel = 'info';
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const urisMax = 100;
/** How long a level is used that another replica may have changed. */
const levelMs = 1_000;
const levelsMax = 10_000;

export class SessionSettings {
  readonly #sessions: LegacySessions;
  readonly #store: NoteStore;
  readonly #levels = new Map<string, { readonly level: string; readonly endsAt: number }>();

  constructor(sessions: LegacySessions, store: NoteStore) {
    this.#sessions = sessions;
    this.#store = store;
  }

  /** Adds or replaces a note. @throws PlaneFault when it is too long, or the key has too many */
  async leave(
    port: BridgePort,
    session: LegacySession,
    name: string,
    content: RpcObject,
    expiresAt: number,
  ): Promise<void> {
    const text = JSON.stringify(content);
    if (Buffer.byteLength(text) > noteBytesMax) {
      const message = `An answer may have at most ${noteBytesMax} bytes`;
      throw new PlaneFault('invalid_message', message);
    }
    const value = this.#sessions.sealNote(text, session);
    const note = { sessionId: session.id, name, value };
    const { organisationId, owner } = port;
    if (await this.#store.putNote(organisationId, owner.key.id, note, expiresAt)) return;
    throw new PlaneFault('session_limit', 'The sessions of this key have too many subscriptions');
  }

  async setLevel(port: BridgePort, session: LegacySession, level: unknown): Promise<void> {
    requireSession(session);
    if (typeof level !== 'string' || !levels.includes(level)) {
      throw new PlaneFault('invalid_params', `level must be one of ${levels.join(', ')}`);
    }
    await this.leave(port, session, levelName, { level }, session.endsAt);
    this.#levels.delete(session.id);
  }

  async level(port: BridgePort, session: LegacySession): Promise<string> {
    if (session.id === '') return usualLevel;
    const now = port.now();
    const known = this.#levels.get(session.id);
    if (known !== undefined && known.endsAt > now) return known.level;
    const notes = await this.#store.listNotes(port.organisationId, [session.id]);
    const note = notes.find(({ name }) => name === levelName);
    const text = note === undefined ? null : this.#sessions.openNote(note.value, session);
    const level = text === null ? usualLevel : (JSON.parse(text) as { level: string }).level;
    this.#levels.delete(session.id);
    this.#levels.set(session.id, { level, endsAt: now + levelMs });
    if (this.#levels.size > levelsMax) this.#levels.delete(this.#levels.keys().next().value!);
    return level;
  }

  async subscribe(port: BridgePort, session: LegacySession, uri: unknown): Promise<void> {
    requireSession(session);
    if (typeof uri !== 'string') throw new PlaneFault('invalid_params', 'uri must be a text');
    if ((await this.uris(port, session)).length >= urisMax) {
      throw new PlaneFault('session_limit', `A session may subscribe to ${urisMax} resources`);
    }
    await this.leave(port, session, uriName(uri), { uri }, session.endsAt);
  }

  async unsubscribe(port: BridgePort, session: LegacySession, uri: unknown): Promise<void> {
    await this.#store.removeNotes(port.organisationId, session.id, [uriName(String(uri))]);
  }

  async uris(port: BridgePort, session: LegacySession): Promise<string[]> {
    return this.urisIn(session, await this.#store.listNotes(port.organisationId, [session.id]));
  }

  /** In order, so that equal sets are equal lists. */
  urisIn(session: LegacySession, notes: readonly SessionNote[]): string[] {
    return notes
      .filter(({ name }) => isUriName(name))
      .flatMap(({ value }) => {
        const text = this.#sessions.openNote(value, session);
        return text === null ? [] : [(JSON.parse(text) as { uri: string }).uri];
      })
      .sort();
  }

  /** Deletes everything that the session has left. */
  async forget(port: BridgePort, session: LegacySession): Promise<void> {
    await this.#store.removeNotes(port.organisationId, session.id);
    this.#levels.delete(session.id);
  }
}

function requireSession({ id }: LegacySession): void {
  if (id !== '') return;
  throw new PlaneFault('session_not_found', 'The method needs a session; initialize one');
}
