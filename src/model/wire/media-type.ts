/** Recognises the media types of responses. */

interface TypedHeaders {
  readonly 'content-type'?: string | readonly string[] | undefined;
}

export function isEventStream({ 'content-type': type }: TypedHeaders): boolean {
  return typeof type === 'string' && /^text\/event-stream\b/i.test(type);
}

export function isJsonBody({ 'content-type': type }: TypedHeaders): boolean {
  return typeof type === 'string' && /^application\/json\b/i.test(type);
}
