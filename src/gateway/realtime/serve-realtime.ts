/** Serves a request for a realtime session: authenticates, connects a target, accepts the WebSocket, and runs the session. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Secret } from '../../secret.ts';
import { authenticate, type SentCredentials } from '../callers/authenticate.ts';
import type { Exchange, ReadHeader } from '../callers/exchange.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import { metadataOf } from '../callers/metadata.ts';
import { gatewayErrorOf } from '../calls/error-response.ts';
import { RecordDraft } from '../calls/record-draft.ts';
import type { GatewayServices } from '../calls/request-context.ts';
import { selectionTermsOf } from '../calls/target-facts.ts';
import { walkConfig } from '../calls/walk-config.ts';
import { beginTrace, type RequestTrace } from '../logs/request-trace.ts';
import type { GatewayConfig } from '../targets/resolve-config.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { SocketAcceptor } from './accept-socket.ts';
import { type ConnectedTarget, connectTarget } from './connect-target.ts';
import type { OpenSessions, SessionPlace } from './open-sessions.ts';
import { openAiRules } from './openai-rules.ts';
import { limitRulesAt } from './openai-state.ts';
import { PeerSocket } from './peer-socket.ts';
import { RealtimeSession, type SessionBounds } from './realtime-session.ts';
import { SessionLog } from './session-log.ts';
import { readOffer, type SocketOffer } from './socket-request.ts';

export interface RealtimeServices {
  readonly services: GatewayServices;
  readonly sessions: OpenSessions;
  readonly acceptor: SocketAcceptor;
  readonly bounds: SessionBounds;
  readonly messageBytesMax: number;
}

/** A request for a WebSocket whose target is canonical. */
export interface SocketArrival {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that arrived behind the request. */
  readonly head: Buffer;
  readonly header: ReadHeader;
  readonly headerPrefix: string;
  readonly path: string;
  readonly query: string;
  /** Monotonic clock, milliseconds. */
  readonly beganMs: number;
  /** Answers the request by a plain response, and closes the connection. */
  readonly refuse: (error: GatewayError) => void;
}

/** Answers the request in every case, and logs it; never rejects. */
export async function serveRealtime(
  realtime: RealtimeServices,
  arrival: SocketArrival,
): Promise<void> {
  const { services } = realtime;
  const { request, socket } = arrival;
  const now = services.now();
  const trace =
    services.spanExport && beginTrace(request, arrival.beganMs, services.spanExport.sampler);
  const draft = new RecordDraft(arrival, now, trace, false);
  let place: SessionPlace | null = null;
  try {
    const offer = readOffer(request, arrival.header);
    const key = await authenticate(services, offer.credentials, now);
    draft.key = key;
    place = realtime.sessions.takePlace(key);
    const config = await services.configs.resolve(key, arrival.header);
    draft.config = config;
    services.keys.noteUse(key, now);
    const exchange = exchangeOf(arrival, key, offer.credentials, now);
    draft.exchange = exchange;
    const connected = await connectAny(realtime, arrival, exchange, config, offer, draft, trace);
    await open(realtime, arrival, connected, offer, now, trace, place);
  } catch (thrown) {
    place?.release();
    const error = gatewayErrorOf(services, socket.destroyed ? null : arrival.id, thrown);
    draft.error = error;
    if (error.refused !== null)
      services.onRefused(error.refused, request.socket.remoteAddress ?? '');
    arrival.refuse(error);
    const record = draft.toRecord(error.status);
    services.record(record);
    if (trace !== null) services.spanExport!.add(trace, record, !socket.destroyed);
  }
}

/** @throws GatewayError when no target of the config can be connected */
async function connectAny(
  { services, messageBytesMax }: RealtimeServices,
  { socket }: SocketArrival,
  exchange: Exchange,
  config: GatewayConfig,
  { form }: SocketOffer,
  draft: RecordDraft,
  trace: RequestTrace | null,
): Promise<ConnectedTarget> {
  const account = services.ledger.open();
  let connected: ConnectedTarget | null = null;
  const options = {
    services,
    exchange,
    config,
    account,
    messageBytesMax,
    headers: form === 'beta' ? betaHeaders : {},
    trace,
    onConnected: (one: ConnectedTarget) => {
      connected = one;
    },
  };
  const { params, metadata, path, now } = exchange;
  try {
    const outcome = await walkConfig(config.root, {
      mark: config.mark,
      now,
      breakers: services.breakers,
      caller: {
        get isGone() {
          return socket.destroyed;
        },
      },
      chance: Math.random,
      subject: { metadata, params, url: { pathname: `/v1${path}` } },
      call: (leaf) => connectTarget(leaf, options),
      selectionTerms: () => selectionTermsOf({ services, config, exchange }),
      readError: async (outcome) => ({ outcome, isTooLong: false }),
    });
    draft.setOutcome(outcome);
    if (outcome.kind === 'failed') throw outcome.error;
  } catch (thrown) {
    account.uncount();
    throw thrown;
  }
  return connected!;
}

const betaHeaders = { 'openai-beta': 'realtime=v1' };

async function open(
  realtime: RealtimeServices,
  arrival: SocketArrival,
  { terms, socket: provider, first }: ConnectedTarget,
  { credentials, form }: SocketOffer,
  startedAt: number,
  trace: RequestTrace | null,
  place: SessionPlace,
): Promise<void> {
  const { services, acceptor, bounds, sessions } = realtime;
  const { request, socket, head, headerPrefix, id } = arrival;
  const limits = await limitRulesAt(terms, services.now());
  const headers = [`${headerPrefix}trace-id: ${id}`];
  const accepted = await acceptor.accept(request, socket, head, headers);
  if (accepted === null) {
    provider.terminate();
    throw new GatewayError('request_timeout', 'The caller has gone before its session was opened');
  }
  const session = new RealtimeSession({
    caller: new PeerSocket(accepted),
    provider: new PeerSocket(provider),
    terms,
    log: new SessionLog(services, { startedAt, beganMs: arrival.beganMs }, trace),
    bounds,
    now: services.now,
    authenticate: async (now) => authenticate(services, credentials, now),
    isUnavailable: services.isUnavailable,
    onFault: (error) => services.onFault(error, id),
    onEvent: (side) => sessions.noteEvent(side),
    onEnd: place.release,
  });
  place.start(session);
  session.start(openAiRules(session, services.ledger, form, limits), first);
}

/** The model is a parameter, as in the body of a request, so that configs change it as they do there. */
function exchangeOf(
  { id, request, header, headerPrefix, path, query }: SocketArrival,
  key: GatewayKey,
  { key: sentKey, credential }: SentCredentials,
  now: number,
): Exchange {
  if (request.url!.includes(sentKey!)) {
    const message = 'The URL contains the API key, which would be sent to the provider; remove it';
    throw new GatewayError('invalid_request', message);
  }
  const params = Object.fromEntries(new URLSearchParams(query));
  return {
    id,
    request: { method: 'GET', headers: request.headers },
    header,
    headerPrefix,
    path,
    query: '',
    errorForm: 'openai',
    now,
    key,
    sentKey: new Secret(sentKey!, 'the request'),
    credential,
    body: Buffer.from(JSON.stringify(params)),
    params,
    isJson: true,
    metadata: metadataOf(key, header, undefined),
  };
}
