/** Knows the mark of a declared resource: whose manifest it is and what that manifest last said. */
import { z } from 'zod';
import { managedNameForm, managedNamePattern } from '../../managed-name.ts';
import { JsonRecord } from '../wire/json-record.ts';

/** Owners, workspaces and names of manifests. */
export const ManagedName = z.string().regex(managedNamePattern, `must have ${managedNameForm}`);

/**
 * Extension field `managed_by` of create and update bodies (docs/reference/sync-api.md, Ownership). On create it
 * claims the identity (kind, workspace, name); on update it adopts the resource or renews its base.
 */
export const ManagedBy = z.strictObject({
  /** The sync installation that claims the resource. */
  owner: ManagedName,
  /** `metadata.workspace` of the manifest; null at organisation level. */
  workspace: ManagedName.nullable(),
  /** `metadata.name` of the manifest. */
  name: ManagedName,
  source: z.strictObject({
    /** Folder path or Git URL without credentials. */
    repo: z.string().min(1).max(2048),
    /** Commit id; null for a folder. */
    revision: z.string().max(255).nullable(),
    /** File below the source root. */
    file: z.string().max(2048).optional(),
    /** Line of the document in it. */
    line: z.int().positive().optional(),
    /** `metadata.protected` of the manifest: kept even when it leaves the source. */
    protected: z.boolean().optional(),
    /** What becomes of the resource once its manifest leaves the source. */
    on_removal: z.enum(['delete', 'retain']).optional(),
    /** Names of the manifests that were once called so; they do not take this resource for theirs. */
    renamed_before: z.array(ManagedName).max(100).optional(),
    /** `rotation.generation` of the manifest whose value the key has. */
    rotation_generation: z.int().positive().optional(),
  }),
  /** Sparse canonical spec as applied; secrets stand in it as fingerprints. */
  last_applied: JsonRecord,
  /** Take the resource over from another owner instead of being refused. */
  take_ownership: z.boolean().optional(),
});
export type ManagedBy = z.infer<typeof ManagedBy>;
