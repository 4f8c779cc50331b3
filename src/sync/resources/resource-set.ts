/** Defines the desired and live resources of a sync in one comparable form. */
import type { KindName } from '../../model/kinds/kinds.ts';
import type { DefinitionFinding } from '../../model/mcp/definition-finding.ts';
import type { Secret } from '../../secret.ts';
import type { SecretTarget } from './secret-target.ts';

/**
 * Identifies a resource by kind, workspace and name within an organisation
 * (docs/reference/manifests.md, Manifest).
 */
export interface Identity {
  readonly kind: KindName;
  /**
   * `metadata.workspace`: the name of a Workspace manifest or External; null at organisation level.
   */
  readonly workspace: string | null;
  readonly name: string;
}

/**
 * Formats `ApiKey/support/support-bot`, or `Workspace/support` at organisation level; also the text
 * of a `$ref`.
 */
export function identityKey(identity: Identity): string {
  return identity.workspace === null
    ? `${identity.kind}/${identity.name}`
    : `${identity.kind}/${identity.workspace}/${identity.name}`;
}

/**
 * Returns the workspace that a resource belongs to, for a Workspace itself; null for the
 * organisation's.
 */
export function owningWorkspace({ kind, workspace, name }: Identity): string | null {
  return kind === 'Workspace' ? name : workspace;
}

/** A position in the source: `file` is relative to the source root, both numbers are 1-based. */
export interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Other positions that contribute to the value; absent when there are none. */
  readonly related?: readonly RelatedPosition[] | undefined;
}

/** A related position with its relation, such as `patches` or `patched by`. */
export interface RelatedPosition extends Omit<Position, 'related'> {
  readonly relation: 'patches' | 'patched by' | 'default for' | 'defaults from' | 'value from';
}

/** Formats `gateway/keys.yaml:12:3`, with related positions in brackets. */
export function placeText({ file, line, column, related = [] }: Position): string {
  const place = `${file}:${line}:${column}`;
  return related.length === 0 ? place : `${place} (${related.map(relationText).join(', ')})`;
}

/** Formats `patches gateway/keys.yaml:12:3`. */
export function relationText({ relation, ...other }: RelatedPosition): string {
  return `${relation} ${placeText(other)}`;
}

export type SpecJson = null | boolean | number | string | SpecJson[] | { [key: string]: SpecJson };

/**
 * A spec in canonical form: the field names and values of the Admin API's create body, sparse, with
 * two kinds of placeholder objects. `{"$ref": "Config/support/routing"}` stands for the id or slug
 * of that resource; `{"$secret": "env:GW_VAR_CRM_TOKEN", "fingerprint": "<hex>"}` for a write-only
 * value. A spec can therefore be compared, stored as `last_applied` and printed without server ids
 * or secrets.
 */
export type Spec = { [field: string]: SpecJson };

/** A resource as the manifests declare it. */
export interface DesiredResource {
  readonly identity: Identity;
  readonly position: Position;
  /**
   * Returns the position of a field by JSON pointer into `spec` (`/usage_limits/credit_limit`),
   * else of the document.
   */
  readonly positionOf: (pointer: string) => Position;
  /** Whether other positions contribute to it: patches, defaults, values of an environment. */
  readonly isComposed?: boolean | undefined;
  /** Secrets are `{"$secret": origin, "fingerprint": ""}` until the fingerprint key is known. */
  readonly spec: Spec;
  /** Values of the `$secret` placeholders by JSON pointer. */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Every `$ref` in `spec`, and the workspace itself, without duplicates. */
  readonly references: readonly Identity[];
  /** `state: absent`: the resource must not exist. */
  readonly absent: boolean;
  /** `metadata.protected`: never deleted or replaced. */
  readonly protected: boolean;
  readonly previousNames: readonly string[];
  /** Names of other manifests in the workspace that once had this one's current name. */
  readonly renamedBefore: readonly string[];
  /** Annotation `gatewright.dev/deletion`: what happens when it leaves the source. */
  readonly onRemoval: 'delete' | 'retain';
  /** Paths in `spec` that other tools own: written once, never compared. */
  readonly ignoreFields?: readonly (readonly string[])[] | undefined;
  /** ApiKey only: the sink that receives the value of the key. */
  readonly secretOutput: SecretTarget | null;
  /** ApiKey only: the rotation by the run that delivers the new value; null for none. */
  readonly rotation: DesiredRotation | null;
}

export interface DesiredRotation {
  /** Raised by a user to request another value; starts at 1. */
  readonly generation: number;
  /** Whether the policy in the spec has a period after which a run rotates the key. */
  readonly isPeriodic: boolean;
}

/** A resource that exists on the server and is only referred to (`kind: External`). */
export interface ExternalResource {
  readonly identity: Identity;
  readonly position: Position;
  /** The lookup property; a name is unique within the workspace of the identity. */
  readonly by: 'slug' | 'id' | 'name';
  readonly lookup: string;
}

/** A remark about a source, with position and text for the user. */
export interface SourceNote {
  readonly position: Position;
  /** Stable name of the rule in kebab-case: `unknown-field`. */
  readonly code: string;
  readonly message: string;
  /** How to resolve it. */
  readonly fix?: string | undefined;
}

/** Formats `gateway/keys.yaml:12:3: MESSAGE; FIX`. */
export function noteText({ position, message, fix }: SourceNote): string {
  return [`${placeText(position)}: ${message}`, ...(fix === undefined ? [] : [fix])].join('; ');
}

/** A fault in a source whose other parts are applied (docs/explanation/sync.md, Isolation). */
export interface HeldFault {
  readonly fault: SourceNote;
  /** The workspaces that it affects (null: resources of the organisation), as far as readable. */
  readonly workspaces: readonly (string | null)[];
  /** Whether it may hide declarations in any workspace. */
  readonly mayHide: boolean;
  /**
   * A file or folder that could not be read completely; what was applied from it is held back too.
   */
  readonly unread: string | null;
  /** Whether it leaves open what every manifest contains, or which of them count. */
  readonly holdsAll?: boolean | undefined;
}

/** All manifests of one source, read and checked as far as possible without a server. */
export interface DesiredSet {
  readonly resources: readonly DesiredResource[];
  readonly externals: readonly ExternalResource[];
  readonly source: SourceInfo;
  readonly leftAlone: LeftAlone;
  /** Faults of a source whose other parts are applied; absent when there are none. */
  readonly faults?: readonly HeldFault[] | undefined;
  /** Likely mistakes that are no faults, by position; absent when there are none. */
  readonly warnings?: readonly SourceNote[] | undefined;
  /**
   * Invalid workspaces whose resources come from an earlier version; absent when there are none.
   */
  readonly lastValid?: ReadonlySet<string | null> | undefined;
}

export interface SourceInfo {
  /** Folder path, or Git URL without credentials. */
  readonly repo: string;
  /** Commit id; null for a folder. */
  readonly revision: string | null;
  /** Hash of every file with manifests, hexadecimal; equal digests mean an unchanged source. */
  readonly digest: string;
  /** The selected environment; absent or null for none. */
  readonly environment?: string | null | undefined;
}

/** Returns the name of a version: the commit id of Git, or `sha256:` and the digest. */
export function commitOf({ revision, digest }: Pick<SourceInfo, 'revision' | 'digest'>): string {
  return revision ?? `sha256:${digest}`;
}

/**
 * Parts of a source that are not read as manifests; reported with every run, so that nothing is
 * lost unnoticed.
 */
export interface LeftAlone {
  /** Files and folders (with a trailing `/`) that a `.gatewrightignore` excludes. */
  readonly ignored: readonly string[];
  /** Folders of environments that were not selected. */
  readonly otherEnvironments: readonly string[];
  /** Files that contain only documents of other programs. */
  readonly foreignFiles: readonly string[];
  /** Documents of other programs in files with manifests: `all.yaml:5`. */
  readonly foreignDocuments: readonly string[];
}

/**
 * The manifest data in the record of a managed resource, for use after the manifest is gone.
 */
export interface ManagedSource {
  readonly repo: string;
  readonly revision: string | null;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly protected?: boolean | undefined;
  readonly on_removal?: 'delete' | 'retain' | undefined;
  /**
   * Names of the manifests that once had its name; their renames are done, and this is another
   * resource.
   */
  readonly renamed_before?: readonly string[] | undefined;
  /** The generation of the value that was set last; 1 when absent. */
  readonly rotation_generation?: number | undefined;
}

/** A resource as the server has it. */
export interface LiveResource {
  /** As declared by its owner; for an unmanaged resource the workspace slug and its own name. */
  readonly identity: Identity;
  readonly id: string;
  readonly slug: string | null;
  /** Counts writes; sent back as `If-Match`. */
  readonly version: number;
  /** Canonical: ids and slugs of known resources are `$ref`. */
  readonly spec: Spec;
  readonly owner: string | null;
  /** The key or account that `bootstrap` created; it belongs to the deployment and cannot be adopted. */
  readonly isOfDeployment: boolean;
  /** Whether its owner record was written with this credential. */
  readonly isRecordedHere: boolean;
  /** ApiKey only: times of its rotations, RFC 3339; null for a key without rotation. */
  readonly rotation: {
    readonly next_rotation_at: string | null;
    readonly rotated_at: string | null;
    readonly transition_expires_at: string | null;
  } | null;
  /** The spec that its owner applied last; null when unmanaged. */
  readonly base: Spec | null;
  /** Identity key in its owner record; null when unmanaged. */
  readonly declared: string | null;
  /** Null when unmanaged. */
  readonly source: ManagedSource | null;
  /** Display name in the API, by which an unmanaged twin is recognised. */
  readonly title: string;
  /** McpIntegration only: definitions that are not trusted or suspicious; absent for none. */
  readonly definitions?: readonly DefinitionFinding[] | undefined;
}

export interface LiveSet {
  readonly resources: readonly LiveResource[];
  readonly etag: string;
  /** Kinds and spec fields of a newer server that this version does not know. */
  readonly unknown: readonly string[];
  /**
   * HMAC key for the secret fingerprints of this owner; null when these credentials may not write
   * secrets.
   */
  readonly fingerprintKey: Buffer | null;
  /** Kinds that the server has switched off, with the setting; absent for none. */
  readonly switchedOff?: ReadonlyMap<string, string> | undefined;
}
