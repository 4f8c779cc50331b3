/** Defines the ownership mark of a declared resource: its manifest and the spec applied last. */
import { z } from 'zod';
import { managedNameForm, managedNamePattern } from '../../managed-name.ts';
import { JsonRecord } from '../wire/json-record.ts';

/** The form of owners, workspaces and names in manifests. */
export const ManagedName = z.string().regex(managedNamePattern, `must have ${managedNameForm}`);

/**
 * Extension field `managed_by` of create and update bodies (docs/reference/sync-api.md, Ownership). On create it
 * claims the identity (kind, workspace, name). On update it adopts the resource or replaces the spec applied last.
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
    /** File path relative to the source root. */
    file: z.string().max(2048).optional(),
    /** Line in the file at which the document starts. */
    line: z.int().positive().optional(),
    /** `metadata.protected` of the manifest: prevents deletion when the manifest leaves the source. */
    protected: z.boolean().optional(),
    /** Action when the manifest of the resource leaves the source. */
    on_removal: z.enum(['delete', 'retain']).optional(),
    /** Manifests that had this name before they were renamed; they must not claim this resource. */
    renamed_before: z.array(ManagedName).max(100).optional(),
    /** `rotation.generation` of the manifest that produced the key's current value. */
    rotation_generation: z.int().positive().optional(),
  }),
  /** Sparse canonical spec as applied; secrets are replaced by fingerprints. */
  last_applied: JsonRecord,
  /** Takes the resource over from another owner instead of being rejected. */
  take_ownership: z.boolean().optional(),
});
export type ManagedBy = z.infer<typeof ManagedBy>;
