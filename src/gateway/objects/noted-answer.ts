/** Knows how an answer that tells of objects goes back, whole or event by event: not before it is noted. */

import type { Calling } from '../answering/calling.ts';
import { send, sendGuarded } from '../answering/send-back.ts';
import type { Attempted } from '../calls/attempt.ts';
import { type ReadAnswer, unanswered, wholeAnswer } from '../calls/whole-answer.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { isEventStream } from '../transfer/relay.ts';
import type { Note } from './noted-objects.ts';
import { eventsTo, recordTo, sendNoted } from './noted-stream.ts';

/** With a `record` the caller gets what that yields, in place of the events of a stream. */
export async function sendAndNote(
  calling: Calling,
  attempted: Attempted,
  note: Note,
  record: (() => object | null) | null,
): Promise<void> {
  const { arrival, found, caller, calls } = calling;
  const { call, guarded, status } = attempted;
  if (call !== null && isEventStream(call.headers)) {
    const { response } = arrival;
    const told = record === null ? eventsTo(response) : recordTo(response, record);
    return sendNoted(calling, attempted, note.ofStream(), told);
  }
  const outlivesCaller = calling.exchange.making !== undefined;
  const read = guarded ?? (await wholeAnswer(attempted, { calls, caller, outlivesCaller }));
  if ('error' in read) return send(calling, unanswered(attempted, read));
  found.metered = read.metered;
  const isStream = isEventStream(read.headers);
  const body = isStream ? await notedEvents(note, read.body) : await note.whole(read.body);
  if (caller.isGone) return;
  const shown = record === null ? { ...read, body } : { ...read, ...wholeRecord(record()) };
  sendGuarded(calling, attempted, { ...shown, status, providerStatus: status });
}

/** Of a stream that was held back until it was judged. */
async function notedEvents(note: Note, events: Buffer): Promise<Buffer> {
  const notes = note.ofStream();
  await notes.note(events);
  return Buffer.concat([events, await notes.end()]);
}

/** In place of the events that have told it. */
function wholeRecord(record: object | null): Pick<ReadAnswer, 'headers' | 'body'> {
  if (record === null) {
    const message = 'The answer of the provider is a stream that tells of nothing';
    throw new GatewayError('answer_unreadable', message);
  }
  return {
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(record)),
  };
}
