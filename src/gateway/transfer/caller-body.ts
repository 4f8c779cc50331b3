/** Writes responses in the form that the caller's path selects: streams as one list or in frames, counts of tokens. */
import type { PathAction } from '../../model/endpoints/path-action.ts';
import { readJsonObject } from '../../model/json/read-object.ts';
import { EventFrames } from '../../upstream/frames/events-to-frames.ts';
import { frameType } from '../../upstream/frames/frame.ts';
import { EventList } from '../../upstream/gemini/event-list.ts';
import type { EventFilter } from './relay.ts';

/** How the events of a stream are written. */
interface StreamForm {
  readonly contentType: string;
  open(): EventFilter;
}

const list: StreamForm = { contentType: 'application/json', open: () => new EventList() };
const chunks: StreamForm = { contentType: frameType, open: () => new EventFrames('chunk') };
const named: StreamForm = { contentType: frameType, open: () => new EventFrames('named') };

/** Null for a stream of server-sent events. */
export function streamFormOf(action: PathAction | null): StreamForm | null {
  if (action === null || !action.isStream) return null;
  if (action.form === 'invoke') return chunks;
  if (action.form === 'converse') return named;
  return action.isList ? list : null;
}

/** Writes the complete events of a stream. */
export function wholeStream(form: StreamForm, events: Buffer): Buffer {
  const filter = form.open();
  return Buffer.concat([filter.pass(events), filter.rest()]);
}

/** Writes the events of a stream as they arrive, and what follows the last one. */
export function streamIn(
  form: StreamForm,
  events: EventFilter,
  trailer: Buffer | null,
): EventFilter {
  const filter = form.open();
  return {
    pass: (chunk) => filter.pass(events.pass(chunk)),
    rest: () => {
      const last = filter.pass(Buffer.concat([events.rest(), trailer ?? nothing]));
      return Buffer.concat([last, filter.rest()]);
    },
  };
}

const nothing = Buffer.alloc(0);

/** Returns the body of a complete response for the caller: CountTokens of Bedrock has another member. */
export function callerBody(action: PathAction | null, body: Buffer): Buffer {
  if (action?.form !== 'count-tokens') return body;
  const inputTokens = readJsonObject(body.toString('utf8'))?.input_tokens;
  return typeof inputTokens === 'number' ? Buffer.from(JSON.stringify({ inputTokens })) : body;
}
