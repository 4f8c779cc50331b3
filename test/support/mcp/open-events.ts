/** Opens a stream of server-sent events and keeps what has arrived on it. */

interface OpenEventsOptions {
  readonly key: string;
  /** Sent as POST; a GET without it. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface OpenEvents extends AsyncDisposable {
  /** Everything so far. */
  readonly text: string;
  /** Messages so far. */
  readonly messages: Record<string, unknown>[];
  readonly isEnded: boolean;
  /** The first message of the method. @throws when there is none yet */
  find(method: string): Record<string, unknown>;
}

type RpcMessage = ReturnType<typeof JSON.parse>;

/** The messages of the events in a text. */
export function messagesIn(text: string): RpcMessage[] {
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data!));
}

/** @throws when the stream is refused */
export async function openEvents(
  url: string,
  { key, body, headers = {} }: OpenEventsOptions,
): Promise<OpenEvents> {
  const aborted = new AbortController();
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      accept: 'application/json, text/event-stream',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: aborted.signal,
  });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const state = { text: '', isEnded: false };
  const reading = read(response, state);
  const messagesOf = (): Record<string, unknown>[] => messagesIn(state.text);
  return {
    get text() {
      return state.text;
    },
    get messages() {
      return messagesOf();
    },
    get isEnded() {
      return state.isEnded;
    },
    find: (method) => {
      const message = messagesOf().find((one) => one.method === method);
      if (message === undefined) throw new Error(`no ${method} in ${state.text}`);
      return message;
    },
    [Symbol.asyncDispose]: async () => {
      aborted.abort();
      await reading;
    },
  };
}

async function read(response: Response, state: { text: string; isEnded: boolean }): Promise<void> {
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      state.text += chunk;
    }
  } catch {
    // The connection was closed without an end.
  }
  state.isEnded = true;
}
