/** Serves a request for a realtime session: authenticates, connects a target, accepts the WebSocket, and runs the session. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { Secret } from '../../secret.ts';
import type { Exchange, ReadHeader } from '../callers/exchange.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import { metadataOf } from '../callers/metadata.ts';
import type { SessionSecrets } from '../callers/session-secrets.ts';
import { gatewayErrorOf } from '../calls/error-response.ts';
import { RecordDraft } from '../calls/record-draft.ts';
import type { GatewayServices } from '../calls/request-context.ts';
import { selectionTermsOf } from '../calls/target-facts.ts';
import { walkConfig } from '../calls/walk-config.ts';
import { beginTrace } from '../logs/request-trace.ts';
import type { GatewayConfig } from '../targets/resolve-config.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { SocketAcceptor } from './accept-socket.ts';
import { type ConnectedTarget, connectTarget } from './connect-target.ts';
import { firstMessage, firstMessageMs } from './first-message.ts';
import type { LiveHandles } from './live/live-handles.ts';
import { liveForm } from './live/live-opening.ts';
import { readSetup } from './live/live-setup.ts';
import type { OpenSessions, SessionPlace } from './open-sessions.ts';
import { openAiForm } from './openai/openai-form.ts';
import { PeerSocket } from './peer-socket.ts';
import type { RealtimeForm } from './realtime-form.ts';
import { RealtimeSession, type SessionBounds } from './realtime-session.ts';
import { callerOf, requireModelOf, type SessionCaller } from './session-caller.ts';
import { SessionLog } from './session-log.ts';
import { readOffer, type SocketOffer } from './socket-request.ts';

export interface RealtimeServices {
  readonly services: GatewayServices;
  readonly sessions: OpenSessions;
  readonly acceptor: SocketAcceptor;
  readonly bounds: SessionBounds;
  readonly messageBytesMax: number;
  readonly handles: LiveHandles;
  readonly secrets: Pick<SessionSecrets, 'open' | 'keyOf'>;
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
  /** Version of Gemini's API that the caller has named; null for a session of OpenAI's API. */
  readonly liveVersion: string | null;
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
  const opening = new SessionOpening(realtime, arrival, draft, now);
  try {
    await opening.serve();
  } catch (thrown) {
    const error = gatewayErrorOf(services, socket.destroyed ? null : arrival.id, thrown);
    draft.error = error;
    if (error.refused !== null)
      services.onRefused(error.refused, request.socket.remoteAddress ?? '');
    opening.refuse(error);
    const record = draft.toRecord(error.status);
    services.record(record);
    if (trace !== null) services.spanExport!.add(trace, record, !socket.destroyed);
  }
}

/** One request for a session, until it is open or refused. */
class SessionOpening {
  readonly #realtime: RealtimeServices;
  readonly #arrival: SocketArrival;
  readonly #draft: RecordDraft;
  readonly #now: number;
  #place: SessionPlace | null = null;
  /** Null until the caller's WebSocket is accepted. */
  #caller: PeerSocket | null = null;
  #connected: ConnectedTarget | null = null;

  constructor(realtime: RealtimeServices, arrival: SocketArrival, draft: RecordDraft, now: number) {
    this.#realtime = realtime;
    this.#arrival = arrival;
    this.#draft = draft;
    this.#now = now;
  }

  /** @throws GatewayError when the session is refused */
  async serve(): Promise<void> {
    const { services, sessions } = this.#realtime;
    const { request } = this.#arrival;
    const draft = this.#draft;
    const offer = readOffer(request, this.#arrival.header, this.#arrival.liveVersion);
    const caller = callerOf(this.#realtime, offer, this.#arrival.header, this.#now);
    const { header } = caller;
    const key = await caller.authenticate(this.#now);
    draft.key = key;
    this.#place = sessions.takePlace(key);
    const config = await services.configs.resolve(key, header);
    draft.config = config;
    services.keys.noteUse(key, this.#now);
    const isLive = offer.api === 'gemini';
    // The model is in the first message, so that the WebSocket is accepted before a target is known.
    const params = isLive ? await this.#readSetup() : queryOf(this.#arrival);
    requireModelOf(caller.model, params);
    const exchange = exchangeOf({ ...this.#arrival, header }, key, offer, this.#now, params);
    draft.exchange = exchange;
    const form = this.#formOf(offer);
    this.#connected = await connectAny(
      this.#realtime,
      this.#arrival,
      exchange,
      config,
      form,
      draft,
    );
    if (!isLive) await this.#accept();
    this.#start(caller.authenticate);
  }

  /** Never throws. */
  refuse(error: GatewayError): void {
    this.#place?.release();
    this.#connected?.prepared.release();
    this.#connected?.socket.terminate();
    const { code, message, status } = error;
    if (this.#caller === null) this.#arrival.refuse(error);
    else this.#caller.close(status >= 500 ? 1011 : 1008, `${code}: ${message}`);
  }

  #formOf(offer: SocketOffer): RealtimeForm {
    const { services, handles } = this.#realtime;
    return offer.api === 'gemini'
      ? liveForm(services, handles, offer.version)
      : openAiForm(services.ledger, offer.form, services.now);
  }

  /** @throws GatewayError when the caller has gone */
  async #accept(): Promise<WebSocket> {
    const { request, socket, head, headerPrefix, id } = this.#arrival;
    const headers = [`${headerPrefix}trace-id: ${id}`];
    const accepted = await this.#realtime.acceptor.accept(request, socket, head, headers);
    if (accepted === null) {
      const message = 'The caller has gone before its session was opened';
      throw new GatewayError('request_timeout', message);
    }
    this.#caller = new PeerSocket(accepted);
    return accepted;
  }

  /** The members of the setup, with the bare name of the model. */
  async #readSetup(): Promise<Exchange['params']> {
    const accepted = await this.#accept();
    const { data } = await firstMessage(accepted, 'The caller', firstMessageMs);
    const { model, settings } = readSetup(data);
    return { ...settings, model };
  }

  #start(authenticateAnew: SessionCaller['authenticate']): void {
    const { services, bounds, sessions } = this.#realtime;
    const { beganMs, id } = this.#arrival;
    const { terms, prepared, socket, first } = this.#connected!;
    const place = this.#place!;
    const { trace } = this.#draft;
    const session = new RealtimeSession({
      caller: this.#caller!,
      provider: new PeerSocket(socket),
      terms,
      log: new SessionLog(services, { startedAt: this.#now, beganMs }, trace),
      bounds,
      now: services.now,
      authenticate: authenticateAnew,
      isUnavailable: services.isUnavailable,
      onFault: (error) => services.onFault(error, id),
      onEvent: (side) => sessions.noteEvent(side),
      onEnd: place.release,
    });
    place.start(session);
    session.start(prepared.rulesOf(session), first);
  }
}

/** @throws GatewayError when no target of the config can be connected */
async function connectAny(
  { services, messageBytesMax }: RealtimeServices,
  { socket }: SocketArrival,
  exchange: Exchange,
  config: GatewayConfig,
  form: RealtimeForm,
  draft: RecordDraft,
): Promise<ConnectedTarget> {
  const account = services.ledger.open();
  let connected: ConnectedTarget | null = null;
  const options = {
    services,
    exchange,
    config,
    account,
    messageBytesMax,
    form,
    trace: draft.trace,
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

/** The model is a parameter, as in the body of a request, so that configs change it as they do there. */
function exchangeOf(
  { id, request, header, headerPrefix, path }: SocketArrival,
  key: GatewayKey,
  { credentials: { key: sentKey, credential } }: SocketOffer,
  now: number,
  params: Exchange['params'],
): Exchange {
  if (request.url!.includes(sentKey!)) {
    const message = 'The URL contains the API key, which would be sent to the provider; remove it';
    throw new GatewayError('invalid_request', message);
  }
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

function queryOf({ query }: SocketArrival): Exchange['params'] {
  return Object.fromEntries(new URLSearchParams(query));
}
