/** Passes the order of test files from the runner of mutants to vitest, which run in one process. */

interface TestControl {
  /** Test files in the order in which they run. */
  order: readonly string[];
  /** Sets whether the first failed test ends a run. */
  setBail(bail: boolean): void;
}

const holder = globalThis as typeof globalThis & { gatewrightTestControl?: TestControl };

/** The configuration of vitest is loaded as a module of its own, so the control is on the global object. */
export function testControl(): TestControl {
  holder.gatewrightTestControl ??= { order: [], setBail: () => {} };
  return holder.gatewrightTestControl;
}
