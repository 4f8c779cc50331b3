/** Table functions for mcp_definitions: approved and newest definitions of tools, prompts and resources. */
import { sql } from 'kysely';
import type { PinnedDefinition } from '../../model/mcp/definition-pins.ts';
import type { Db } from '../connection/db.ts';
import { rows } from '../rows/rows.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';

interface McpDefinitionRow extends Omit<PinnedDefinition, 'name'> {
  organisation_id: string;
  mcp_integration_id: string;
  /** Binary, because text comparison ignores trailing spaces. */
  name: Buffer;
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_definitions: McpDefinitionRow;
  }
}

/** An integration of an organisation. */
export interface DefinitionPlace {
  readonly organisationId: string;
  readonly integrationId: string;
}

const table = rows('mcp_definitions');
/** Rows of one statement, as each row may contain two definitions. */
const rowsMax = 50;

/** Identity and digests, without the definitions, which are large. */
export type DefinitionDigests = Pick<
  PinnedDefinition,
  'type' | 'name' | 'approved_digest' | 'seen_digest'
>;

export async function listDigests(db: Db, place: DefinitionPlace): Promise<DefinitionDigests[]> {
  const found = await table.list(db, predicateOf(place), {
    columns: ['type', 'name', 'approved_digest', 'seen_digest'],
  });
  return found.map(withNameAsText);
}

/** All definitions of an integration, in a fixed order. */
export async function listByIntegration(
  db: Db,
  place: DefinitionPlace,
): Promise<PinnedDefinition[]> {
  const found = await table.list(db, predicateOf(place), { orderBy: ['type', 'name'] });
  return found.map(withNameAsText);
}

/** Definitions with one of the names, of any type. */
export async function listByNames(
  db: Db,
  place: DefinitionPlace,
  names: readonly string[],
): Promise<PinnedDefinition[]> {
  if (names.length === 0) return [];
  const where = { ...predicateOf(place), name: names.map((name) => Buffer.from(name)) };
  return (await table.list(db, where)).map(withNameAsText);
}

export function countUnapproved(db: Db, place: DefinitionPlace): Promise<number> {
  return table.count(db, { ...predicateOf(place), approved_digest: null });
}

/** Approved digests of all integrations of the organisation, in a fixed order. */
export async function listApproved(
  db: Db,
  organisationId: string,
): Promise<(DefinitionDigests & { readonly mcp_integration_id: string })[]> {
  const found = await table
    .matching(db, { organisation_id: organisationId })
    .select(['mcp_integration_id', 'type', 'name', 'approved_digest', 'seen_digest'])
    .where('approved_digest', 'is not', null)
    .orderBy('mcp_integration_id')
    .orderBy('type')
    .orderBy('name')
    .execute();
  return found.map(withNameAsText);
}

/** Resources come and go as data does. */
const needsAttention = sql<boolean>`(not (approved_digest <=> seen_digest) or warnings is not null)
  and not (type = 'resource' and seen_digest is null)`;

/** Definitions that are not trusted or that are suspicious, at most `limit`, in a fixed order. */
export async function listFindings(
  db: Db,
  organisationId: string,
  limit: number,
): Promise<(PinnedDefinition & { readonly mcp_integration_id: string })[]> {
  const found = await table
    .matching(db, { organisation_id: organisationId })
    .selectAll()
    .where(needsAttention)
    .orderBy('mcp_integration_id')
    .orderBy('type')
    .orderBy('name')
    .limit(limit)
    .execute();
  return found.map(withNameAsText);
}

/** The result of {@link listFindings} for the integrations that these owners manage, with the name in their manifests. */
export async function listFindingsOfOwners(
  db: Db,
  organisationId: string,
  owners: readonly string[],
  limit: number,
): Promise<(PinnedDefinition & { readonly owner: string; readonly integration: string })[]> {
  if (owners.length === 0) return [];
  const found = await db
    .selectFrom('mcp_definitions as d')
    .innerJoin('managed_resources as m', (join) =>
      join
        .onRef('m.organisation_id', '=', 'd.organisation_id')
        .onRef('m.resource_id', '=', 'd.mcp_integration_id')
        .on('m.kind', '=', 'McpIntegration'),
    )
    .selectAll('d')
    .select(['m.owner', 'm.name as integration'])
    .where('d.organisation_id', '=', organisationId)
    .where('m.organisation_id', '=', organisationId)
    .where('m.owner', 'in', owners)
    .where(needsAttention)
    .orderBy('m.owner')
    .orderBy('m.name')
    .orderBy('d.type')
    .orderBy('d.name')
    .limit(limit)
    .execute();
  return found.map(withNameAsText);
}

/** Replaces rows; those without any digest are deleted. The row of the integration must be locked. */
export async function put(
  tx: Db,
  { organisationId, integrationId }: DefinitionPlace,
  definitions: readonly PinnedDefinition[],
): Promise<void> {
  if (definitions.length === 0) return;
  snapshotMarks.replaceOne(tx, organisationId);
  const stored = definitions.map((one) => ({
    ...one,
    organisation_id: organisationId,
    mcp_integration_id: integrationId,
    name: Buffer.from(one.name),
  }));
  for (let at = 0; at < stored.length; at += rowsMax) {
    await tx
      .insertInto('mcp_definitions')
      .values(stored.slice(at, at + rowsMax))
      .onDuplicateKeyUpdate({
        approved_digest: sql`values(approved_digest)`,
        approved: sql`values(approved)`,
        approved_at: sql`values(approved_at)`,
        seen_digest: sql`values(seen_digest)`,
        seen: sql`values(seen)`,
        seen_at: sql`values(seen_at)`,
        warnings: sql`values(warnings)`,
      })
      .execute();
  }
  await table.delete(tx, {
    organisation_id: organisationId,
    mcp_integration_id: integrationId,
    approved_digest: null,
    seen_digest: null,
  });
}

export const deleteByIntegration = table.deleteBy('organisation_id', 'mcp_integration_id');

function predicateOf({ organisationId, integrationId }: DefinitionPlace) {
  return { organisation_id: organisationId, mcp_integration_id: integrationId };
}

function withNameAsText<Row extends { readonly name: Buffer }>(row: Row) {
  return { ...row, name: row.name.toString() };
}
