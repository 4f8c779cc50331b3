/** Creates a source of manifests from text, and reads it. */
import { Secret } from '../../../src/secret.ts';
import { type DesiredResult, readDesired } from '../../../src/sync/desired/desired.ts';
import type { DesiredResource } from '../../../src/sync/resources/resource-set.ts';
import { originText } from '../../../src/sync/resources/secret-target.ts';
import type { AgeIdentities } from '../../../src/sync/sops/age-identities.ts';
import { digestOf, type SourceFiles } from '../../../src/sync/source/source-files.ts';

export function sourceOf(texts: Record<string, string | Buffer>): SourceFiles {
  const files = Object.entries(texts)
    .map(([path, text]) => ({ path, content: Buffer.from(text) }))
    .sort((one, two) => (one.path < two.path ? -1 : 1));
  const info = { repo: '/test', revision: null, digest: digestOf(files) };
  return { files, faults: [], ignored: [], info, prefix: '' };
}

export async function readTexts(
  texts: Record<string, string | Buffer>,
  options: {
    environment?: Record<string, string>;
    /** Secret values by their source: `file:crm/token`. */
    stored?: Record<string, string>;
    requireSecrets?: boolean;
    ageIdentities?: AgeIdentities;
  } = {},
): Promise<DesiredResult> {
  const { environment = {}, stored = {}, requireSecrets = true, ageIdentities } = options;
  return await readDesired(sourceOf(texts), {
    environment: (name) => environment[name],
    readValue: async (origin) => {
      const value = stored[originText(origin)];
      return value === undefined ? undefined : new Secret(value, originText(origin));
    },
    requireSecrets,
    ageIdentities,
  });
}

/** `file:line:column code`, in the reported order. */
export function placesOf(desired: DesiredResult): string[] {
  return (desired.faults ?? []).map(
    ({ position: { file, line, column }, code }) => `${file}:${line}:${column} ${code}`,
  );
}

/** The resources of a source without faults. */
export function resourcesOf(desired: DesiredResult): readonly DesiredResource[] {
  if (desired.set !== undefined) return desired.set.resources;
  throw new Error(`${placesOf(desired).join('\n')}\n${desired.faults.map((f) => f.message)}`);
}

export const support = `apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: support}
`;

/** One manifest of an organisation kind, or of workspace `support`. */
export function manifest(kind: string, name: string, spec: string, metadata = ''): string {
  const indented = spec
    .trim()
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
  return `apiVersion: gatewright.dev/v1
kind: ${kind}
metadata: {name: ${name}${metadata}}
spec:
${indented}
`;
}

export const inSupport = ', workspace: support';
