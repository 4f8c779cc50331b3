/** Delivers a response that mentions objects; their owners are recorded before the caller sees them. */

import { isEventStream } from '../../model/wire/media-type.ts';
import { deliver, sendComplete } from '../calls/deliver.ts';
import type { TargetOutcome } from '../calls/outcome.ts';
import type { RequestContext } from '../calls/request-context.ts';
import { isFailure, type ReadResponse, readWholeResponse } from '../calls/whole-response.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { ObjectRecorder } from './object-recorder.ts';
import { deliverRecordedStream, eventsTo, recordTo } from './recorded-stream.ts';

/**
 * Without `record` the caller receives the response of the provider. With it, the caller receives the
 * object that `record` returns instead of the events of a stream.
 */
export async function deliverRecorded(
  context: RequestContext,
  outcome: TargetOutcome,
  recorder: ObjectRecorder,
  record: (() => object | null) | null,
): Promise<void> {
  const { arrival, draft, caller } = context;
  if (outcome.kind === 'live' && isEventStream(outcome.call.headers)) {
    const { response } = arrival;
    const receiver = record === null ? eventsTo(response) : recordTo(response, record);
    return deliverRecordedStream(context, outcome, recorder.ofStream(), receiver);
  }
  if (outcome.kind === 'failed' || outcome.kind === 'cached') return deliver(context, outcome);
  const read =
    outcome.kind === 'live'
      ? await readWholeResponse(outcome, {
          calls: context.calls,
          caller,
          onBytes: null,
          outlivesCaller: context.exchange.trackedCreation !== undefined,
        })
      : outcome.response;
  if (isFailure(read)) return deliver(context, read);
  const { metered, cost } = read;
  draft.metered = metered;
  const isStream = isEventStream(read.headers);
  const body = isStream ? await recordEvents(recorder, read.body) : await recorder.whole(read.body);
  if (caller.isGone) return;
  const delivered = record === null ? { headers: read.headers, body } : wholeRecord(record());
  const { status } = outcome;
  const { headers } = delivered;
  sendComplete(context, outcome, { status, headers, body: delivered.body, metered, cost });
}

/** Records a stream that was held back until guardrails judged it. */
async function recordEvents(recorder: ObjectRecorder, events: Buffer): Promise<Buffer> {
  const stream = recorder.ofStream();
  await stream.record(events);
  return Buffer.concat([events, await stream.end()]);
}

function wholeRecord(record: object | null): Pick<ReadResponse, 'headers' | 'body'> {
  if (record === null) {
    const message = 'The provider returned a stream that contains no response';
    throw new GatewayError('answer_unreadable', message);
  }
  return {
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(record)),
  };
}
