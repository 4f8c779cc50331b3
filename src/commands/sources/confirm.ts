/** Asks at the terminal whether to apply a plan. */
import { createInterface } from 'node:readline/promises';
import { Failure } from '../../failure.ts';
import type { Impacts } from '../../sync/plan/impact.ts';
import type { Plan } from '../../sync/plan/plan-model.ts';
import { textParts } from '../../sync/report/text.ts';
import type { CommandIo } from '../shared/command.ts';

/** @throws Failure (invalid input) without a terminal and without --yes */
export function requireTerminal(command: string, yes: boolean, io: CommandIo): void {
  if (yes || io.stdin.isTTY === true) return;
  const message = `${command} asks for confirmation, but there is no terminal; add --yes, or use plan`;
  throw new Failure('invalidInput', message);
}

/** Shows the plan and its impact, then asks `question`, such as `Apply this?`. */
export async function confirm(
  plan: Plan,
  impacts: Impacts,
  question: string,
  io: CommandIo,
): Promise<boolean> {
  const report = { plan, impacts, report: null, declined: false, warnings: [], refusal: null };
  io.stderr.writeParts(textParts(report));
  return await askYes(question, io);
}

export async function askYes(question: string, io: CommandIo): Promise<boolean> {
  io.stderr.write(`${question} Only "yes" is taken for an answer: `);
  // The terminal handles echo, editing and Ctrl-C.
  const terminal = createInterface({ input: io.stdin });
  try {
    const answer = await terminal.question('', { signal: io.signal });
    return answer.trim() === 'yes';
  } finally {
    terminal.close();
  }
}
