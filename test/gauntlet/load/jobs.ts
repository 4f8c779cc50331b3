/** Runs jobs beside their schedule, as an operator would. */
import { runCommand } from '../scene/run-command.ts';
import type { Scene } from '../scene/scene.ts';
import type { Answer } from './answer.ts';
import type { Load } from './load.ts';

const names = [
  'expire-keys',
  'seal-audit-log',
  'send-alerts',
  'charge-lost-slices',
  'reset-usage',
  'settle-open-charges',
];

export class Jobs implements Load {
  readonly name = 'jobs';
  readonly pace = { perSecond: 0.2 };
  readonly #scene: Scene;
  #runs = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  async send(): Promise<Answer> {
    const { program, variables } = this.#scene;
    const name = names[this.#runs % names.length]!;
    this.#runs += 1;
    const sentMs = Date.now();
    const { exitCode, stderr } = await runCommand([program, 'jobs', 'run', name], variables);
    return {
      surface: 'jobs',
      load: this.name,
      place: null,
      sentMs,
      doneMs: Date.now(),
      // In the place of a status; a command has none.
      status: exitCode === 0 ? 200 : 503,
      detail: `${name} ${exitCode} ${stderr.slice(0, 300)}`,
      isUsual: exitCode === 0,
    };
  }
}
