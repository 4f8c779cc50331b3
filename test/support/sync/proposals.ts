/** Syncs a real Git repository with a real server, so that changes of its manifests can be proposed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '../../../src/secret.ts';
import type { ProposalSettings } from '../../../src/settings/groups/proposals.ts';
import { readSettings, type Settings } from '../../../src/settings.ts';
import { SourceCopies } from '../../../src/sync/cycle/source-copies.ts';
import { readDesired } from '../../../src/sync/desired/desired.ts';
import { openSource } from '../../../src/sync/source/source.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { type Forge, type ForgeForm, startForge } from '../git/forge.ts';
import { type GitRepository, type GitServer, startGitServer } from '../git/git-server.ts';
import type { TestResponse } from '../network/exchange.ts';
import { startTestServer, type TestServer } from '../server/server.ts';
import { openSync, type SyncSetup } from './sync-setup.ts';

/** Token of the Git host; it may never be printed. */
export const forgeToken = 'canary-forge-81d0aa';

/** The source is this folder of the repository. */
export const sourceFolder = 'gateway';

/** Comments and formatting are those of a person. */
export const routingFile = `# Who asks which model.
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: routing}   # the default
spec:
  name: "Routing"
  config:
    # Two tries, then the error.
    retry: { attempts: 2 }
    cache: {mode: simple}
---
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: other}
spec:
  name: Other
  config: {retry: {attempts: 1}}
`;

export interface ProposalSetup extends AsyncDisposable {
  readonly server: TestServer;
  readonly git: GitServer;
  readonly repository: GitRepository;
  /** Null without a Git host. */
  readonly forge: Forge | null;
  /** Commits these files below the folder, and syncs them; returns the commit. */
  sync(files: Readonly<Record<string, string>>): Promise<string>;
  /** Id of the config whose manifest has this name. */
  configId(name: string): Promise<string>;
  post(path: string, body: object, headers?: Record<string, string>): Promise<TestResponse>;
}

/**
 * @param form null configures no Git host
 * @param start starts the server with these settings
 */
export async function startProposals(
  form: ForgeForm | null,
  start: (settings: Partial<Settings>) => Promise<TestServer> = (settings) =>
    startTestServer({ settings }),
): Promise<ProposalSetup> {
  const git = await startGitServer();
  const repository = git.repository('acme/gateway');
  const forge = form === null ? null : await startForge(form, repository, forgeToken);
  const proposals: ProposalSettings | undefined =
    forge === null
      ? undefined
      : {
          repository: repository.url,
          token: new Secret(forgeToken, 'test'),
          form: form!,
          apiUrl: forge.apiUrl,
        };
  const trusted = readTrustedHosts('127.0.0.1');
  const server = await start({
    sync: { ...readSettings({}).sync, proposals },
    trustedHosts: 'hosts' in trusted ? trusted.hosts : [],
  });
  const sync = openSync(server);
  const cache = mkdtempSync(join(tmpdir(), 'gatewright-proposals-'));
  return {
    server,
    git,
    repository,
    forge,
    sync: (files) => syncCommit({ git, repository, sync, cache }, files),
    configId: async (name) => {
      const { body } = await server.request('GET', '/v1/configs');
      const found = body.data.find(
        (one: { declared_in: { name: string } | null }) => one.declared_in?.name === name,
      );
      return found.id;
    },
    post: (path, body, headers = {}) =>
      server.request('POST', `/admin/v2/gatewright/proposals${path}`, { body, headers }),
    [Symbol.asyncDispose]: async () => {
      await sync[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await forge?.[Symbol.asyncDispose]();
      await git[Symbol.asyncDispose]();
      rmSync(cache, { recursive: true, force: true });
    },
  };
}

interface Parts {
  readonly git: GitServer;
  readonly repository: GitRepository;
  readonly sync: SyncSetup;
  readonly cache: string;
}

async function syncCommit(
  { git, repository, sync, cache }: Parts,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const placed = Object.entries(files).map(([path, text]) => [`${sourceFolder}/${path}`, text]);
  const commit = repository.commit('main', Object.fromEntries(placed));
  const source = openSource(`${repository.url}#main:${sourceFolder}`, {
    cwd: '/',
    cacheDirectory: cache,
    git: { caFile: git.caFile },
  });
  const found = await source.read();
  const read = { environment: () => undefined, readValue: async () => undefined };
  const { set, faults } = await readDesired(found, { ...read, requireSecrets: true });
  if (set === undefined) throw new Error(`faults: ${JSON.stringify(faults)}`);
  const copies = new SourceCopies();
  copies.note(found, set);
  const { report } = await sync.cycle(set, { copies, acceptHistory: true });
  if (report === null || report.items.some(({ status }) => status !== 'done')) {
    throw new Error(`not applied: ${JSON.stringify(report)}`);
  }
  return commit;
}
