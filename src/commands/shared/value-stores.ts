/** Knows where the settings permit manifests to read secret values from. */
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import { Secret } from '../../secret.ts';
import { environmentIn } from '../../settings/environment.ts';
import { manifestVariables } from '../../settings/manifest-variables.ts';
import type { Settings } from '../../settings.ts';
import type { AskedOrigin, FoundValue, SecretSources } from '../../sync/manifest/secrets.ts';
import { AgeIdentities } from '../../sync/sops/age-identities.ts';

/** What `${VAR}` and `valueFrom` in manifests may read: permitted variables and the secrets folder. */
export function secretSourcesIn(
  cwd: string,
  secretsFolder: string,
  { sync }: Pick<Settings, 'sync'>,
): SecretSources {
  return {
    environment: manifestVariables(environmentIn(cwd), sync.variables),
    readValue: async (origin) => readValue(origin, secretsFolder),
    ageIdentities: sync.ageKey && new AgeIdentities(sync.ageKey),
    requireSecrets: true,
  };
}

function readValue(origin: AskedOrigin, secretsFolder: string): FoundValue {
  if (origin.from === 'file') return readInside(secretsFolder, origin.path);
  const message = `valueFrom.${origin.from} is not available yet in this version`;
  return { code: 'secret-missing', message, fix: 'write {env: NAME} or {file: PATH}' };
}

const secretBytesMax = 64 * 1024;

/** Only what lies in the secrets folder, so that a manifest cannot name any file of this machine. */
function readInside(folder: string, path: string): Secret | undefined {
  try {
    const root = realpathSync(folder);
    const file = realpathSync(resolve(root, path));
    const facts = statSync(file);
    const isAllowed = file.startsWith(root + sep) && facts.isFile() && facts.size <= secretBytesMax;
    return isAllowed ? new Secret(readFileSync(file, 'utf8'), `file:${path}`) : undefined;
  } catch {
    return undefined;
  }
}
