/** Knows what a resource is on both sides of a sync, desired and live, in one comparable form. */
import type { KindName } from '../../model/kinds/kinds.ts';
import type { Secret } from '../../secret.ts';
import type { SecretTarget } from './secret-target.ts';

/** Who a resource is: (kind, workspace, name) within one organisation (docs/reference/manifests.md, Manifest). */
export interface Identity {
  readonly kind: KindName;
  /** `metadata.workspace`: the name of a Workspace manifest or External; null for organisation-level. */
  readonly workspace: string | null;
  readonly name: string;
}

/** `ApiKey/support/support-bot`, or `Workspace/support` at organisation level; also the text of a `$ref`. */
export function identityKey(identity: Identity): string {
  return identity.workspace === null
    ? `${identity.kind}/${identity.name}`
    : `${identity.kind}/${identity.workspace}/${identity.name}`;
}

/** The workspace that a resource counts to, which is its own for a Workspace; null for the organisation's. */
export function owningWorkspace({ kind, workspace, name }: Identity): string | null {
  return kind === 'Workspace' ? name : workspace;
}

/** Where something stands in the source: `file` is relative to the source root, both numbers 1-based. */
export interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** What else has a part in what stands there; absent where nothing has. */
  readonly related?: readonly RelatedPosition[] | undefined;
}

/** Completes a sentence about a position: `patches` what stands here. */
export interface RelatedPosition extends Omit<Position, 'related'> {
  readonly relation: 'patches' | 'patched by' | 'default for' | 'defaults from' | 'value from';
}

/** `gateway/keys.yaml:12:3`, and in brackets what else has a part in it. */
export function placeText({ file, line, column, related = [] }: Position): string {
  const place = `${file}:${line}:${column}`;
  return related.length === 0 ? place : `${place} (${related.map(relationText).join(', ')})`;
}

/** `patches gateway/keys.yaml:12:3` */
export function relationText({ relation, ...other }: RelatedPosition): string {
  return `${relation} ${placeText(other)}`;
}

export type SpecJson = null | boolean | number | string | SpecJson[] | { [key: string]: SpecJson };

/**
 * A spec in canonical form: the Admin API's own field names and values (the create body), sparse,
 * with two kinds of placeholder objects in it:
 * `{"$ref": "Config/support/routing"}` stands for the id or slug of that resource, and
 * `{"$secret": "env:GW_VAR_CRM_TOKEN", "fingerprint": "<hex>"}` for a write-only value. So a spec can be
 * compared, stored as `last_applied` and printed without holding an id of one server or any secret.
 */
export type Spec = { [field: string]: SpecJson };

/** One resource as the manifests want it. */
export interface DesiredResource {
  readonly identity: Identity;
  readonly position: Position;
  /** Position of a field by JSON pointer into `spec` (`/usage_limits/credit_limit`), else of the document. */
  readonly positionOf: (pointer: string) => Position;
  /** Whether other places have a part in it: patches, defaults, values of an environment. */
  readonly isComposed?: boolean | undefined;
  /** Secrets stand in it as `{"$secret": origin, "fingerprint": ""}` until the fingerprint key is known. */
  readonly spec: Spec;
  /** Values of the `$secret` placeholders by JSON pointer. */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Every `$ref` in `spec` and the workspace itself, once each. */
  readonly references: readonly Identity[];
  /** `state: absent`: the resource must not exist. */
  readonly absent: boolean;
  /** `metadata.protected`: never deleted or replaced. */
  readonly protected: boolean;
  readonly previousNames: readonly string[];
  /** Names of the manifests of its place that were once called as this one is now. */
  readonly renamedBefore: readonly string[];
  /** Annotation `gatewright.dev/deletion`: what happens to it once it leaves the source. */
  readonly onRemoval: 'delete' | 'retain';
  /** Keys that lead to fields of `spec` that other tools own: written once, never compared. */
  readonly ignoreFields?: readonly (readonly string[])[] | undefined;
  /** ApiKey only: what receives the value of the key. */
  readonly secretOutput: SecretTarget | null;
  /** ApiKey only: when its value is replaced by the run that delivers the new one; null for never. */
  readonly rotation: DesiredRotation | null;
}

export interface DesiredRotation {
  /** Raised by whoever wants another value now; from 1. */
  readonly generation: number;
  /** Whether the policy in the spec has a period, at whose end a run replaces the value. */
  readonly isPeriodic: boolean;
}

/** Something that exists on the server and is only pointed at (`kind: External`). */
export interface ExternalResource {
  readonly identity: Identity;
  readonly position: Position;
  /** What it is found by on the server; a name counts in the workspace of its identity. */
  readonly by: 'slug' | 'id' | 'name';
  readonly lookup: string;
}

/** Something about a source, at its place, in words for the user. */
export interface SourceNote {
  readonly position: Position;
  /** Stable name of the rule, kebab-case: `unknown-field`. */
  readonly code: string;
  readonly message: string;
  /** What to do about it. */
  readonly fix?: string | undefined;
}

/** `gateway/keys.yaml:12:3: MESSAGE; FIX` */
export function noteText({ position, message, fix }: SourceNote): string {
  return [`${placeText(position)}: ${message}`, ...(fix === undefined ? [] : [fix])].join('; ');
}

/** A mistake in a source of which the rest is applied (docs/explanation/sync.md, Isolation). */
export interface HeldFault {
  readonly fault: SourceNote;
  /** Those in which it stands (null: the organisation's own resources), as far as that can be read. */
  readonly workspaces: readonly (string | null)[];
  /** What the source declares may be hidden by it, in any workspace. */
  readonly mayHide: boolean;
  /** File or folder that could not be read whole: what was applied from it is held, too. */
  readonly unread: string | null;
  /** It leaves open what every manifest says, or which of them count. */
  readonly holdsAll?: boolean | undefined;
}

/** All manifests of one source, read and checked as far as that goes without a server. */
export interface DesiredSet {
  readonly resources: readonly DesiredResource[];
  readonly externals: readonly ExternalResource[];
  readonly source: SourceInfo;
  readonly leftAlone: LeftAlone;
  /** What is wrong with it where the rest is applied all the same; absent where nothing is. */
  readonly faults?: readonly HeldFault[] | undefined;
  /** What is no fault and hardly meant, in the order of its places; absent where there is none. */
  readonly warnings?: readonly SourceNote[] | undefined;
  /** Of the workspaces that are wrong, those whose resources are of an earlier version; absent where none is. */
  readonly lastValid?: ReadonlySet<string | null> | undefined;
}

export interface SourceInfo {
  /** Folder path or Git URL without credentials. */
  readonly repo: string;
  /** Commit id, or null for a folder. */
  readonly revision: string | null;
  /** Hash of every file that holds manifests, hex; equal digests mean an unchanged source. */
  readonly digest: string;
  /** The environment of it that was read; absent or null where it has none. */
  readonly environment?: string | null | undefined;
}

/** How what was read is called: the commit id of Git, or `sha256:` and the digest of what has none. */
export function commitOf({ revision, digest }: Pick<SourceInfo, 'revision' | 'digest'>): string {
  return revision ?? `sha256:${digest}`;
}

/** What lies in a source and is not read as a manifest; said of every run, so that nothing is lost unseen. */
export interface LeftAlone {
  /** Files and folders (with a `/` at the end) that a `.gatewrightignore` names. */
  readonly ignored: readonly string[];
  /** Folders of the environments that were not chosen. */
  readonly otherEnvironments: readonly string[];
  /** Files that hold nothing but documents of other programs. */
  readonly foreignFiles: readonly string[];
  /** Documents of other programs beside manifests: `all.yaml:5`. */
  readonly foreignDocuments: readonly string[];
}

/** What a managed resource remembers of its manifest, so that it is known once the manifest is gone. */
export interface ManagedSource {
  readonly repo: string;
  readonly revision: string | null;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly protected?: boolean | undefined;
  readonly on_removal?: 'delete' | 'retain' | undefined;
  /** Names of the manifests that were once called so: their rename is done, and this is another. */
  readonly renamed_before?: readonly string[] | undefined;
  /** The generation of the value that was carried out last; 1 where it is left out. */
  readonly rotation_generation?: number | undefined;
}

/** One resource as the server holds it. */
export interface LiveResource {
  /** As declared by its owner; for an unmanaged one the workspace slug and its own name. */
  readonly identity: Identity;
  readonly id: string;
  readonly slug: string | null;
  /** Counts writes; sent back as `If-Match`. */
  readonly version: number;
  /** Canonical: ids and slugs of known resources stand as `$ref`. */
  readonly spec: Spec;
  readonly owner: string | null;
  /** The key that `bootstrap` made: it belongs to the deployment and is nobody's to adopt. */
  readonly isOfDeployment: boolean;
  /** Whether its owner's record was written with this credential. */
  readonly isRecordedHere: boolean;
  /** ApiKey only: moments of its rotations, RFC 3339; null for a key that has none. */
  readonly rotation: {
    readonly next_rotation_at: string | null;
    readonly rotated_at: string | null;
    readonly transition_expires_at: string | null;
  } | null;
  /** What its owner last applied; null when unmanaged. */
  readonly base: Spec | null;
  /** Identity key in its owner's record on the server; null when unmanaged. */
  readonly declared: string | null;
  /** Null when unmanaged. */
  readonly source: ManagedSource | null;
  /** Its own name as the API shows it; an unmanaged twin is recognised by it. */
  readonly title: string;
}

export interface LiveSet {
  readonly resources: readonly LiveResource[];
  readonly etag: string;
  /** What a newer server has and this version does not know: kinds, and fields of specs. */
  readonly unknown: readonly string[];
  /** HMAC key for secret fingerprints of this owner; null when these credentials may not write secrets. */
  readonly fingerprintKey: Buffer | null;
  /** By kind the setting by which the server has switched it off; absent for none. */
  readonly switchedOff?: ReadonlyMap<string, string> | undefined;
}
