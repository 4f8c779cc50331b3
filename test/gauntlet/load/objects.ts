/** Responses that the gateway stores and its owner reads again, while another tenant tries to. */
import type { ProviderInstructions } from '../../gate/plan.ts';
import { providerHost, type Scene } from '../scene/scene.ts';
import type { Tenant } from '../scene/tenant.ts';
import type { Answer } from './answer.ts';
import { callGateway, type GatewayCall } from './gateway-call.ts';
import type { Load, LoadOptions } from './load.ts';

/** A provider that stores nothing itself. */
const service = 'groq';
const outputTokens = 20;

export class Objects implements Load {
  readonly name = 'objects';
  readonly pace = { share: 0.05 };
  /** Ids of responses whose creation was acknowledged. */
  readonly stored: string[] = [];
  /** Objects that the other tenant could read. */
  readonly leaked: string[] = [];
  readonly #scene: Scene;
  readonly #random: () => number;
  readonly #keys: readonly [own: string, foreign: string];
  #created = 0;

  constructor(scene: Scene, random: () => number, keys: readonly [string, string]) {
    this.#scene = scene;
    this.#random = random;
    this.#keys = keys;
  }

  async send(): Promise<Answer> {
    const drawn = this.#random();
    const id = this.stored[Math.floor(this.#random() * this.stored.length)];
    if (id === undefined || drawn < 0.5) return this.#create();
    return drawn < 0.8 ? this.read(id) : this.#readAsOther(id);
  }

  async #create(): Promise<Answer> {
    this.#created += 1;
    const reported: ProviderInstructions = {
      id: `object-${this.#created}-${Date.now()}`,
      form: 'chat',
      kind: 'whole',
      inputTokens: 5,
      outputTokens: 2,
      pauseMs: 0,
    };
    const { answer, text } = await this.#call('create', {
      method: 'POST',
      path: '/v1/responses',
      body: {
        model: 'm',
        input: JSON.stringify(reported),
        max_output_tokens: outputTokens,
        store: true,
      },
    });
    if (answer.status !== 200) return answer;
    const made = JSON.parse(text) as { readonly id: string; readonly status: string };
    const isStored = made.status === 'completed';
    if (isStored) this.stored.push(made.id);
    return { ...answer, isUsual: isStored };
  }

  /** Reads a stored response as its owner. */
  async read(id: string): Promise<Answer> {
    const { answer, text } = await this.#call('read', {
      method: 'GET',
      path: `/v1/responses/${id}`,
    });
    const isUsual = answer.isUsual && (answer.place === null || text.includes(id));
    return { ...answer, isUsual };
  }

  async #readAsOther(id: string): Promise<Answer> {
    const call = { method: 'GET', path: `/v1/responses/${id}`, key: this.#keys[1] } as const;
    const { answer } = await this.#call('read as other', call);
    if (answer.status === 200) this.leaked.push(`response ${id} was read by another tenant`);
    return { ...answer, isUsual: answer.status === 404 || answer.place === null };
  }

  async #call(
    what: string,
    call: Omit<GatewayCall, 'plane' | 'key'> & { readonly key?: string },
  ): Promise<{ readonly answer: Answer; readonly text: string }> {
    const { text, place, sentMs, doneMs, status } = await callGateway(this.#scene, this.#random, {
      plane: 'inference',
      key: this.#keys[0],
      ...call,
    });
    const isUsual = status === 200 || place === null;
    const detail = `${what} ${status === 200 ? '' : text.slice(0, 300)}`;
    const answer = { place, sentMs, doneMs, status, isUsual, detail };
    return { answer: { ...answer, surface: 'objects', load: this.name }, text };
  }
}

export async function prepareObjects(scene: Scene, { random }: LoadOptions): Promise<Objects> {
  const [own, foreign] = scene.tenants;
  const keys = [await addOwner(scene, own), await addOwner(scene, foreign)] as const;
  return new Objects(scene, random, keys);
}

/** A key of a workspace whose requests lead to the provider. */
async function addOwner({ provider }: Scene, tenant: Tenant): Promise<string> {
  const integration = await tenant.require('POST', '/v1/integrations', {
    name: service,
    ai_provider_id: service,
    key: 'sk-any',
    configurations: { custom_host: `http://${providerHost}:${provider.port}/v1` },
  });
  const workspace = await tenant.require('POST', '/v2/workspaces', { name: service });
  const place = { workspace_id: workspace.id, name: service };
  const account = { ...place, integration_id: integration.id };
  const { slug } = await tenant.require('POST', '/v1/providers', account);
  const config = { ...place, config: { provider: `@${slug}` } };
  const made = await tenant.require('POST', '/v2/configs', config);
  const { key } = await tenant.require('POST', '/v1/api-keys/workspace/service', {
    name: 'owner of objects',
    scopes: ['completions.write'],
    workspace_id: workspace.id,
    defaults: { config_id: made.slug },
  });
  return key;
}
