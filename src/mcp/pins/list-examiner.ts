/** Examines the messages of one response of a server for definitions and for reports of changed lists. */
import type { Definition } from '../../model/mcp/definition.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import type { ListedType } from './list-definitions.ts';
import type { ServerPins } from './server-pins.ts';

export interface ListExaminerOptions {
  /** Receives definitions that differ from the newest known ones. */
  readonly onDefinitions: (definitions: readonly Definition[]) => void;
  /** Called when the server says that its list of tools or prompts has changed. */
  readonly onListChange: (type: ListedType) => void;
}

const changedLists: Readonly<Record<string, ListedType>> = {
  'notifications/tools/list_changed': 'tool',
  'notifications/prompts/list_changed': 'prompt',
};

export class ListExaminer {
  readonly #options: ListExaminerOptions;

  constructor(options: ListExaminerOptions) {
    this.#options = options;
  }

  /** The list without definitions that callers may not see. */
  examined(pins: ServerPins, result: RpcObject): RpcObject {
    if (!pins.isTaken) return result;
    const examined = pins.examine(result);
    this.#options.onDefinitions(examined.seen);
    return examined.result;
  }

  noteMethod(pins: ServerPins, method: unknown): void {
    const changed = changedLists[String(method)];
    if (changed !== undefined && pins.isEnforced) this.#options.onListChange(changed);
  }
}
