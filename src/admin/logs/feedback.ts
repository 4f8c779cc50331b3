/** HTTP routes for feedback on traces (docs/reference/analytics.md, Feedback). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import {
  FeedbackCreate,
  FeedbackRecord,
  FeedbackUpdate,
  weightUnit,
} from '../../model/logs/feedback.ts';
import { newId } from '../../model/wire/ids.ts';
import { rewriteDocument } from '../../model/wire/json-record.ts';
import { formatTimestamp } from '../../model/wire/timestamp.ts';
import type { Db } from '../../store/connection/db.ts';
import * as feedback from '../../store/logs/feedback.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import { type BodyRequest, requireUpdate, updateBodyMeta } from '../request/frame-fields.ts';
import { findOr404, idOr404 } from '../request/scoping.ts';
import { requireVersion, withVersionTag } from '../request/version.ts';

const Receipt = z.object({
  status: z.literal('success'),
  message: z.string(),
  feedback_ids: z.array(z.uuid()),
});
/** Callers who send requests and callers who write the log may give feedback. */
const scope = ['completions.write', 'logs.write'] as const;

export function feedbackRoutes(deps: AdminDeps): Route<Principal>[] {
  const item = { mounts: everyMount, path: '/feedback/:feedbackId' } as const;
  return [
    route({
      mounts: everyMount,
      method: 'POST',
      path: '/feedback',
      scope,
      summary: 'Give feedback on the responses of a trace',
      body: FeedbackCreate,
      response: Receipt,
      handle: (request) => create(deps, request),
    }),
    route({
      ...item,
      method: 'GET',
      scope: ['logs.view', ...scope],
      summary: 'Get feedback',
      response: FeedbackRecord,
      handle: async (request) => {
        const row = await find(deps.database.readable, request, feedback.find);
        return withVersionTag(toRecord(row), row);
      },
    }),
    route({
      ...item,
      method: 'PUT',
      scope,
      versioned: true,
      summary: 'Update feedback; fields that are not sent stay',
      body: FeedbackUpdate.meta(updateBodyMeta),
      ignoredFields: ['id', 'feedbackID', 'trace_id', 'traceID'],
      response: Receipt,
      handle: (request) => update(deps, request),
    }),
  ];
}

async function create(deps: AdminDeps, request: BodyRequest<FeedbackCreate>) {
  const { caller, body, now } = request;
  const rows = [body].flat().map((one) => ({
    organisation_id: caller.organisationId,
    id: newId(),
    trace_id: (one.trace_id ?? one.traceID)!,
    workspace_id: caller.workspaceId,
    value: one.value,
    weight_units: unitsOf(one.weight ?? 1),
    metadata: JSON.stringify(one.metadata ?? {}),
    created_by: caller.id,
    version: 1,
    created_at: now,
    last_updated_at: now,
  }));
  await deps.database.transaction((tx) => feedback.insertMany(tx, rows));
  return receipt(rows);
}

async function update(deps: AdminDeps, request: BodyRequest<FeedbackUpdate>) {
  const { body, now } = request;
  requireUpdate(body);
  return deps.database.transaction(async (tx) => {
    const row = await find(tx, request, feedback.findForUpdate);
    requireVersion(request, row.version);
    const columns = {
      value: body.value ?? row.value,
      weight_units: body.weight === undefined ? row.weight_units : unitsOf(body.weight),
      metadata: rewriteDocument(row.metadata, body.metadata) ?? '{}',
    };
    const isSame = (Object.keys(columns) as (keyof typeof columns)[]).every(
      (name) => columns[name] === row[name],
    );
    if (!isSame) await feedback.update(tx, row, { ...columns, last_updated_at: now });
    return receipt([row]);
  });
}

/** Users find only their own feedback. */
async function find(
  db: Db,
  { caller, params }: Pick<AdminRequest, 'caller' | 'params'>,
  read: typeof feedback.find,
): Promise<feedback.StoredFeedback> {
  const row = await read(db, caller.organisationId, idOr404(params.feedbackId!));
  const isOwn = caller.person === null || row?.created_by === caller.id;
  return findOr404(caller, isOwn ? row : undefined);
}

function receipt(rows: readonly { readonly id: string }[]): z.infer<typeof Receipt> {
  const feedback_ids = rows.map(({ id }) => id);
  return { status: 'success', message: 'The feedback was saved', feedback_ids };
}

function unitsOf(weight: number): number {
  return Math.round(weight * weightUnit);
}

function toRecord(row: feedback.StoredFeedback): FeedbackRecord {
  return {
    id: row.id,
    object: 'feedback',
    trace_id: row.trace_id,
    workspace_id: row.workspace_id,
    value: row.value,
    weight: row.weight_units / weightUnit,
    metadata: JSON.parse(row.metadata),
    created_by: row.created_by,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
  };
}
