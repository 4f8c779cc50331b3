/** Commits manifests that the daemon applies. */
import type { Scene } from '../scene/scene.ts';
import type { Answer } from './answer.ts';
import type { Load } from './load.ts';

const workspaceName = 'synced';

const manifest = (revision: number): string => `apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: ${workspaceName}}
spec: {description: revision ${revision}}
---
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: synced, workspace: ${workspaceName}}
spec:
  config: {retry: {attempts: ${1 + (revision % 5)}}, provider: openai}
`;

export class Syncs implements Load {
  readonly name = 'syncs';
  readonly pace = { perSecond: 0.3 };
  readonly #scene: Scene;
  #revision = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  async send(): Promise<Answer | null> {
    const { repository } = this.#scene;
    if (!repository.isRewritten) {
      this.#revision += 1;
      repository.commit({ 'all.yaml': manifest(this.#revision) });
    }
    return null;
  }

  /** Whether the server has the newest commit. */
  async isApplied(): Promise<boolean> {
    const { data } = await this.#scene.tenants[0].require('GET', '/v2/workspaces');
    const found = data.find(({ name }: { readonly name: string }) => name === workspaceName);
    return found?.description === `revision ${this.#revision}`;
  }
}

export async function prepareSyncs(scene: Scene): Promise<Syncs> {
  const syncs = new Syncs(scene);
  await syncs.send();
  await scene.daemon.start();
  return syncs;
}
