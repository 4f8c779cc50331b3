/** Sends a request to an MCP endpoint, and reads the messages of its response one by one as they arrive. */

type RpcMessage = ReturnType<typeof JSON.parse>;

export interface OpenedResponse extends AsyncDisposable {
  readonly status: number;
  readonly headers: Headers;
  /** The next message; undefined at the end. */
  next(): Promise<RpcMessage | undefined>;
  /** Every message up to the end. */
  rest(): Promise<RpcMessage[]>;
}

export async function openResponse(
  url: string,
  key: string,
  body: object | null,
  headers: Readonly<Record<string, string>> = {},
): Promise<OpenedResponse> {
  const gone = new AbortController();
  const response = await fetch(url, {
    method: body === null ? 'GET' : 'POST',
    signal: gone.signal,
    headers: {
      accept: body === null ? 'text/event-stream' : 'application/json, text/event-stream',
      authorization: `Bearer ${key}`,
      ...(body === null ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
  const isStream = response.headers.get('content-type') === 'text/event-stream';
  const messages = isStream ? events(response) : whole(response);
  return {
    status: response.status,
    headers: response.headers,
    next: async () => {
      const { value, done } = await messages.next();
      return done === true ? undefined : value;
    },
    rest: () => Array.fromAsync(messages),
    [Symbol.asyncDispose]: async () => gone.abort(),
  };
}

async function* whole(response: Response): AsyncGenerator<RpcMessage> {
  const text = await response.text();
  if (text !== '') yield JSON.parse(text);
}

async function* events(response: Response): AsyncGenerator<RpcMessage> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
      text = text.slice(end + 2);
      if (data !== undefined) yield JSON.parse(data);
    }
  }
}
