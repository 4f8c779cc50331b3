/** Serves `subscriptions/listen` of a modern client by the stream and the subscriptions of a legacy session. */
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Caller } from '../../gateway/transfer/caller.ts';
import { isObject } from '../../model/json/read-object.ts';
import type { ServerSession } from '../legacy-sessions/legacy-session.ts';
import { SessionLost, startOfStream } from '../legacy-sessions/legacy-transport.ts';
import type { ModernRequest } from '../messages/legacy-request.ts';
import { subscribedMessage, subscriptionEnd } from '../messages/modern-response.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import type { ModernOutput } from './modern-output.ts';

export interface LegacyListening {
  /** A session of its own, which the caller of the function ends. */
  readonly session: ServerSession;
  readonly request: ModernRequest;
  readonly response: ServerResponse;
  readonly output: ModernOutput;
  readonly take: (message: RpcObject) => Promise<unknown>;
  readonly addStream: (end: () => void) => () => void;
}

/** The notices that a client listens for. */
interface Filter {
  readonly toolsListChanged?: true;
  readonly promptsListChanged?: true;
  readonly resourcesListChanged?: true;
  readonly resourceSubscriptions?: readonly string[];
}

const listNotices = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
} as const;
const subscriptionsMax = 100;
const headMs = 500;
/** Failed attempts in a row to open the stream, after which the client listens anew. */
const attemptsMax = 3;

/** Resolves when the client has gone or the stream has ended. @throws PlaneFault before the response begins */
export async function listenLegacy(listening: LegacyListening): Promise<void> {
  const { session, request, response, output, take, addStream } = listening;
  const wanted = filterIn(request.params, session.capabilities);
  const { id } = request;
  const ended = Promise.withResolvers<void>();
  const caller = new Caller(response);
  caller.onLeave(ended.resolve);
  const forget = addStream(ended.resolve);
  session.receiveWith(async (message) => {
    if (!isWanted(message, wanted)) return;
    const taken = await take(subscribedMessage(message, id));
    if (isObject(taken)) await output.notify(taken);
  });
  try {
    const subscribed = await subscribe(session, wanted);
    // The stream is open before the client learns that it may rely on it.
    const following = Object.keys(subscribed).length > 0 ? follow(session) : null;
    const hasStream = following !== null && (await following.hasStream);
    const granted = hasStream ? subscribed : {};
    const method = 'notifications/subscriptions/acknowledged';
    const params = { notifications: granted };
    // The rules note what is promised, because they report changed lists themselves.
    const acknowledged = await take(subscribedMessage({ jsonrpc: '2.0', method, params }, id));
    await output.notify(acknowledged as RpcObject);
    if (hasStream) await Promise.race([ended.promise, following.ended]);
    if (!caller.isGone) await output.finish(subscriptionEnd(id, session.initialized), 200);
  } finally {
    forget();
    session.receiveWith(null);
  }
}

interface Following {
  /** Whether the server has a stream. */
  readonly hasStream: Promise<boolean>;
  /** Resolves when the stream has ended for good. */
  readonly ended: Promise<void>;
}

/** Reads the stream, and opens it again when the server ends it. */
function follow(session: ServerSession): Following {
  const { promise: hasStream, resolve: open } = Promise.withResolvers<boolean>();
  // Some servers send the head of a stream with its first event.
  const timer = setTimeout(() => open(true), headMs);
  return { hasStream, ended: read(session, open).finally(() => clearTimeout(timer)) };
}

async function read(session: ServerSession, open: (hasStream: boolean) => void): Promise<void> {
  const position = startOfStream();
  let failures = 0;
  const onOpen = (): void => {
    failures = 0;
    open(true);
  };
  while (failures < attemptsMax) {
    try {
      if (!(await session.follow(position, onOpen))) break;
    } catch (error) {
      failures = error instanceof SessionLost ? attemptsMax : failures + 1;
    }
    if (session.hasEnded) break;
    await delay(position.retryMs, undefined, { ref: false });
  }
  open(false);
}

/** Asks the server for the updates of each resource; those that it refuses are left out. */
async function subscribe(session: ServerSession, wanted: Filter): Promise<Filter> {
  const { resourceSubscriptions: uris = [], ...lists } = wanted;
  const granted: string[] = [];
  for (const uri of uris) {
    const { error } = await session.ask('resources/subscribe', { uri });
    if (error === undefined) granted.push(uri);
  }
  return granted.length === 0 ? lists : { ...lists, resourceSubscriptions: granted };
}

/** The notices that the client wants and the server can deliver. @throws PlaneFault */
function filterIn({ notifications }: RpcObject, capabilities: RpcObject): Filter {
  if (!isObject(notifications)) {
    throw new PlaneFault('invalid_params', 'params.notifications must be an object');
  }
  const { resourceSubscriptions: uris = [] } = notifications;
  const isList = Array.isArray(uris) && uris.every((uri) => typeof uri === 'string');
  if (!isList || uris.length > subscriptionsMax) {
    const text = `params.notifications.resourceSubscriptions must be a list of at most ${subscriptionsMax} texts`;
    throw new PlaneFault('invalid_params', text);
  }
  const { tools, prompts, resources } = capabilities;
  const offers = (capability: unknown, member: string): boolean =>
    isObject(capability) && capability[member] === true;
  const has = (name: string, capability: unknown): boolean =>
    notifications[name] === true && offers(capability, 'listChanged');
  return {
    ...(has('toolsListChanged', tools) && { toolsListChanged: true as const }),
    ...(has('promptsListChanged', prompts) && { promptsListChanged: true as const }),
    ...(has('resourcesListChanged', resources) && { resourcesListChanged: true as const }),
    ...(uris.length > 0 && offers(resources, 'subscribe') && { resourceSubscriptions: uris }),
  };
}

function isWanted({ method, params }: RpcObject, wanted: Filter): boolean {
  if (method === 'notifications/resources/updated') {
    const uri = isObject(params) ? params.uri : undefined;
    // A server may report a part of a resource that a client has subscribed to.
    return typeof uri === 'string' && wanted.resourceSubscriptions !== undefined;
  }
  const name = listNotices[method as keyof typeof listNotices];
  return name !== undefined && wanted[name] === true;
}
