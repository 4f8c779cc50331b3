/** Knows the keys whose values tests have delivered: their manifests, and whether a value is good for anything. */
import type { TestServer } from '../support/server/server.ts';

/** What a delivered key may do. */
const scope = 'workspaces.list';

/** @param more of its spec, from a comma on; `metadata` alike */
export function keyManifest(name: string, output: string, more = '', metadata = ''): string {
  return `---
apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: ${name}${metadata}}
spec: {scopes: [${scope}], secretOutput: ${output}${more}}
`;
}

/** Whether the API lets in who shows this value. */
export async function opensApi(server: TestServer, value: string | undefined): Promise<boolean> {
  const headers = { 'x-gateway-api-key': value ?? '' };
  const { status } = await server.request('GET', '/v1/workspaces', { auth: 'none', headers });
  return status === 200;
}
