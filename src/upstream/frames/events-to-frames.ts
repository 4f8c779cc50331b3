/** Writes server-sent events as the frames in which SDKs of AWS read a stream. */
import { isObject, readJsonObject } from '../../model/json/read-object.ts';
import { awsException } from '../../model/services/aws-errors.ts';
import { EventReader } from '../documents/event-reader.ts';
import { writeFrame } from './frame-writer.ts';

/** How events become frames: as chunks of InvokeModel, or as the named events of Converse. */
export type FrameForm = 'chunk' | 'named';

export class EventFrames {
  readonly #reader = new EventReader();
  readonly #form: FrameForm;

  constructor(form: FrameForm) {
    this.#form = form;
  }

  /** Returns the bytes for the caller. */
  pass(events: Buffer): Buffer {
    const frames: Buffer[] = [];
    this.#reader.push(events, (data) => frames.push(this.#frame(data)));
    return frames.length === 1 ? frames[0]! : Buffer.concat(frames);
  }

  rest(): Buffer {
    const last = this.#reader.rest();
    return last === null ? nothing : this.#frame(last);
  }

  #frame(data: string): Buffer {
    const event = readJsonObject(data);
    if (event === null) return nothing;
    if (event.type === 'error' || isError(event)) return exceptionFrame(event);
    if (this.#form === 'chunk') {
      return eventFrame('chunk', JSON.stringify({ bytes: Buffer.from(data).toString('base64') }));
    }
    const [name] = Object.keys(event);
    if (name === undefined) return nothing;
    // The value as it is written, so that no number changes.
    return eventFrame(name, data.slice(data.indexOf(':') + 1, data.lastIndexOf('}')));
  }
}

const nothing = Buffer.alloc(0);
const jsonType = 'application/json';

function isError({ error }: Readonly<Record<string, unknown>>): boolean {
  return isObject(error) && typeof error.message === 'string';
}

function eventFrame(name: string, payload: string): Buffer {
  const headers = { ':event-type': name, ':content-type': jsonType, ':message-type': 'event' };
  return writeFrame(headers, payload);
}

function exceptionFrame({ error }: Readonly<Record<string, unknown>>): Buffer {
  const { type, message } = Object(error) as {
    readonly type?: unknown;
    readonly message?: unknown;
  };
  const headers = {
    ':exception-type': awsException(type),
    ':content-type': jsonType,
    ':message-type': 'exception',
  };
  return writeFrame(headers, JSON.stringify({ message: String(message ?? 'The stream failed') }));
}
