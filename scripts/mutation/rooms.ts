/** Lists the rooms whose tests must notice changes, with the folders that hold the tests of each room. */

/** Per cent of the drawn mutants that tests must notice in each room. */
export const scoreMin = 85;

/** Test folders by room, which is a folder of `src`. Tests that import a mutated file are added. */
const testFolders: Readonly<Record<string, readonly string[]>> = {
  ledger: ['test/unit/ledger', 'test/api/ledger'],
  guardrails: ['test/unit/guardrails', 'test/api/guardrails'],
  auth: ['test/unit/auth', 'test/api/access'],
  jobs: ['test/unit/jobs', 'test/api/jobs'],
  'sync/plan': ['test/unit/sync/plan', 'test/api/sync/plan', 'test/api/sync/cycle'],
  'sync/apply': ['test/unit/sync/plan', 'test/api/sync'],
  store: ['test/unit/store', 'test/api/store', 'test/api/resources'],
};

export const roomNames: readonly string[] = Object.keys(testFolders);

/** Returns the room of a source file: `sync/plan` for `src/sync/plan/order.ts`; null outside the rooms. */
export function roomOf(file: string): string | null {
  return roomNames.find((name) => file.startsWith(`src/${name}/`)) ?? null;
}

/** @throws Error when the room is not in the list */
export function testFoldersOf(room: string): readonly string[] {
  const folders = testFolders[room];
  if (folders === undefined) {
    throw new Error(`${room} is no mutated room; rooms: ${roomNames.join(', ')}`);
  }
  return folders;
}
