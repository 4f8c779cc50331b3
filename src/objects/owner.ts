/** Identifies the owner of an object. */

/** All keys of a workspace share objects. Keys of the organisation share objects apart from all workspaces. */
export interface Owner {
  readonly organisationId: string;
  /** '' for a key of the organisation. */
  readonly workspaceId: string;
  readonly apiKeyId: string;
}
