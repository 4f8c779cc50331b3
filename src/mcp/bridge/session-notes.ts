/** Names the notes that a session leaves for other replicas, and watches those of open sessions. */
import { hash } from 'node:crypto';
import { detach } from '../../detached.ts';
import type { NoteStore, SessionNote } from '../../store/records/gateway-records.ts';

/** The name of the note of a session's log level; other names are built by the functions below. */
export const levelName = 'level';
const [uriPrefix, answerPrefix, cancelPrefix] = ['uri ', 'answer ', 'cancel '];

export function uriName(uri: string): string {
  return uriPrefix + digest(uri);
}

export function isUriName(name: string): boolean {
  return name.startsWith(uriPrefix);
}

/** `question` is the call's nonce and the number of the question. */
export function answerName(question: string): string {
  return answerPrefix + question;
}

/** Null for a note that is no answer. */
export function questionIn(name: string): string | null {
  return name.startsWith(answerPrefix) ? name.slice(answerPrefix.length) : null;
}

export function cancelName(idKey: string): string {
  return cancelPrefix + digest(idKey);
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url');
}

/** A session that this process serves at the moment. */
export interface WatchedSession {
  readonly organisationId: string;
  readonly sessionId: string;
  /** Whether a user waits for the notes. */
  readonly isUrgent: () => boolean;
  readonly receive: (notes: readonly SessionNote[]) => void;
}

/** Time between two reads of the notes of urgent sessions; the others are read every fourth time. */
const readMs = 250;
const patience = 4;
/** Sessions in one statement. */
const sessionsMax = 500;

/** Reads notes only while sessions are watched: one statement for all sessions of an organisation. */
export class SessionWatch {
  readonly #store: NoteStore;
  readonly #watched = new Set<WatchedSession>();
  #timer: NodeJS.Timeout | null = null;
  #rounds = 0;

  constructor(store: NoteStore) {
    this.#store = store;
  }

  /** Returns a function that ends the watch. */
  add(session: WatchedSession): () => void {
    this.#watched.add(session);
    this.#schedule();
    return () => void this.#watched.delete(session);
  }

  #schedule(): void {
    if (this.#timer !== null || this.#watched.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      detach(
        'reading the notes of MCP sessions',
        this.#readAll().finally(() => this.#schedule()),
      );
    }, readMs).unref();
  }

  async #readAll(): Promise<void> {
    this.#rounds += 1;
    const isPatient = this.#rounds % patience === 0;
    const due = [...this.#watched].filter(({ isUrgent }) => isPatient || isUrgent());
    for (const [organisationId, sessions] of Map.groupBy(due, (one) => one.organisationId)) {
      for (let from = 0; from < sessions.length; from += sessionsMax) {
        await this.#read(organisationId, sessions.slice(from, from + sessionsMax));
      }
    }
  }

  async #read(organisationId: string, sessions: readonly WatchedSession[]): Promise<void> {
    const ids = [...new Set(sessions.map(({ sessionId }) => sessionId))];
    let notes: readonly SessionNote[];
    try {
      notes = await this.#store.listNotes(organisationId, ids);
    } catch {
      // The database is unreachable for now; the next round reads again.
      return;
    }
    const bySession = Map.groupBy(notes, ({ sessionId }) => sessionId);
    for (const { sessionId, receive } of sessions) receive(bySession.get(sessionId) ?? []);
  }
}
