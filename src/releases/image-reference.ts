/** Parses references of images and charts in registries. */

/** A repository and, where named, a tag or digest of it. */
export interface ImageReference {
  readonly host: string;
  readonly repository: string;
  readonly tag: string | null;
  readonly digest: string | null;
}

/** Null when the text is no reference with a registry: `host[:port]/repository[:tag][@digest]`. */
export function parseImageReference(text: string): ImageReference | null {
  const pattern =
    /^(?<host>(?:localhost|[\w.-]+\.[\w-]+|\[[0-9a-f:]+\])(?::\d+)?)\/(?<repository>[a-z0-9]+(?:[._/-]+[a-z0-9]+)*)(?::(?<tag>[\w.-]{1,128}))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$/;
  const { host, repository, tag, digest } = pattern.exec(text)?.groups ?? {};
  if (host === undefined || repository === undefined) return null;
  return { host, repository, tag: tag ?? null, digest: digest ?? null };
}
