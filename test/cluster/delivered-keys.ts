/** Builds manifests of API keys with delivery, and checks whether a delivered value works. */
import type { TestServer } from '../support/server/server.ts';

/** Scope of the delivered keys. */
const scope = 'workspaces.list';

/** @param more fields of the spec, starting with a comma; likewise `metadata` */
export function keyManifest(name: string, output: string, more = '', metadata = ''): string {
  return `---
apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: ${name}${metadata}}
spec: {scopes: [${scope}], secretOutput: ${output}${more}}
`;
}

/** Returns whether the API accepts this value as a key. */
export async function opensApi(server: TestServer, value: string | undefined): Promise<boolean> {
  const headers = { 'x-gateway-api-key': value ?? '' };
  const { status } = await server.request('GET', '/v1/workspaces', { auth: 'none', headers });
  return status === 200;
}
