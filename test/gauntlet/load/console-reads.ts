/** Reads what the console shows: its page, lists and the request log. */
import type { Scene } from '../scene/scene.ts';
import type { Answer } from './answer.ts';
import type { Load, LoadOptions } from './load.ts';

const paths = [
  '/console',
  '/v2/workspaces',
  '/v1/api-keys',
  '/v1/logs?page_size=20',
  '/v2/configs',
];

export class ConsoleReads implements Load {
  readonly name = 'console reads';
  readonly pace = { perSecond: 2 };
  readonly #scene: Scene;
  readonly #random: () => number;

  constructor(scene: Scene, { random }: LoadOptions) {
    this.#scene = scene;
    this.#random = random;
  }

  async send(): Promise<Answer> {
    const path = paths[Math.floor(this.#random() * paths.length)]!;
    const sentMs = Date.now();
    const { status, body } = await this.#scene.tenants[0].send('GET', path);
    return {
      surface: 'console',
      load: this.name,
      place: null,
      sentMs,
      doneMs: Date.now(),
      status,
      detail: `${path} ${status === 200 ? '' : JSON.stringify(body).slice(0, 300)}`,
      isUsual: status === 200,
    };
  }
}
