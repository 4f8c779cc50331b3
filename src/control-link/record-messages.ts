/** Defines the messages by which a gateway gives records to its control plane: the arguments of each method. */
import { z } from 'zod';
import { McpCapabilityType } from '../model/mcp/mcp-integration.ts';
import type { CountedAction, GatewayRecords } from '../store/records/gateway-records.ts';

type RecordMethod = keyof GatewayRecords;

const text = z.string().max(4_096);
const id = z.string().max(255);
const timeMs = z.int();
const sessionsMax = 1_000;
const definitionsMax = 200;

const note = z.strictObject({ sessionId: id, name: text, value: z.string() });
const window = z.strictObject({ startMs: timeMs, nextResetAtMs: timeMs.nullable() });
const definition = z.strictObject({
  type: McpCapabilityType,
  name: text,
  text: z.string(),
  digest: id,
});
const seen = z.strictObject({
  place: z.strictObject({ organisationId: id, integrationId: id }),
  definitions: z.array(definition).max(definitionsMax),
  at: timeMs,
});
const row = z.strictObject({
  id,
  organisationId: id,
  at: timeMs,
  changes: z.record(z.string(), z.unknown()),
});
const action: z.ZodType<CountedAction> = z.strictObject({
  action: id,
  resourceKind: id,
  actorId: id,
});

export const recordArguments = {
  storeKeyUse: z.tuple([z.strictObject({ organisationId: id, keyId: id }), timeMs]),
  storeTokenWindows: z.tuple([
    z.strictObject({ organisationId: id, id }),
    z.array(window).max(2),
    timeMs,
  ]),
  storeAnsweredState: z.tuple([
    z.strictObject({ organisation_id: id, id, expires_at: timeMs }),
    timeMs,
  ]),
  removeAnsweredState: z.tuple([id, id]),
  putNote: z.tuple([id, id, note, timeMs]),
  listNotes: z.tuple([id, z.array(id).max(sessionsMax)]),
  removeNotes: z.union([z.tuple([id, id]), z.tuple([id, id, z.array(text).max(sessionsMax)])]),
  storeSeenDefinitions: z.tuple([seen]),
  findOrganisationOfTsg: z.tuple([id]),
  storeCountedRow: z.tuple([row, action]),
} satisfies { [Method in RecordMethod]: z.ZodType<Parameters<GatewayRecords[Method]>> };

/** The arguments are read by {@link recordArguments}. */
export const RecordCall = z.strictObject({
  method: z.enum(Object.keys(recordArguments) as RecordMethod[]),
  arguments: z.array(z.unknown()),
});

/** Absent for methods without a result. */
export const recordResults = {
  storeKeyUse: z.undefined(),
  storeTokenWindows: z.undefined(),
  storeAnsweredState: z.boolean(),
  removeAnsweredState: z.undefined(),
  putNote: z.boolean(),
  listNotes: z.array(z.object({ sessionId: id, name: text, value: z.string() })),
  removeNotes: z.undefined(),
  storeSeenDefinitions: z.undefined(),
  findOrganisationOfTsg: id.optional(),
  storeCountedRow: z.undefined(),
} satisfies { [Method in RecordMethod]: z.ZodType<Awaited<ReturnType<GatewayRecords[Method]>>> };

export const RecordAnswer = z.object({ result: z.unknown() });
