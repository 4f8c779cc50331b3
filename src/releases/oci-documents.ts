/** Parses the documents of OCI layouts and registries. */
import { z } from 'zod';

const digestPattern = /^sha256:[0-9a-f]{64}$/;

export const OciDescriptor = z.object({
  mediaType: z.string(),
  digest: z.string().regex(digestPattern, 'must be sha256: and 64 hexadecimal digits'),
  size: z.int().min(0),
  artifactType: z.string().optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  platform: z
    .object({ os: z.string(), architecture: z.string(), variant: z.string().optional() })
    .optional(),
});

export const OciManifest = z.object({
  schemaVersion: z.literal(2),
  mediaType: z.string().optional(),
  artifactType: z.string().optional(),
  /** Manifests have a config and layers. */
  config: OciDescriptor.optional(),
  layers: z.array(OciDescriptor).optional(),
  /** Indexes have manifests. */
  manifests: z.array(OciDescriptor).optional(),
  subject: OciDescriptor.optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});

export type OciDescriptor = z.infer<typeof OciDescriptor>;
export type OciManifest = z.infer<typeof OciManifest>;
