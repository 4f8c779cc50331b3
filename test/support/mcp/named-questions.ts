/** Has an MCP server of the SDK send its requests to the client under ids that are names, in place of numbers. */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';

/** Names requests by their parameters. The transport must be connected. */
export class NamedQuestions {
  readonly #names = new WeakMap<object, string>();
  /** Ids of the SDK, by the name of the request in flight. */
  readonly #ids = new Map<RequestId, RequestId>();

  constructor(transport: Transport) {
    const send = transport.send.bind(transport);
    const receive = transport.onmessage;
    transport.send = (message, options) => send(this.#named(message), options);
    transport.onmessage = (message, extra) => receive?.(this.#numbered(message), extra);
  }

  /** A request with a name that is in flight already gets a number. */
  name(params: object, name: string): void {
    this.#names.set(params, name);
  }

  #named(message: JSONRPCMessage): JSONRPCMessage {
    if (!('method' in message && 'id' in message) || message.params === undefined) return message;
    const name = this.#names.get(message.params);
    if (name === undefined || this.#ids.has(name)) return message;
    this.#ids.set(name, message.id);
    return { ...message, id: name };
  }

  #numbered(message: JSONRPCMessage): JSONRPCMessage {
    if ('method' in message || message.id === undefined) return message;
    const id = this.#ids.get(message.id);
    this.#ids.delete(message.id);
    return id === undefined ? message : { ...message, id };
  }
}
