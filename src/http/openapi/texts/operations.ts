/** Finds the description of an operation of the Admin API. */
import { identityTexts } from './identity.ts';
import { logTexts } from './observation.ts';
import type { OperationTexts } from './operation-texts.ts';
import { resourceTexts } from './resources.ts';
import { toolTexts } from './tools.ts';

const texts: OperationTexts = { ...identityTexts, ...resourceTexts, ...toolTexts, ...logTexts };

/** The operations that have a description. */
export const describedOperations: readonly string[] = Object.keys(texts);

/** The key of an operation; `path` is below the mount. Paths that differ by an alias have one. */
export function operationKey(method: string, path: string): string {
  const own = `${method} ${path}`;
  if (Object.hasOwn(texts, own)) return own;
  const common = path
    .replace(/^\/admin\/workspaces/, '/workspaces')
    .replace(/^\/api-keys\/(?:service|user)(?=\/|$)/, '/api-keys');
  return `${method} ${common}`;
}

/** Null for an operation without a description. */
export function operationText(method: string, path: string): string | null {
  return texts[operationKey(method, path)] ?? null;
}
