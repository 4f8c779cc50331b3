/** Prepares a request for a response: adds the previous turns, and records the new response. */
import { isObject } from '../../model/json/read-object.ts';
import { newObjectId } from '../../objects/object-id.ts';
import type { Owner } from '../../objects/owner.ts';
import type { ResponseRecord } from '../../objects/responses/response-record.ts';
import {
  ResponseWriter,
  type ResponseWriterOptions,
} from '../../objects/responses/response-writer.ts';
import type { Responses } from '../../objects/responses/responses.ts';
import { EventReader } from '../../upstream/dialects/event-reader.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { OwnedPath } from '../references/owned-path.ts';
import { changedBody } from '../transfer/changed-body.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { ObjectRecorder } from './object-recorder.ts';

export interface NewResponseRequest {
  /** With the turns of the previous responses. */
  readonly exchange: Exchange;
  readonly keeping: ResponseWriter | null;
}

export interface NewResponseOptions extends Omit<ResponseWriterOptions, 'commits'> {
  readonly owner: Owner;
  readonly responses: Responses;
  readonly bodyBytesMax: number;
}

/** Whether the request creates a response. */
export function isResponseCreation(
  { kind, id, rest }: OwnedPath,
  method: string | undefined,
): boolean {
  return kind === 'responses' && id === null && rest.length === 0 && method === 'POST';
}

/** Whether the caller polls for the response instead of waiting for it. */
export function isInBackground({ params }: Pick<Exchange, 'params'>): boolean {
  return params.background === true && params.stream !== true;
}

/** @throws ObjectError or GatewayError when the previous response cannot be continued, or is too large */
export async function newResponse(
  exchange: Exchange,
  options: NewResponseOptions,
): Promise<NewResponseRequest> {
  const { params } = exchange;
  const { owner, responses } = options;
  if (params.background === true && params.store === false) {
    const message = 'background: true requires a stored response; omit store';
    throw new GatewayError('invalid_request', message, 'store');
  }
  if (Array.isArray(params.input) && !params.input.every(isObject)) {
    throw new GatewayError('invalid_request', 'input must be a string or a list of items', 'input');
  }
  const id = newObjectId('resp');
  const previous = params.previous_response_id;
  const previousId = typeof previous === 'string' ? previous : null;
  const prior = previousId === null ? null : await responses.priorTurns(owner, previousId);
  const newResponse = { id, isContinued: prior !== null };
  const continued = prior === null ? {} : withTurns(exchange, prior.items, options.bodyBytesMax);
  const response = {
    id,
    owner,
    input: params.input,
    previousId: prior === null ? null : previousId,
    rootId: prior?.rootId ?? id,
  };
  const keepingOptions = { ...options, commits: responses.commits };
  return {
    exchange: { ...exchange, ...continued, newResponse },
    keeping: params.store === false ? null : new ResponseWriter(response, keepingOptions),
  };
}

function withTurns(
  { params, body }: Exchange,
  before: readonly unknown[],
  bytesMax: number,
): Pick<Exchange, 'params' | 'body'> {
  const { input } = params;
  const turns = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  const items = [...before, ...(Array.isArray(turns) ? turns : [])];
  const changed = changedBody(body!, new Map([['input', items]]));
  if (changed.length > bytesMax) {
    const message = `With the previous responses, the request has more than ${bytesMax} bytes`;
    throw new GatewayError('body_too_large', message, 'previous_response_id');
  }
  return { params: { ...params, input: items }, body: changed };
}

/** Records a response that the gateway stores, like an object of a provider. */
export function responseRecorder(keeping: ResponseWriter): ObjectRecorder {
  return {
    whole: async (body) => {
      const { hook_results: _, ...record } = JSON.parse(body.toString('utf8'));
      await keeping.writeWhole(record as ResponseRecord);
      return body;
    },
    ofStream: () => {
      const reader = new EventReader();
      return {
        outlivesCaller: true,
        get isUnwanted() {
          return keeping.isCancelled;
        },
        record: (bytes) => keeping.writeEvents(responseEvents(reader, bytes)),
        end: async () => Buffer.from(await keeping.fail(brokenOff)),
      };
    },
  };
}

const brokenOff = 'The provider broke off its answer';

/** The data of the events that end in these bytes, without guardrail results, which are not part of a response. */
function responseEvents(reader: EventReader, bytes: Buffer): string[] {
  const events: string[] = [];
  reader.push(bytes, (data) => {
    if (data.startsWith('{"type":')) events.push(data);
  });
  return events;
}
