/** Defines scopes of the access service: named sets of resources that select workspaces there. */
import { z } from 'zod';

/** Part of request paths, so it contains no character that needs escaping. */
const IamScopeName = z
  .string()
  .max(255)
  .regex(
    /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/,
    'must be letters, digits, _ . -, beginning with no . or -',
  );

const resourcesMax = 1000;
const metadataMax = 100;

export const IamScopeResource = z.object({
  /** `workspace`, with the workspace's slug as `resource_id`. */
  resource_type: z.string().min(1).max(64),
  resource_id: z.string().min(1).max(255),
  metadata: z.array(z.json()).max(metadataMax).optional(),
});
export type IamScopeResource = z.infer<typeof IamScopeResource>;

const contents = {
  description: z.string().max(4096).default(''),
  resources: z.array(IamScopeResource).max(resourcesMax).default([]),
};

/** Body of POST /iam/v1/scopes. */
export const IamScopeCreate = z.object({ name: IamScopeName, ...contents });
export type IamScopeCreate = z.infer<typeof IamScopeCreate>;

/** Body of PUT /iam/v1/scopes/{name}; absent fields become empty. */
export const IamScopeReplace = z.object(contents);
export type IamScopeReplace = z.infer<typeof IamScopeReplace>;
