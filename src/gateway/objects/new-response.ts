/** Knows how a request for a response is made ready, with what it goes on from, and how the response comes to be kept. */
import { newObjectId } from '../../objects/object-id.ts';
import type { Owner } from '../../objects/owner.ts';
import { type KeepingOptions, ResponseKeeping } from '../../objects/responses/response-keeping.ts';
import type { ResponseRecord } from '../../objects/responses/response-record.ts';
import type { Responses } from '../../objects/responses/responses.ts';
import { EventReader } from '../../upstream/dialects/event-reader.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { OwnedPath } from '../references/owned-path.ts';
import { changedBody } from '../transfer/changed-body.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { Note } from './noted-objects.ts';

export interface NewResponseRequest {
  /** With all that was said before it. */
  readonly exchange: Exchange;
  readonly keeping: ResponseKeeping | null;
}

export interface NewResponseOptions extends Omit<KeepingOptions, 'commits'> {
  readonly owner: Owner;
  readonly responses: Responses;
  readonly bodyBytesMax: number;
}

export function asksForResponse(
  { kind, id, rest }: OwnedPath,
  method: string | undefined,
): boolean {
  return kind === 'responses' && id === null && rest.length === 0 && method === 'POST';
}

/** Whether the caller asks for it, and later on how far it has come. */
export function isInBackground({ params }: Pick<Exchange, 'params'>): boolean {
  return params.background === true && params.stream !== true;
}

/** @throws ObjectError or GatewayError where it goes on from what cannot be gone on from, or is too large */
export async function newResponse(
  exchange: Exchange,
  options: NewResponseOptions,
): Promise<NewResponseRequest> {
  const { params } = exchange;
  const { owner, responses } = options;
  if (params.background === true && params.store === false) {
    const message = 'background: true asks for a response that is kept: leave store out';
    throw new GatewayError('invalid_request', message, 'store');
  }
  if (Array.isArray(params.input) && !params.input.every(isItem)) {
    throw new GatewayError('invalid_request', 'input must be a text or a list of items', 'input');
  }
  const id = newObjectId('resp');
  const given = params.previous_response_id;
  const named = typeof given === 'string' ? given : null;
  const prior = named === null ? null : await responses.priorTurns(owner, named);
  const begun = { id, isContinued: prior !== null };
  const continued = prior === null ? {} : goingOn(exchange, prior.items, options.bodyBytesMax);
  const response = {
    ...{ id, owner, input: params.input },
    ...{ previousId: prior === null ? null : named, rootId: prior?.rootId ?? id },
  };
  const keepingOptions = { ...options, commits: responses.commits };
  return {
    exchange: { ...exchange, ...continued, begun },
    keeping: params.store === false ? null : new ResponseKeeping(response, keepingOptions),
  };
}

function isItem(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function goingOn(
  { params, body }: Exchange,
  before: readonly unknown[],
  bytesMax: number,
): Pick<Exchange, 'params' | 'body'> {
  const { input } = params;
  const asked = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  const items = [...before, ...(Array.isArray(asked) ? asked : [])];
  const changed = changedBody(body!, new Map([['input', items]]));
  if (changed.length > bytesMax) {
    const message = `With what it goes on from, the request has more than ${bytesMax} bytes`;
    throw new GatewayError('body_too_large', message, 'previous_response_id');
  }
  return { params: { ...params, input: items }, body: changed };
}

/** As of objects at providers. */
export function noteOfResponse(keeping: ResponseKeeping): Note {
  return {
    whole: async (body) => {
      const { hook_results: _, ...record } = JSON.parse(body.toString('utf8'));
      await keeping.whole(record as ResponseRecord);
      return body;
    },
    ofStream: () => {
      const reader = new EventReader();
      return {
        outlivesCaller: true,
        get isUnwanted() {
          return keeping.isUnwanted;
        },
        note: (bytes) => keeping.events(linesOf(reader, bytes)),
        end: async () => Buffer.from(await keeping.breakOff(brokenOff)),
      };
    },
  };
}

const brokenOff = 'The provider broke off its answer';

/** Data of the events that end in these bytes; results of guardrails are no events of the response. */
function linesOf(reader: EventReader, bytes: Buffer): string[] {
  const lines: string[] = [];
  reader.push(bytes, (data) => {
    if (data.startsWith('{"type":')) lines.push(data);
  });
  return lines;
}
