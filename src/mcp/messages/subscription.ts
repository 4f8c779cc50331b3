/** Follows one `subscriptions/listen` stream: which notifications its client has asked for, and which the server has promised. */
import { isObject } from '../../model/json/read-object.ts';
import type { ListNotice } from './capability-rules.ts';
import type { ClientMessage, RpcObject } from './read-messages.ts';

const idMember = 'io.modelcontextprotocol/subscriptionId';
const acknowledged = 'notifications/subscriptions/acknowledged';

/** Members of the filter of a subscription. */
const members: Readonly<Record<ListNotice, string>> = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
};

export class Subscription {
  readonly #message: ClientMessage;
  #promised: RpcObject | null = null;

  constructor(message: ClientMessage) {
    this.#message = message;
  }

  /** Notes what the server has promised, if the message says so. */
  note({ method, params }: RpcObject): void {
    if (method !== acknowledged || !isObject(params)) return;
    if (isObject(params.notifications)) this.#promised = params.notifications;
  }

  /** Whether the client has asked for the message, which must not be a request. */
  accepts({ id, method, params }: RpcObject): boolean {
    if (id !== undefined) return false;
    const { notifications } = this.#message.params;
    const filter = isObject(notifications) ? notifications : {};
    const { _meta: meta, uri } = isObject(params) ? params : {};
    const tag = isObject(meta) ? meta[idMember] : undefined;
    if (tag !== undefined && tag !== this.#message.id) return false;
    if (method === 'notifications/resources/updated') {
      const { resourceSubscriptions: uris } = filter;
      return Array.isArray(uris) && uris.includes(uri);
    }
    const member = members[method as ListNotice];
    return member === undefined || filter[member] === true;
  }

  /** The notification for this stream; null unless its client has asked for it and the server has promised it. */
  noticeOf(method: ListNotice): RpcObject | null {
    if (this.#promised?.[members[method]] !== true) return null;
    return { jsonrpc: '2.0', method, params: { _meta: { [idMember]: this.#message.id } } };
  }
}
