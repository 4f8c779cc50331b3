/** Knows whose an object is. */

/** Keys of one workspace keep things together; keys of the organisation apart from those of all workspaces. */
export interface Owner {
  readonly organisationId: string;
  /** '' for a key of the organisation. */
  readonly workspaceId: string;
  readonly apiKeyId: string;
}
