/** Defines the form of names in manifests: resources, workspaces and owners. */

export const managedNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

/** Completes "expected …" and "must have …". */
export const managedNameForm =
  '1 to 253 letters, digits, ".", "_" or "-", beginning with a letter or digit';
